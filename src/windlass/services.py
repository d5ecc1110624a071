"""Notebooks, TensorBoard and tunnels as functions. No printing.

    import windlass

    with windlass.services.tensorboard("digits-k3f9w") as board:
        print(board.wait_for_address())

What is opened stays open in the background until it is closed, with a connection of its own.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

from windlass.api import Run, ensure_built, make_wanted, open_session, use_session
from windlass.app.following import wait
from windlass.app.planning import Planned, Wanted, plan_run
from windlass.app.running import start_run
from windlass.app.services import jupyter as labs
from windlass.app.services import notebooks
from windlass.app.services.background import Opened, OpenState
from windlass.app.services.opening import open_notebook, open_port, open_tensorboard
from windlass.app.services.software import check_software
from windlass.app.services.tensorboard import BoardWish
from windlass.app.services.tunnels import Wish
from windlass.app.session import Session
from windlass.core.record import RunRecord
from windlass.core.services.boards import Where
from windlass.core.services.rules import check_interactive
from windlass.core.services.tunnels import Ports
from windlass.core.units import read_duration

__all__ = ["OpenState", "Opened", "jupyter", "jupyter_open", "notebook_run", "tensorboard", "tunnel"]


def tensorboard(
    runs: Run | Sequence[Run],
    *,
    fetched: bool = False,
    on_site: bool = False,
    on_node: bool = False,
    port: int | None = None,
    session: Session | None = None,
) -> Opened:
    """The event files of runs, side by side and live.

    fetched: of those here already; on_site: on the login node; on_node: in the job of the first, until it ends.
    """
    wanted: Sequence[Run] = [runs] if isinstance(runs, str | RunRecord) else runs
    where = Where.FETCHED if fetched else Where.SITE if on_site else Where.NODE if on_node else None
    wish = BoardWish(where=where, port=port)
    return open_tensorboard(_make_opener(session), [_name(one) for one in wanted], wish)


def tunnel(
    run: Run, port: int, *, local: int | None = None, node: str | None = None, session: Session | None = None
) -> Opened:
    """A port on the node of a run, as one of this machine: `local`, or the same number, or what is free."""
    ports = Ports(there=port, here=local or port, is_named=local is not None)
    return open_port(_make_opener(session), _name(run), Wish(ports=ports, node=node))


def jupyter(
    project: str | Path = ".",
    *,
    on: str | None = None,
    idle: str | None = "30m",
    session: Session | None = None,
    **settings: object,
) -> RunRecord:
    """JupyterLab submitted as a job, in the environment of the project. idle: None for never."""
    lab = labs.Lab(idle=(read_duration(idle) or timedelta(0)) if idle else None)
    with use_session(session) as used:

        def check(planned: Planned) -> None:
            check_interactive(planned.site, nodes=planned.plan.nodes, what="a notebook")
            check_software(used, planned, labs.PACKAGE, modules=(labs.PACKAGE,))

        return _submit(used, labs.want_lab(make_wanted(project, on, settings), lab), check)


def jupyter_open(run: Run, *, port: int | None = None, session: Session | None = None) -> Opened:
    """The way to the JupyterLab of a run. Its address holds the token; closing it leaves the job as it is."""
    return open_notebook(_make_opener(session), _name(run), port=port)


def notebook_run(
    notebook: str | Path,
    *,
    project: str | Path = ".",
    on: str | None = None,
    session: Session | None = None,
    **settings: object,
) -> Path:
    """Executed as a batch job, and brought home: where it lies. Raises JobFailed with the cell that failed."""
    with use_session(session) as used:
        wanted = notebooks.want_execution(make_wanted(project, on, settings), Path(notebook))

        def check(planned: Planned) -> None:
            check_software(used, planned, notebooks.PACKAGE, modules=notebooks.MODULES)

        record = wait(used, _submit(used, wanted, check))
        home = notebooks.bring_home(used, record)
        failure = notebooks.find_failure(used, record)
        if failure is not None:
            raise failure
        return home


def _submit(session: Session, wanted: Wanted, check: Callable[[Planned], None]) -> RunRecord:
    planned = ensure_built(session, wanted, plan_run(session, wanted))
    if not planned.errors:
        check(planned)
    return start_run(session, planned)


def _name(run: Run) -> str:
    return run if isinstance(run, str) else run.run_id


def _make_opener(session: Session | None) -> Callable[[], Session]:
    """Of the same folders: a session is used by one thread."""
    if session is None:
        return open_session
    folders, environ = session.folders, session.environ
    return lambda: Session(folders=folders, environ=environ)
