"""`sites`, `site show`, `site add`, `site check`, `login`: what is known of the machines one can use."""

from dataclasses import dataclass
from pathlib import Path

from windlass.app.session import Session
from windlass.core.facts import NOTHING_SEEN, Facts
from windlass.core.queues import Queue, make_queues
from windlass.core.site import Site
from windlass.edges.site_files import Sites, add_site, load_sites
from windlass.errors import UsageError, WindlassError


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of `site check`: ok, warn or fail, with what was seen."""

    verdict: str
    what: str
    words: str
    hint: str | None = None


def list_sites(session: Session) -> Sites:
    return load_sites(session.folders)


def make_site_text(name: str, *, host: str, user: str | None, jump: tuple[str, ...], root: str | None) -> str:
    """A small site file: the survey fills in what it can see each time."""
    from windlass.core.starter import format_string

    lines = [f"title = {format_string(name)}"]
    if root:
        lines.append(f"root = {format_string(root)}")
    lines += ["", "[login]", f"host = {format_string(host)}"]
    if user:
        lines.append(f"user = {format_string(user)}")
    if jump:
        lines.append(f"jump = [{', '.join(format_string(one) for one in jump)}]")
    return "\n".join([*lines, ""])


def save_site(session: Session, name: str, text: str, *, replace: bool = False) -> Path:
    return add_site(name, text, session.folders, replace=replace)


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


def check_site(session: Session, name: str) -> list[Line]:
    """File and reality compared. What cannot be reached ends the list."""
    site = session.site(name)
    lines = [Line(verdict="ok", what="site file", words=f"partitions written down: {len(site.partitions)}")]
    try:
        facts = session.facts(site, max_age_s=0)
    except WindlassError as problem:
        return [*lines, Line(verdict="fail", what="connection", words=problem.message, hint=problem.hint)]
    return [*lines, *_compare(site, facts)]


def _compare(site: Site, facts: Facts) -> list[Line]:
    partitions = [one.name for one in facts.partitions or ()]
    accounts = sorted({one.account for one in facts.associations or ()})
    lines = [
        Line(verdict="ok", what="connection", words=f"{facts.user} at {site.login.host or 'this machine'}"),
        _line("python", facts.python_version, f"{site.software.python} is {facts.python_version}"),
        _line("slurm", facts.scheduler_version, f"version {facts.scheduler_version}"),
        _line("partitions", partitions, ", ".join(partitions)),
        _line("accounts", accounts or not site.rules.needs_account, ", ".join(accounts) or "none needed"),
        _line("folder", facts.root, f"{facts.root}, {_format_free(facts)} free"),
    ]
    if facts.has_accounting is False:
        lines.append(
            Line(verdict="warn", what="accounting", words="sacct has none: ended jobs are told by their files")
        )
    for written in site.partitions:
        seen = facts.partition(written.name)
        if facts.partitions is not None and seen is None:
            lines.append(Line(verdict="warn", what="partitions", words=f"{written.name} is written down but not there"))
        elif seen and seen.max_time and written.max_time and seen.max_time != written.max_time:
            words = f"{written.name} gives {seen.max_time}, the file says {written.max_time}"
            lines.append(Line(verdict="warn", what="partitions", words=words))
    return lines


def _line(what: str, seen: object, words: str) -> Line:
    return Line(verdict="ok", what=what, words=words) if seen else Line(verdict="fail", what=what, words="not seen")


def _format_free(facts: Facts) -> str:
    return "unknown space" if facts.free_mb is None else f"{facts.free_mb / 1000:.1f} GB"
