"""TensorBoard, notebooks and tunnels that stay open in the background: for the dashboard and for Python."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from windlass.app.services.background import Opened
from windlass.app.services.jupyter import Access
from windlass.app.services.keeping import Keeper
from windlass.app.services.node_board import NodeBoard
from windlass.app.services.tensorboard import Board, BoardWish
from windlass.app.services.tunnels import Wish, connect
from windlass.app.session import Session
from windlass.core.record import RunRecord, RunState
from windlass.core.services.boards import Where
from windlass.core.services.shaping import is_notebook
from windlass.edges.local_ports import Answer, Seen
from windlass.edges.tunnels import Tunnel

OpenSession = Callable[[], Session]


def open_tensorboard(open_session: OpenSession, runs: Sequence[str], wish: BoardWish) -> Opened:
    def work(session: Session, opened: Opened) -> None:
        records = [session.store.load(run) for run in runs]
        if wish.where is Where.NODE:
            board = NodeBoard(session, records, wish, show=opened.show, sleep=opened.sleep)
            _tell_end(session, board.keep())
            return
        Board(session, records, wish, show=opened.show, sleep=opened.sleep).keep()

    return Opened(open_session, work)


def open_notebook(open_session: OpenSession, run: str, *, port: int | None = None) -> Opened:
    """The way to a JupyterLab whose job is there already."""

    def work(session: Session, opened: Opened) -> None:
        access = Access(session, wanted=port, tell=session.tell)
        keeper = Keeper(
            session,
            session.store.load(run),
            access.connect,
            show=lambda seen, local: opened.show(access.make_address(local)),
            look=access.look,
            probe=access.probe,
            is_attended=access.is_used,  # the page or program that keeps it open may do so for days
            sleep=opened.sleep,
        )
        _tell_end(session, keeper.keep())

    return Opened(open_session, work)


def open_port(open_session: OpenSession, run: str, wish: Wish) -> Opened:
    def work(session: Session, opened: Opened) -> None:
        def open_again(record: RunRecord, before: int | None) -> Tunnel | None:
            here = wish.ports.here if before is None else before
            return connect(session, record, replace(wish, ports=replace(wish.ports, here=here)))

        def show(seen: Seen, local: int) -> None:
            opened.show(f"http://127.0.0.1:{local}/" if seen.answer is Answer.PAGE else f"127.0.0.1:{local}")

        keeper = Keeper(session, session.store.load(run), open_again, show=show, sleep=opened.sleep)
        _tell_end(session, keeper.keep())

    return Opened(open_session, work)


def _tell_end(session: Session, ended: RunRecord) -> None:
    session.tell(f"run {ended.run_id} {ended.state.said_of_a_run}")


@dataclass(frozen=True, kw_only=True)
class Openable:
    """What the page of a run offers to open."""

    kind: str
    title: str
    means: str  # what it does, told before it is done
    is_for: Callable[[RunRecord], bool]
    open: Callable[[OpenSession, RunRecord], Opened]


OPENABLES = {
    one.kind: one
    for one in (
        Openable(
            kind="tensorboard",
            title="TensorBoard",
            means="shows its event files, which are brought to this machine every 30 seconds. "
            "Its address holds a word that only you are told.",
            is_for=lambda record: record.job_id is not None and not is_notebook(record.command),
            open=lambda open_session, record: open_tensorboard(open_session, [record.run_id], BoardWish()),
        ),
        Openable(
            kind="jupyter",
            title="JupyterLab",
            means="is reached by a tunnel. Closing that leaves the notebook as it is: its job goes on.",
            is_for=lambda record: record.state is RunState.RUNNING and is_notebook(record.command),
            open=lambda open_session, record: open_notebook(open_session, record.run_id),
        ),
    )
}


class Services:
    """What is open just now, one of a kind for each run."""

    def __init__(self, open_session: OpenSession, openables: Mapping[str, Openable] = OPENABLES) -> None:
        self._open_session, self._openables = open_session, openables
        self._opened: dict[tuple[str, str], Opened] = {}

    def find(self, record: RunRecord, kind: str) -> Opened | None:
        return self._opened.get((record.run_id, kind))

    def open(self, record: RunRecord, kind: str) -> Opened:
        """The one that is open, where there is one: a double click opens nothing twice."""
        found = self.find(record, kind)
        if found is None or found.is_over:
            found = self._opened[record.run_id, kind] = self._openables[kind].open(self._open_session, record)
        return found

    def close(self, record: RunRecord, kind: str) -> None:
        found = self._opened.pop((record.run_id, kind), None)
        if found is not None:
            found.close()

    def close_all(self) -> None:
        while self._opened:
            self._opened.popitem()[1].close()
