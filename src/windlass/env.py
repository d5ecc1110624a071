"""Environments and images of a site as functions. No printing.

import windlass

built = windlass.env.build("my-project", on="narval")
print(built.python, built.packages["torch"])
"""

import os
from collections.abc import Sequence
from pathlib import Path

from windlass.api import HERE, make_wanted, use_session
from windlass.app.environments.building import build_environment, find_built
from windlass.app.environments.building_by_job import await_build, build_as_job
from windlass.app.environments.containers import clean_cache, list_images, verify_images
from windlass.app.environments.locking import Locked, lock_built, lock_resolved, refuse_foreign
from windlass.app.environments.packing import Packed, find_own, pack_environment
from windlass.app.environments.registry import (
    EnvironmentsSeen,
    RemovedEnvironment,
    find_environment,
    find_removable,
    load_log,
    look_at_environments,
    remove_environments,
)
from windlass.app.environments.seen import load_recipe, load_wish
from windlass.app.environments.wheels import load_environment, locate, narrow_site, override
from windlass.app.session import Session
from windlass.core.environment import Built, Damaged, Remains
from windlass.core.run import BuildPlace
from windlass.edges.settings import load_site_name

__all__ = [
    "Built",
    "Damaged",
    "EnvironmentsSeen",
    "Locked",
    "Packed",
    "Remains",
    "RemovedEnvironment",
    "build",
    "clean",
    "images",
    "lock",
    "log",
    "ls",
    "pack",
    "rm",
    "show",
    "verify",
]


def build(
    project: str | Path = ".",
    *,
    on: str | None = None,
    again: bool = False,
    session: Session | None = None,
    **settings: object,
) -> Built:
    """That of a project, whole when this returns; also where a job builds it. What is there already is not built anew.

    again: also then. Settings are as in `run`: `environment__python="3.11"`.
    """
    with use_session(session) as used:
        wanted = make_wanted(project, on, settings)
        site = used.site(wanted.site)
        spec, recipe = load_wish(used, wanted)
        if spec.environment.build is not BuildPlace.JOB:
            return build_environment(used, site, recipe, again=again)
        if not again and (found := find_built(used, site, recipe)) is not None:
            return found
        await_build(used, site, recipe, build_as_job(used, site, recipe, spec, again=again))
        return find_environment(used, site, recipe.id)


def ls(on: str = HERE, *, session: Session | None = None) -> EnvironmentsSeen:
    """All of a site, the newest first, and what is damaged or was not built to its end."""
    with use_session(session) as used:
        return look_at_environments(used, used.site(on))


def show(
    name: str | None = None, *, on: str | None = None, project: str | Path = ".", session: Session | None = None
) -> Built:
    """What is in one: its Python, packages, GPU code. name: an id or the beginning of it; default: of the project."""
    with use_session(session) as used:
        wanted = make_wanted(project, on, {})
        return find_environment(used, used.site(wanted.site), load_recipe(used, wanted).id if name is None else name)


def log(
    name: str | None = None, *, on: str | None = None, project: str | Path = ".", session: Session | None = None
) -> bytes:
    """What it said when it was last built, also where that failed."""
    with use_session(session) as used:
        wanted = make_wanted(project, on, {})
        return load_log(used, used.site(wanted.site), load_recipe(used, wanted).id if name is None else name)


def rm(
    names: str | Sequence[str], *, on: str = HERE, only_wheels: bool = False, session: Session | None = None
) -> tuple[RemovedEnvironment, ...]:
    """With the wheels that were sent for them; one that a run uses is refused. only_wheels: the environments stay."""
    wanted = [names] if isinstance(names, str) else names
    with use_session(session) as used:
        site = used.site(on)
        found = [find_removable(used, site, name) for name in dict.fromkeys(wanted)]
        return remove_environments(used, site, found, only_wheels=only_wheels)


def pack(
    name: str | None = None,
    *,
    on: str | None = None,
    project: str | Path = ".",
    again: bool = False,
    session: Session | None = None,
) -> Packed:
    """As one file, which every node of a job unpacks on its own disk. default: of the project."""
    with use_session(session) as used:
        wanted = make_wanted(project, on, {})
        return pack_environment(
            used, used.site(wanted.site), find_own(used, wanted) if name is None else name, again=again
        )


def lock(
    file: str | Path | None = None,
    *,
    on: str | None = None,
    built: bool = False,
    to: str | Path = "requirements.lock",
    force: bool = False,
    project: str | Path = ".",
    session: Session | None = None,
) -> Locked:
    """Every package of the list with its version and the sum of its wheel, for pip. built: as it was built there.

    force: also over a file that Windlass did not write.
    """
    folder, target = Path(project).resolve(), Path(to)
    refuse_foreign(target, force=force)
    with use_session(session) as used:
        site = narrow_site(used, folder, used.site(on or load_site_name(folder, os.environ) or HERE))
        environment = load_environment(used, folder, site.name)
        if file is not None:
            folder, name = locate(str(file), folder, Path.cwd())
            environment = override(environment, file=name)
        make = lock_built if built else lock_resolved
        return make(used, site, environment, folder, target)


def images(on: str = HERE, *, session: Session | None = None) -> tuple[Built, ...]:
    """Of containers, the newest first."""
    with use_session(session) as used:
        return list_images(used, used.site(on))


def verify(
    names: str | Sequence[str] = (), *, on: str = HERE, session: Session | None = None
) -> tuple[tuple[Built, str | None], ...]:
    """Images, all or those named, each with what is wrong with it: all of its bytes are read."""
    with use_session(session) as used:
        return verify_images(used, used.site(on), [names] if isinstance(names, str) else names)


def clean(on: str = HERE, *, session: Session | None = None) -> str:
    """The cache of image layers emptied; what the site's program said."""
    with use_session(session) as used:
        return clean_cache(used, used.site(on))
