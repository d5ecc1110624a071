"""`env pack`: a built environment as one file, which every node of a job unpacks on its own disk."""

from collections.abc import Callable
from dataclasses import dataclass

from windlass.app.environments.registry import explain_damage, find_environment
from windlass.app.environments.seen import load_recipe
from windlass.app.planning import Wanted
from windlass.app.session import Session
from windlass.app.working import LongWork, follow_there
from windlass.core.environment import Built, Damaged, EnvironmentSeen
from windlass.core.site import Site
from windlass.edges.environments import fetch_built
from windlass.edges.host import Json
from windlass.edges.site_work import Look, fetch_root
from windlass.environments import KINDS
from windlass.errors import DiskFull, EnvironmentFailed, EnvironmentNotFound, Interrupted, UsageError, WindlassError

Progress = Callable[[int, int], None]  # bytes done, of all

_KINDS: dict[str, type[WindlassError]] = {
    "not-found": EnvironmentNotFound,
    "no-space": DiskFull,
    "stopped": Interrupted,
}


@dataclass(frozen=True, kw_only=True)
class Packed:
    """The one file, as it lies at the site."""

    id: str
    path: str
    bytes: int
    files: int
    relocated: int  # files in which its own path stands: the nodes write their own there
    told: tuple[str, ...] = ()  # what is read from elsewhere all the same
    is_new: bool = True  # False: it was packed before


def say_nothing(done: int, total: int) -> None:
    """Nobody looks."""


def pack_environment(
    session: Session, site: Site, env_id: str, *, again: bool = False, progress: Progress = say_nothing
) -> Packed:
    """On the login node, where its Python runs. What was packed since it was built is not packed again.

    env_id: or the beginning of it.
    """
    host = session.host(site)
    root = fetch_root(host, site)
    env_id = find_environment(session, site, env_id).id
    built = fetch_built(host, root, env_id)  # which looks at its link too
    if not isinstance(built, Built):
        raise explain_damage(site, built or Damaged(id=env_id, path="", problem="it has just gone"))
    packable = [kind.name for kind in KINDS.values() if kind.is_packable]
    if built.kind not in packable:
        raise UsageError(
            f"{env_id} is a {built.kind}: only environments of many files are packed ({', '.join(packable)})",
            hint="an image is one file already",
        )

    def show(look: Look) -> None:
        if len(look.done) == 2 and look.done[1]:
            progress(look.done[0], look.done[1])

    request: Json = {"verb": "pack-env", "root": root, "id": env_id, "again": again}
    hint = f"windlass env pack {env_id} --on {site.name} tries again"
    work = LongWork(host=host, request=request, show=show, killed=EnvironmentFailed, hint=hint)
    return _read_packed(site, env_id, follow_there(session, site, work))


def find_own(session: Session, wanted: Wanted) -> str:
    """The id of a project's; one that cannot be packed is refused."""
    recipe = load_recipe(session, wanted)
    if recipe.is_made_by_jobs:
        raise UsageError(
            'build = "node" in [environment] makes it on every node: there is nothing to pack',
            hint='build = "login" and pack = true: it is built once, and every node unpacks one file',
        )
    if recipe.existing is not None:
        raise UsageError(
            f"{recipe.existing} was not built by Windlass: it is used as it is",
            hint='a list of packages is built, and packed: venv = "requirements.txt", or conda = "environment.yml"',
        )
    return recipe.id


def pack_where_wanted(
    session: Session, site: Site, seen: EnvironmentSeen | None, progress: Progress = say_nothing
) -> Packed | None:
    """Before a run with `pack = true`; None: nothing was packed. A failure is told: the run does without."""
    if seen is None or seen.packed is None or seen.built is None or seen.built.packed:
        return None
    session.tell(f"packing    {seen.recipe.id} at {site.name}: its nodes unpack it for themselves")
    try:
        return pack_environment(session, site, seen.recipe.id, progress=progress)
    except (EnvironmentFailed, DiskFull) as problem:
        session.tell(f"not packed: {problem.message}; the run imports it from the shared file system")
        return None


def _read_packed(site: Site, env_id: str, result: Json) -> Packed:
    if not result.get("ok"):
        kind = _KINDS.get(str(result.get("kind")), EnvironmentFailed)
        raise kind(
            f"{env_id} could not be packed at {site.name}: {result.get('problem')}",
            hint=f"windlass env pack {env_id} --on {site.name} tries again",
            done="the environment is as it was: jobs import it from the shared file system",
        )
    return Packed(
        id=env_id,
        path=str(result["packed"]),
        bytes=int(result["bytes"]),
        files=int(result["files"]),
        relocated=int(result["relocated"]),
        told=tuple(str(one) for one in result.get("told") or ()),
        is_new=bool(result.get("is_new")),
    )
