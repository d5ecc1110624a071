"""`tensorboard`: the event files of runs in a TensorBoard, on this laptop or on the login node of their site."""

import secrets
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from windlass.app.fetching import find_default_folder, list_files
from windlass.app.plans import load_plan
from windlass.app.services.holding import Holder
from windlass.app.session import Session
from windlass.app.syncing import Synced, follow_sync
from windlass.core.job import make_code_folder
from windlass.core.record import RunRecord
from windlass.core.services import boards
from windlass.core.services.boards import INSTALL, PACKAGE, Where
from windlass.core.services.rules import check_login_service
from windlass.core.shell import quote_all
from windlass.edges.bundle import BOARD, BOOTSTRAP, PYTHON_FLAGS
from windlass.edges.local_ports import Answer, Seen, probe_page
from windlass.edges.programs import find_program
from windlass.edges.tunnels import RelayTunnel, Tunnel, make_session_argv
from windlass.errors import LoginNeeded, NotFound, ServiceMissing, UsageError

FILES = "**/events.out.tfevents.*"
_TURN_S = 2.0
_FIRST_TURN_S = 0.3
_LOGIN_S = 10.0
_MOST_ENDS = 3  # of TensorBoard by itself: then it is not started again


@dataclass(frozen=True, kw_only=True)
class BoardWish:
    where: Where | None = None  # default: here, or else at the site where that is allowed
    port: int | None = None  # of this laptop
    every_s: float = 30.0  # between two syncs


class Board:
    """show: called with the address when the page answers, and again when it is another."""

    def __init__(
        self,
        session: Session,
        records: Sequence[RunRecord],
        wish: BoardWish,
        *,
        show: Callable[[str], None],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._session, self._records, self._wish, self._sleep = session, tuple(records), wish, sleep
        self._program = find_board_program(session, records)
        self.where = choose_where(session, records, wish.where, has_program=self._program is not None)
        self._secret = secrets.token_urlsafe(24)
        self._told: set[str] = set()
        self._ends = 0
        self._synced_once = False
        self._holder = Holder(
            session,
            records[0].site if self.where is Where.SITE else "here",
            self._connect,
            show=lambda seen, local: show(self.make_address(local)),
            probe=self._probe,
            judge=self._judge,
            what="the way to TensorBoard",
        )

    def keep(self) -> NoReturn:
        """Until whoever waits (`sleep`) is interrupted. Runs that end are shown on."""
        try:
            self._tell_missing()
            while not self._holder.was_open:  # the page first: files may take long to come
                self._turn()
            self._sync()
            while True:
                self._turn()
        finally:
            self._holder.close()

    def make_address(self, local: int) -> str:
        return f"http://127.0.0.1:{local}/{self._secret}/"

    def find_folder(self, record: RunRecord) -> str:
        """Where its event files are read."""
        is_near = self.where is Where.LAPTOP and self._session.site(record.site).is_local
        if self.where is Where.SITE or is_near:
            return make_code_folder(record.folder, record.workdir)
        return str(find_default_folder(record))

    def _turn(self) -> None:
        self._holder.turn()
        self._sleep(_TURN_S if self._holder.was_open else _FIRST_TURN_S)

    def _rest(self, seconds: float) -> None:
        until = self._session.clock() + seconds
        while self._session.clock() < until:
            self._turn()

    # ---- the files ------------------------------------------------------------------------------

    def _sync(self) -> None:
        """Until all have ended; what is on this machine already is read where it is."""
        left = [one for one in self._records if not self._session.site(one.site).is_local]
        while self.where is Where.LAPTOP and left:
            try:
                for synced in follow_sync(
                    self._session, left, every_s=self._wish.every_s, trackers=(PACKAGE,), sleep=self._rest
                ):
                    self._take(synced)
                return
            except LoginNeeded as problem:
                if not self._synced_once:
                    raise
                self._holder.tell(f"{problem.message}: {problem.hint} in another terminal; files come again then")
                self._rest(_LOGIN_S)

    def _take(self, synced: Synced) -> None:
        self._synced_once = True
        if not synced.records:
            [record] = [one for one in self._records if one.run_id == synced.run_id]
            self._tell_none(record, make_code_folder(record.folder, record.workdir))
        if synced.is_over:
            self._tell_once(f"run {synced.run_id} has ended: all of it is here, and is shown on")

    def _tell_missing(self) -> None:
        if self.where is Where.FETCHED:
            self._check_fetched()
            return
        for record in self._records:
            site = self._session.site(record.site)
            base = make_code_folder(record.folder, record.workdir)
            if (self.where is Where.SITE or site.is_local) and not list_files(
                self._session.host(site), base, (FILES,)
            ).files:
                self._tell_none(record, base)

    def _check_fetched(self) -> None:
        empty = [one for one in self._records if not any(Path(self.find_folder(one)).glob(FILES))]
        if len(empty) == len(self._records):
            names = " ".join(one.run_id for one in empty)
            raise NotFound(
                f"no event files of {names} are here: looked for {FILES} in {self.find_folder(empty[0])}",
                hint=f"windlass tensorboard {names}   # brings them from the site",
            )
        for record in empty:
            self._tell_none(record, self.find_folder(record))

    def _tell_none(self, record: RunRecord, place: str) -> None:
        later = "" if self.where is Where.FETCHED else "; they are shown when they come"
        self._tell_once(f"run {record.run_id} has no event files: looked for {FILES} in {place}{later}")

    def _tell_once(self, words: str) -> None:
        if words not in self._told:
            self._told.add(words)
            self._session.tell(words)

    # ---- TensorBoard itself ---------------------------------------------------------------------

    def _connect(self, before: int | None) -> Tunnel:
        wanted = before or self._wish.port or boards.PORT
        tunnel = RelayTunnel(self._make_argv, self._make_order(), wanted=wanted, modules=BOARD)
        try:
            tunnel.open()
        except BaseException:
            tunnel.close()
            raise
        if tunnel.local != wanted:
            self._tell_once(f"port {wanted} of this machine is taken: {tunnel.local} instead")
        return tunnel

    def _make_argv(self) -> Sequence[str]:
        if self.where is not Where.SITE:
            return (sys.executable, *PYTHON_FLAGS, "-c", BOOTSTRAP)
        site = self._session.site(self._records[0].site)
        line = f"exec {quote_all((site.software.python, *PYTHON_FLAGS, '-c', BOOTSTRAP))}"
        return make_session_argv(self._session.host(site), line)

    def _make_order(self) -> dict[str, object]:
        is_here = self.where is not Where.SITE
        names = [one.run_id for one in self._records]
        return {
            "argv": [self._program] if is_here else make_site_argv(self._session, self._records[0]),
            "runs": {one.run_id: self.find_folder(one) for one in self._records},
            "options": boards.make_options(self._secret, names, is_here=is_here),
            "nice": not is_here,
        }

    def _probe(self, local: int) -> Seen:
        return probe_board(local, self._secret)

    def _judge(self, tunnel: Tunnel) -> None:
        if not isinstance(tunnel, RelayTunnel) or not tunnel.said_bye:
            return
        self._ends += 1
        if not self._holder.was_open or self._ends >= _MOST_ENDS:
            names = " ".join(one.run_id for one in self._records)
            is_site = self.where is Where.SITE
            place = self._records[0].site if is_site else "this laptop"
            install = f"windlass tensorboard {names}   # on this laptop; it needs: {INSTALL}" if is_site else INSTALL
            raise boards.make_ended(tunnel.said_bye, place, install)


def probe_board(local: int, secret: str) -> Seen:
    """By the word that only this one knows: another TensorBoard on that port does not pass for it."""
    seen = probe_page(local, f"/{secret}/data/environment")
    is_good = seen.answer is Answer.PAGE and seen.status == 200
    return seen if is_good else Seen(answer=Answer.CLOSED)


def make_site_argv(session: Session, record: RunRecord, *, is_node: bool = False) -> list[str]:
    """What starts one in the environment of a run."""
    plan, site = load_plan(session, record), session.site(record.site)
    enters = is_node or site.software.modules_on_login or not plan.modules
    script = boards.make_site_script(plan, enters=bool(enters))
    return ["bash", "-lc" if plan.login_shell else "-c", script, PACKAGE]


def choose_where(session: Session, records: Sequence[RunRecord], wanted: Where | None, *, has_program: bool) -> Where:
    """As it was asked for. Else on the laptop; where it has none, at a site that is known to allow it."""
    sites = [session.site(name) for name in dict.fromkeys(one.site for one in records)]
    names = " ".join(one.run_id for one in records)
    is_possible = len(sites) == 1 and not sites[0].is_local and sites[0].rules.login_services is not False
    if wanted is Where.SITE:
        if len(sites) > 1:
            raise UsageError(
                f"these runs are at {' and '.join(one.name for one in sites)}: one TensorBoard sees one site only",
                hint=f"windlass tensorboard {names}   # on this laptop",
            )
        if sites[0].is_local:
            raise UsageError("this run is on this very machine", hint=f"windlass tensorboard {names}")
        caution = check_login_service(sites[0], what="TensorBoard")
        if caution:
            session.tell(caution)
        return Where.SITE
    if has_program:
        return wanted or Where.LAPTOP
    if wanted is None and is_possible and sites[0].rules.login_services:
        session.tell(f"no tensorboard on this laptop, so one on the login node of {sites[0].name} (here: {INSTALL})")
        return Where.SITE
    there = f"; or at the site: windlass tensorboard {names} --on-site" if is_possible else ""
    raise ServiceMissing(
        "tensorboard is not installed on this laptop", hint=f"{INSTALL}{there}", done="nothing was started"
    )


def find_board_program(session: Session, records: Sequence[RunRecord]) -> str | None:
    """On the path, beside Windlass itself, or in the environment of a project."""
    projects = [Path(one.project) for one in records if one.project]
    places = [Path(sys.executable).parent, *(one / name / "bin" for one in projects for name in (".venv", "venv"))]
    near = [str(place / PACKAGE) for place in places if (place / PACKAGE).is_file()]
    return find_program((PACKAGE,), session.environ) or next(iter(near), None)
