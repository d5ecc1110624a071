"""Keeping a tunnel open for as long as its run goes on: after a cut, after the laptop slept, in the next link."""

import time
from collections.abc import Callable

from windlass.app.following import Update, follow
from windlass.app.services.attending import attend
from windlass.app.services.holding import OUT_OF_REACH, Holder
from windlass.app.session import Session
from windlass.core.record import RunRecord, RunState
from windlass.edges.local_ports import Seen, probe_port
from windlass.edges.tunnels import Tunnel
from windlass.errors import LoginNeeded

_LOGIN_S = 10.0  # until it is tried again whether somebody has logged in
_AWAY_S = 10.0  # between two looks at a site that is out of reach: each tries for some seconds already

Connect = Callable[[RunRecord, int | None], Tunnel | None]  # the port it had before; None: not there yet


class Keeper:
    """show: called when something answers, and again when the port is another. look: at every turn.

    judge: as for `Holder`. is_attended: somebody uses what is kept open, and has not only forgotten it.
    """

    def __init__(
        self,
        session: Session,
        record: RunRecord,
        connect: Connect,
        *,
        show: Callable[[Seen, int], None],
        hear: Callable[[Update], None] = lambda update: None,
        look: Callable[[RunRecord], None] = lambda record: None,
        probe: Callable[[int], Seen] = probe_port,
        judge: Callable[[Tunnel], None] = lambda tunnel: None,
        is_attended: Callable[[], bool] = lambda: True,
        what: str = "the tunnel",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.record = record
        self._session, self._hear, self._look, self._sleep = session, hear, look, sleep
        self._is_attended = is_attended
        self._has_looked = False
        self._told_problem = ""
        self._holder = Holder(
            session,
            record.site,
            lambda before: connect(self.record, before),
            show=show,
            probe=probe,
            judge=judge,
            what=what,
        )

    def keep(self) -> RunRecord:
        """Until the run has ended; its record. What cannot be opened the first time is an error."""
        try:
            while True:
                try:
                    for update in follow(self._session, self.record, sleep=self._turn):
                        self._take(update)
                    return self.record
                except LoginNeeded as problem:
                    if not self._holder.was_open:
                        raise
                    words = f"{problem.message}: {problem.hint} in another terminal; the tunnel opens again then"
                    self._holder.tell(words)
                    self._sleep(_LOGIN_S)
        finally:
            self.close()

    def close(self) -> None:
        self._holder.close()

    def _take(self, update: Update) -> None:
        if update.problem:
            self._take_problem(update)
            return
        if update.record is not None and update.record.link != self.record.link:
            self.close()  # the next link is another job, on other nodes
        self.record = update.record or self.record
        self._hear(update)

    def _take_problem(self, update: Update) -> None:
        """Once: a laptop may be offline for hours."""
        if update.problem != self._told_problem:
            self._told_problem = update.problem
            self._hear(update)

    def _turn(self, seconds: float) -> None:
        if self._is_attended():
            attend(self._session, self.record)
        if self.record.state is RunState.RUNNING:
            self._holder.turn()
        else:
            self.close()
        if self._holder.is_open:
            self._told_problem = ""
        self._sleep(seconds if self._can_look() else max(seconds, _AWAY_S))

    def _can_look(self) -> bool:
        """False: the site is out of reach just now, but was not before."""
        try:
            self._look(self.record)
        except OUT_OF_REACH:
            if not self._has_looked:
                raise
            self._holder.tell_out_of_reach()
            return False
        self._has_looked = True
        return True
