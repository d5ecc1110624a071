"""`data send --with globus`: a transfer that Globus carries out, and what has become of it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from windlass.app.session import Session
from windlass.core.shell import quote_with_variables
from windlass.core.site import Site
from windlass.edges.globus import CLIENT_VARIABLE, Globus, Task
from windlass.edges.host import make_command, read_completed
from windlass.errors import SiteNotReady, UsageError

_KEPT = "globus-send:"
_ENDED = "globus-ended:"
_MOST = 50


@dataclass(frozen=True, kw_only=True)
class GlobusSend:
    """As it was submitted; what became of it, Globus knows."""

    id: str
    site: str
    source: str
    path: str
    started: float


def globus_login(session: Session, ask: Callable[[str], str]) -> None:
    """ask: shows the address, gives back the code."""
    _open(session).log_in(ask)


def globus_send(session: Session, site: Site, source: Path, path: str) -> str:
    """The id of the task. path: a folder at the site; a file comes into it under its own name."""
    if not site.login.globus:
        raise UsageError(f"{site.name} has no Globus endpoint in its site file", hint='[login] globus = "name"')
    globus = _open(session)
    laptop, target = globus.find_laptop(), globus.find_endpoint(site.login.globus)
    there = expand_path(session, site, path)
    task = globus.submit(
        source=laptop,
        source_path=str(source.absolute()),
        target=target,
        target_path=there if source.is_dir() else f"{there}/{source.name}",
        label=f"windlass {source.name}"[:128],
        folder=source.is_dir(),
    )
    kept = GlobusSend(id=task, site=site.name, source=str(source), path=path, started=session.clock())
    session.store.keep(_KEPT + task, kept)
    return task


def globus_status(session: Session, task_id: str) -> Task:
    """What is over stays as it ended, and is not asked about again."""
    ended = session.store.kept(_ENDED + task_id, kind=Task)
    if ended is not None:
        return ended
    task = _open(session).look(task_id)
    if task.state in ("done", "stopped"):
        session.store.keep(_ENDED + task_id, task)
    return task


def globus_cancel(session: Session, task_id: str) -> None:
    _open(session).cancel(task_id)


def list_globus_sends(session: Session) -> tuple[GlobusSend, ...]:
    """The newest first."""
    return session.store.kept_below(_KEPT, kind=GlobusSend, limit=_MOST)


def _open(session: Session) -> Globus:
    return Globus(session.folders.config, session.environ.get(CLIENT_VARIABLE))


def expand_path(session: Session, site: Site, path: str) -> str:
    """Globus and rsync know no variables of the site's."""
    if "$" not in path and not path.startswith("~"):
        return path
    script = f"printf %s {quote_with_variables(path)}"
    (reply,) = session.host(site).ask([make_command(["sh"], stdin=script.encode(), idempotent=True)])
    found = read_completed(reply).out.strip()
    if not found.startswith("/"):
        raise SiteNotReady(f"{path} is no absolute path at {site.name}: is a variable in it not set?")
    return found
