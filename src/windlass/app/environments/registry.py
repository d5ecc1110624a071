"""The environments of a site: which there are, what each is, what it said when it was built; and removing them."""

from collections.abc import Sequence
from dataclasses import dataclass

from windlass.app.refreshing import list_live_there
from windlass.app.session import Session
from windlass.app.working import LongWork, follow_there
from windlass.core.environment import Built, Damaged, Remains
from windlass.core.site import Site
from windlass.edges.environments import fetch_all, fetch_log
from windlass.edges.site_work import Look, fetch_root
from windlass.errors import EnvironmentFailed, EnvironmentInUse, EnvironmentNotFound, UsageError, WindlassError

Removable = Built | Damaged | Remains

_KINDS: dict[str, type[WindlassError]] = {"in-use": EnvironmentInUse, "not-found": EnvironmentNotFound}


@dataclass(frozen=True, kw_only=True)
class RemovedEnvironment:
    id: str
    files: int
    bytes: int


@dataclass(frozen=True, kw_only=True)
class EnvironmentsSeen:
    environments: tuple[Built, ...]  # the newest first
    damaged: tuple[Damaged, ...]  # of which nobody can say what they are
    remains: tuple[Remains, ...] = ()  # of what was not built to its end


def look_at_environments(session: Session, site: Site) -> EnvironmentsSeen:
    """All of a site."""
    host = session.host(site)
    found = fetch_all(host, fetch_root(host, site))
    newest_first = sorted(found.built, key=lambda one: one.made, reverse=True)
    return EnvironmentsSeen(environments=tuple(newest_first), damaged=found.damaged, remains=found.remains)


def list_environments(session: Session, site: Site) -> tuple[Built, ...]:
    """Those that are whole, the newest first; that there are others is told."""
    seen = look_at_environments(session, site)
    if seen.damaged:
        session.tell(f"{len(seen.damaged)} more are damaged: windlass env list --on {site.name}")
    return seen.environments


def find_environment(session: Session, site: Site, name: str) -> Built:
    """By its id, or the beginning of it; one that is damaged, or not built to its end, is raised."""
    found = find_removable(session, site, name)
    if isinstance(found, Damaged):
        raise explain_damage(site, found)
    if isinstance(found, Remains):
        raise _explain_remains(site, found)
    return found


def find_removable(session: Session, site: Site, name: str) -> Removable:
    """The same, whole or not."""
    seen = look_at_environments(session, site)
    listed: tuple[Removable, ...] = (*seen.environments, *seen.damaged, *seen.remains)
    exact = [one for one in listed if one.id == name]
    # Nothing is the beginning of everything: a variable that is not set must not remove the only one there is.
    found = exact or [one for one in listed if name and one.id.startswith(name)]
    if len(found) > 1:
        raise UsageError(f"{name} is the beginning of {', '.join(one.id for one in found)}", hint="write more of it")
    if not found:
        raise EnvironmentNotFound(
            f"{site.name} has no environment {name[:200]!r}",
            details=[f"there are: {', '.join(one.id for one in listed[:20])}"] if listed else [],
            hint=f"windlass env list --on {site.name}" if listed else f"windlass env build --on {site.name}",
        )
    return found[0]


def explain_damage(site: Site, damaged: Damaged) -> EnvironmentFailed:
    return EnvironmentFailed(
        f"{damaged.id} at {site.name} is damaged: {damaged.problem}",
        hint=f"windlass env build --on {site.name}   # in its project: it is built anew\n"
        f"windlass env rm {damaged.id} --on {site.name}",
        done="nothing was changed; jobs that are in it go on",
    )


def _explain_remains(site: Site, found: Remains) -> EnvironmentNotFound:
    what = "was not built to its end" if found.has_build else "was not built; there are wheels that were sent for it"
    on = f"--on {site.name}"
    log = f"windlass env show {found.id} --log {on}\n" if found.has_build else ""
    return EnvironmentNotFound(
        f"{found.id} {what}",
        hint=f"{log}windlass env build {on}   # in its project\nwindlass env rm {found.id} {on}",
    )


def load_log(session: Session, site: Site, name: str) -> bytes:
    """What its last build said; also where that build failed, and there is no environment yet."""
    host = session.host(site)
    root = fetch_root(host, site)
    log = fetch_log(host, root, name)
    return log if log is not None else fetch_log(host, root, find_removable(session, site, name).id) or b""


def remove_environments(
    session: Session, site: Site, found: Sequence[Removable], *, only_wheels: bool = False
) -> tuple[RemovedEnvironment, ...]:
    """With the wheels that were sent for them. One that a run which waits or runs uses is refused.

    Those before it are gone then.
    """
    # One that waits says nothing itself, and another laptop may have sent it.
    live = list_live_there(session, site)
    return tuple(_remove(session, site, one.id, live, only_wheels=only_wheels) for one in found)


def _remove(session: Session, site: Site, env_id: str, live: list[str], *, only_wheels: bool) -> RemovedEnvironment:
    request = {"verb": "remove-env", "root": site.root, "id": env_id, "runs": live, "only_wheels": only_wheels}
    hint = f"windlass env rm {env_id} --on {site.name}"
    work = LongWork(host=session.host(site), request=request, show=_ignore, killed=EnvironmentFailed, hint=hint)
    result = follow_there(session, site, work)
    if not result.get("ok"):
        kind = _KINDS.get(str(result.get("kind")), EnvironmentFailed)
        listing = f"windlass ps --on {site.name}" if kind is EnvironmentInUse else f"windlass env list --on {site.name}"
        raise kind(f"{site.name}: {result.get('problem')}", hint=listing, done=f"{env_id} was not removed")
    return RemovedEnvironment(id=env_id, files=int(result["files"]), bytes=int(result["bytes"]))


def _ignore(look: Look) -> None:
    """Removing is short."""
