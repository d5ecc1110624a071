"""`tensorboard --on-node`: TensorBoard beside the training, on the first node of its job, for as long as that runs."""

import secrets
import time
from collections.abc import Callable, Sequence

from windlass.app.fetching import list_files
from windlass.app.following import Update
from windlass.app.refreshing import refresh
from windlass.app.services.keeping import Keeper
from windlass.app.services.spots import find_spot
from windlass.app.services.tensorboard import FILES, BoardWish, make_site_argv, probe_board
from windlass.app.session import Session
from windlass.core.job import make_code_folder
from windlass.core.record import RunRecord
from windlass.core.services import boards
from windlass.core.services.boards import Where
from windlass.core.services.tunnels import Spot, Way, list_ways, make_relay_line
from windlass.edges.bundle import BOARD, BOOTSTRAP, PYTHON_FLAGS
from windlass.edges.local_ports import Seen
from windlass.edges.tunnels import RelayTunnel, Tunnel, make_session_argv
from windlass.errors import TunnelFailed, UsageError

_MOST_ENDS = 3  # of TensorBoard by itself: then it is not started again


class NodeBoard:
    """As `Board`, but a step in the job of the first run: it ends with that. show: called with the address."""

    where = Where.NODE

    def __init__(
        self,
        session: Session,
        records: Sequence[RunRecord],
        wish: BoardWish,
        *,
        show: Callable[[str], None],
        hear: Callable[[Update], None] = lambda update: None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._session, self._records, self._wish = session, check_runs(session, records), wish
        self._show, self._secret, self._ends, self._was_shown = show, secrets.token_urlsafe(24), 0, False
        self._keeper = Keeper(
            session,
            self._records[0],
            self._connect,
            show=self._take,
            hear=hear,
            probe=lambda local: probe_board(local, self._secret),
            judge=self._judge,
            what="the way to TensorBoard",
            sleep=sleep,
        )

    def keep(self) -> RunRecord:
        """Until the first run has ended; its record."""
        return self._keeper.keep()

    def _take(self, seen: Seen, local: int) -> None:
        self._was_shown = True
        self._show(f"http://127.0.0.1:{local}/{self._secret}/")
        host = self._session.host(self._session.site(self._records[0].site))
        for record in self._records:
            base = make_code_folder(record.folder, record.workdir)
            if not list_files(host, base, (FILES,)).files:
                words = f"run {record.run_id} has no event files: looked for {FILES} in {base}"
                self._session.tell(f"{words}; they are shown when they come")

    def _connect(self, record: RunRecord, before: int | None) -> Tunnel | None:
        """By the first way on which a step of ours starts; None: the run has no node yet."""
        spot = find_spot(self._session, record, boards.PORT)
        if spot is None:
            return None
        problems = []
        for way in list_ways(spot.site, is_reachable=False):
            try:
                return self._open(way, spot, wanted=before or self._wish.port or boards.PORT)
            except TunnelFailed as problem:
                problems.append(f"by {way}: {problem.message}" + (f": {problem.said}" if problem.said else ""))
        raise TunnelFailed(
            f"TensorBoard could not be started on {spot.node} at {spot.site.name}",
            details=problems,
            hint=f"windlass tensorboard {record.run_id}   # on this laptop",
            done="the run goes on",
        )

    def _open(self, way: Way, spot: Spot, *, wanted: int) -> Tunnel:
        program = (spot.site.software.python, *PYTHON_FLAGS, "-c", BOOTSTRAP)
        argv = make_session_argv(self._session.host(spot.site), make_relay_line(way, spot, program))
        tunnel = RelayTunnel(lambda: argv, self._make_order(), wanted=wanted, modules=BOARD)
        try:
            tunnel.open()
        except BaseException:
            tunnel.close()
            raise
        if tunnel.local != wanted:
            self._session.tell(f"port {wanted} of this machine is taken: {tunnel.local} instead")
        return tunnel

    def _make_order(self) -> dict[str, object]:
        names = [one.run_id for one in self._records]
        return {
            "argv": make_site_argv(self._session, self._records[0], is_node=True),
            "runs": {one.run_id: make_code_folder(one.folder, one.workdir) for one in self._records},
            "options": boards.make_options(self._secret, names, is_here=False),
            "nice": True,  # the training comes first
        }

    def _judge(self, tunnel: Tunnel) -> None:
        """One that ends by itself again and again, or before it was seen, is not started again."""
        if not isinstance(tunnel, RelayTunnel) or not tunnel.said_bye:
            return
        self._ends += 1
        if not self._was_shown or self._ends >= _MOST_ENDS:
            names = " ".join(one.run_id for one in self._records)
            hint = f"windlass tensorboard {names}   # on this laptop; it needs: {boards.INSTALL}"
            raise boards.make_ended(tunnel.said_bye, f"the node of run {self._records[0].run_id}", hint)


def check_runs(session: Session, records: Sequence[RunRecord]) -> tuple[RunRecord, ...]:
    """As they stand now. Raises where there is no node to be on, or it would not see all of them."""
    found = refresh(session, records).records
    names = " ".join(one.run_id for one in found)
    if len({one.site for one in found}) > 1:
        raise UsageError(
            "these runs are at several sites: one node sees one site only",
            hint=f"windlass tensorboard {names}   # on this laptop",
        )
    if found[0].state.is_final:
        raise UsageError(
            f"run {found[0].run_id} {found[0].state.said_of_a_run}: no job of it is on a node",
            hint=f"windlass tensorboard {names}",
        )
    return found
