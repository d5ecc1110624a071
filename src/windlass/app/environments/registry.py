"""The environments of a site: which there are, what each is, what it said when it was built; and removing them."""

from collections.abc import Sequence
from dataclasses import dataclass

from windlass.app.refreshing import refresh
from windlass.app.session import Session
from windlass.app.working import LongWork, follow_there
from windlass.core.environment import Built
from windlass.core.site import Site
from windlass.edges.environments import fetch_all_built, fetch_log
from windlass.edges.site_work import Look, fetch_root
from windlass.errors import EnvironmentFailed, EnvironmentInUse, EnvironmentNotFound, UsageError, WindlassError

_KINDS: dict[str, type[WindlassError]] = {"in-use": EnvironmentInUse, "not-found": EnvironmentNotFound}


@dataclass(frozen=True, kw_only=True)
class RemovedEnvironment:
    id: str
    files: int
    bytes: int


def list_environments(session: Session, site: Site) -> tuple[Built, ...]:
    """The newest first."""
    host = session.host(site)
    found = fetch_all_built(host, fetch_root(host, site))
    return tuple(sorted(found, key=lambda one: one.made, reverse=True))


def find_environment(session: Session, site: Site, name: str) -> Built:
    """By its id, or the beginning of it."""
    listed = list_environments(session, site)
    exact = [one for one in listed if one.id == name]
    found = exact or [one for one in listed if one.id.startswith(name)]
    if len(found) > 1:
        raise UsageError(f"{name} is the beginning of {', '.join(one.id for one in found)}", hint="write more of it")
    if not found:
        raise EnvironmentNotFound(
            f"{site.name} has no environment {name[:200]!r}",
            details=[f"there are: {', '.join(one.id for one in listed[:20])}"] if listed else [],
            hint=f"windlass env list --on {site.name}" if listed else f"windlass env build --on {site.name}",
        )
    return found[0]


def load_log(session: Session, site: Site, name: str) -> bytes:
    """What its last build said; also where that build failed, and there is no environment yet."""
    host = session.host(site)
    root = fetch_root(host, site)
    log = fetch_log(host, root, name)
    return log if log is not None else fetch_log(host, root, find_environment(session, site, name).id) or b""


def remove_environments(session: Session, site: Site, found: Sequence[Built]) -> tuple[RemovedEnvironment, ...]:
    """One that a run which waits or runs uses is refused; those before it are gone then."""
    refresh(session, session.store.live_runs(site.name))
    return tuple(_remove(session, site, one.id) for one in found)


def _remove(session: Session, site: Site, env_id: str) -> RemovedEnvironment:
    live = [record.run_id for record in session.store.live_runs(site.name)]
    request = {"verb": "remove-env", "root": site.root, "id": env_id, "runs": live}
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
