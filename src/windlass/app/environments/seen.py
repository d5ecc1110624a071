"""The environment that a run wants, and what is known of it at the site."""

import posixpath
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from windlass.app.session import Session
from windlass.core.environment import (
    Built,
    Damaged,
    Entering,
    EnvironmentSeen,
    Kind,
    ReadFile,
    Recipe,
    make_packed_path,
    make_path,
    narrow_to_nodes,
)
from windlass.core.facts import Facts
from windlass.core.plan import Reason
from windlass.core.run import BuildPlace, Environment, Resources, RunSpec, Wheels
from windlass.core.site import Site
from windlass.edges.environments import fetch_built, fetch_own_python, fetch_place, find_damage
from windlass.environments import KINDS
from windlass.errors import EnvironmentFailed, EnvironmentNotFound, PlanError, UsageError, WindlassError

if TYPE_CHECKING:
    from windlass.app.planning import Wanted

_LARGEST = 4_000_000  # a lock file of a large project has one or two
_ANY = Resources()


def look_at_environment(
    session: Session,
    site: Site,
    environment: Environment,
    project: Path,
    facts: Facts,
    *,
    ask: bool,
    enter: bool = True,
    resources: Resources = _ANY,
) -> EnvironmentSeen | None:
    """None: the run wants none. ask: whether the site may be asked what was built there. enter: else left out.

    resources: of the run, which say on which nodes.
    """
    recipe = read_recipe(environment, site, project, resources)
    if recipe is None:
        return None
    if not enter:
        return EnvironmentSeen(recipe=recipe, entering=Entering(), is_left_out=True)
    root = facts.root or site.root
    kind = KINDS[recipe.kind]
    path, place = make_path(recipe, root), None
    if ask and recipe.existing is not None and kind.find is not None and not recipe.is_made_by_jobs:
        try:
            place = fetch_place(session.host(site), kind.find(recipe, site))
            path = place.path
        except EnvironmentNotFound:
            if not site.rules.cuts_to_fit:
                raise
            return EnvironmentSeen(recipe=recipe, entering=Entering(), is_asked=True, is_left_out=True)
    found = fetch_built(session.host(site), root, recipe.id) if ask and recipe.existing is None else None
    built = found if isinstance(found, Built) else None
    is_there = built is not None or (recipe.existing is not None and not recipe.is_made_by_jobs)
    if ask and not is_there and not isinstance(found, Damaged) and site.rules.cuts_to_fit:
        # On one's own machine the environment one is in comes along, unless one was built here.
        left_out = EnvironmentSeen(recipe=recipe, entering=Entering(), is_asked=True, is_left_out=True)
        return _look_at_own_python(session, site, left_out)
    # With the root as the login node means it: in jobs its variables may be others.
    entering = kind.enter(environment, recipe, path, replace(site, root=root))
    problem = find_damage(session.host(site), built) if built is not None else None
    is_packed = environment.pack and kind.is_packable and recipe.existing is None
    seen = EnvironmentSeen(
        recipe=recipe,
        entering=entering,
        built=built,
        place=place,
        is_asked=ask,
        packed=make_packed_path(recipe, root) if is_packed else None,
        problem=problem,
        damage=found.problem if isinstance(found, Damaged) else None,
        uses_outer_python=kind.uses_outer_python,
    )
    if seen.is_missing:
        build = kind.make_build(recipe, site)
        seen = replace(seen, needs_bytes=build.needs_bytes, needs_files=build.needs_files)
    if ask and (seen.is_missing or recipe.is_made_by_jobs):
        seen = _look_at_python(session, site, seen)
    is_open = kind.takes_wheels and environment.wheels is Wheels.AUTO
    return replace(seen, reasons=_explain_wheels(session, site, environment, seen)) if is_open else seen


def _look_at_python(session: Session, site: Site, seen: EnvironmentSeen) -> EnvironmentSeen:
    """Which one it would have, where the project admits only some."""
    if seen.recipe.python_needed is None:
        return seen
    from windlass.app.environments.pythons import find_another, look_at_python

    try:
        python = look_at_python(session, site, seen.recipe)
    except EnvironmentFailed:  # its modules cannot be loaded, or there is none: other checks tell
        return seen
    if python is None or seen.recipe.python_needed.admits(python.version):
        return seen
    other = find_another(session, site, seen.recipe.python_needed, python)
    return replace(seen, python=python.version, other_python=other)


def _look_at_own_python(session: Session, site: Site, seen: EnvironmentSeen) -> EnvironmentSeen:
    """The one that comes along with the environment one is in."""
    needed = seen.recipe.python_needed
    version = fetch_own_python(session.host(site)) if needed is not None else None
    return seen if needed is None or version is None or needed.admits(version) else replace(seen, python=version)


def _explain_wheels(
    session: Session, site: Site, environment: Environment, seen: EnvironmentSeen
) -> tuple[Reason, ...]:
    """Where the packages will come from, where the user left it open."""
    if not seen.is_missing and not seen.recipe.is_made_by_jobs:
        return ()
    from windlass.app.environments.wheels import choose_wheels, choose_wheels_in_jobs

    is_in_jobs = environment.build is not BuildPlace.LOGIN
    chosen = choose_wheels_in_jobs(site, Wheels.AUTO) if is_in_jobs else choose_wheels(session, site, environment)
    return (Reason(field="wheels", value=chosen.wheels.value, why=chosen.reason),)


def read_recipe(environment: Environment, site: Site, project: Path, resources: Resources = _ANY) -> Recipe | None:
    """What [environment] asks for; one of venv, conda and container."""
    read, sources = make_reader(project), dict[str, None]()

    def note(name: str) -> str | None:
        sources[posixpath.normpath(name)] = None
        return read(name)

    nodes = narrow_to_nodes(site, resources)
    found = [recipe for kind in KINDS.values() if (recipe := kind.read(environment, nodes, note)) is not None]
    if len(found) > 1:
        asked = " and ".join(f"environment.{one.kind}" for one in found)
        raise PlanError(f"{asked} are asked for at once, and a run is in one of them", hint="windlass config")
    if found and environment.build is BuildPlace.NODE:
        _refuse_on_nodes(KINDS[found[0].kind])
    return _place_links(replace(found[0], sources=tuple(sources)), project) if found else None


def _place_links(recipe: Recipe, project: Path) -> Recipe:
    """pip on this laptop runs in another folder than the project's."""
    private = recipe.read_private
    if private is None:
        return recipe
    from windlass.core.wheels.requirements import place_links

    return replace(recipe, read_private=lambda: place_links(private(), str(project.resolve())))


def list_sources(environment: Environment, site: Site, project: Path) -> tuple[str, ...]:
    """Files of the project that say what is in the environment; none where they cannot be read."""
    try:
        recipe = read_recipe(environment, site, project)
    except WindlassError:
        return ()
    return recipe.sources if recipe else ()


def _refuse_on_nodes(kind: Kind) -> None:
    if not kind.is_made_on_nodes:
        able = " or ".join(one.name for one in KINDS.values() if one.is_made_on_nodes)
        packing = "pack = true in [environment] brings it to the disk of every node as one file"
        raise PlanError(
            f'environment.build = "node" makes a {able} on every node, and no {kind.name}',
            hint=packing if kind.is_packable else 'build = "login" in [environment]',
        )


def load_recipe(session: Session, wanted: "Wanted") -> Recipe:
    """Of a project, as a run of it would want it; one that wants none is refused."""
    return load_wish(session, wanted)[1]


def load_wish(session: Session, wanted: "Wanted") -> tuple[RunSpec, Recipe]:
    """The same, and what else the run file says: with which account and where a job builds it."""
    from windlass.edges.settings import load_spec_without_command

    spec = load_spec_without_command(wanted.project, wanted.site, session.environ, wanted.flags)
    recipe = read_recipe(spec.environment, session.site(wanted.site), wanted.project, spec.resources)
    if recipe is None:
        raise UsageError(
            f"the run in {wanted.project} asks for no environment that could be built",
            hint='[environment]\nvenv = "requirements.txt"',
        )
    return spec, recipe


def make_reader(project: Path) -> ReadFile:
    """Files of the project by their names; what lies outside of it is none of its files."""

    def read(name: str) -> str | None:
        path = (project / name).resolve()
        if not path.is_relative_to(project.resolve()) or not path.is_file() or path.stat().st_size > _LARGEST:
            return None
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None

    return read
