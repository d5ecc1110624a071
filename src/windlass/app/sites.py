"""`sites`, `site show`, `site add`, `login`: what is known of the machines one can use."""

from pathlib import Path

from windlass.app.session import Session
from windlass.core.facts import NOTHING_SEEN
from windlass.core.placing.queues import Queue, make_queues
from windlass.core.site import Site
from windlass.edges.site_files import Sites, add_site, load_sites
from windlass.errors import UsageError, WindlassError


def list_sites(session: Session) -> Sites:
    return load_sites(session.folders)


def make_site_text(name: str, *, host: str, user: str | None, jump: tuple[str, ...], root: str | None) -> str:
    """A small site file: the survey fills in what it can see each time."""
    from windlass.core.toml.writing import format_string, format_value

    lines = [f"title = {format_string(name)}"]
    if root:
        lines.append(f"root = {format_string(root)}")
    lines += ["", "[login]", f"host = {format_string(host)}"]
    if user:
        lines.append(f"user = {format_string(user)}")
    if jump:
        lines.append(f"jump = {format_value(jump)}")
    return "\n".join([*lines, ""])


def save_site(session: Session, name: str, text: str, *, replace: bool = False, hint: str | None = None) -> Path:
    """`hint`: the command that would replace one that is there."""
    return add_site(name, text, session.folders, replace=replace, hint=hint)


def log_in(session: Session, name: str) -> Site:
    """Opens the shared connection in the user's own terminal; a second factor is asked there, once."""
    from windlass.edges.ssh_host import SshHost

    site = session.site(name)
    host = session.host(site)
    if not isinstance(host, SshHost):
        raise UsageError(f"{name} is this machine: there is nothing to log in to")
    host.open_master(interactive=True)
    return site


def log_out(session: Session, name: str) -> bool:
    """Closes the connection that Windlass opened; one of the user's own is left alone (False)."""
    from windlass.edges.ssh_host import SshHost

    host = session.host(session.site(name))
    return isinstance(host, SshHost) and host.close_master()


def look_at_site(session: Session, name: str) -> tuple[Site, tuple[Queue, ...], str | None]:
    """The site, its queues as file and Slurm tell them together, and why Slurm was not asked."""
    site = session.site(name)
    try:
        return site, make_queues(site, session.facts(site)), None
    except WindlassError as problem:
        return site, make_queues(site, NOTHING_SEEN), f"from the file alone: {problem.message}"
