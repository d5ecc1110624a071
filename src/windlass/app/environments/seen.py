"""The environment that a run wants, and what is known of it at the site."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from windlass.app.session import Session
from windlass.core.environment import Entering, EnvironmentSeen, ReadFile, Recipe, make_packed_path, make_path
from windlass.core.facts import Facts
from windlass.core.plan import Reason
from windlass.core.run import Environment, Wheels
from windlass.core.site import Site
from windlass.edges.environments import fetch_built, fetch_place, find_damage
from windlass.environments import KINDS
from windlass.errors import EnvironmentNotFound, PlanError, UsageError

if TYPE_CHECKING:
    from windlass.app.planning import Wanted

_LARGEST = 4_000_000  # a lock file of a large project has one or two


def look_at_environment(
    session: Session,
    site: Site,
    environment: Environment,
    project: Path,
    facts: Facts,
    *,
    ask: bool,
    enter: bool = True,
) -> EnvironmentSeen | None:
    """None: the run wants none. ask: whether the site may be asked what was built there. enter: else left out."""
    recipe = read_recipe(environment, site, project)
    if recipe is None:
        return None
    if not enter:
        return EnvironmentSeen(recipe=recipe, entering=Entering(), is_left_out=True)
    root = facts.root or site.root
    kind = KINDS[recipe.kind]
    path = make_path(recipe, root)
    if ask and recipe.existing is not None and kind.find is not None and not recipe.is_made_by_jobs:
        try:
            path = fetch_place(session.host(site), kind.find(recipe, site))
        except EnvironmentNotFound:
            if not site.rules.cuts_to_fit:
                raise
            return EnvironmentSeen(recipe=recipe, entering=Entering(), is_asked=True, is_left_out=True)
    built = fetch_built(session.host(site), root, recipe.id) if ask and recipe.existing is None else None
    is_there = built is not None or (recipe.existing is not None and not recipe.is_made_by_jobs)
    if ask and not is_there and site.rules.cuts_to_fit:
        # On one's own machine the environment one is in comes along.
        return EnvironmentSeen(recipe=recipe, entering=Entering(), is_asked=True, is_left_out=True)
    entering = kind.enter(environment, recipe, path, site)
    problem = find_damage(session.host(site), built) if built is not None else None
    packed = make_packed_path(recipe, root) if environment.pack else None
    seen = EnvironmentSeen(recipe=recipe, entering=entering, built=built, is_asked=ask, packed=packed, problem=problem)
    return replace(seen, reasons=_explain_build(session, site, environment)) if seen.is_missing else seen


def _explain_build(session: Session, site: Site, environment: Environment) -> tuple[Reason, ...]:
    """Where the packages of a venv will come from, where the user left it open."""
    if environment.venv is None or environment.wheels is not Wheels.AUTO:
        return ()
    from windlass.app.environments.wheels import choose_wheels

    chosen = choose_wheels(session, site, environment)
    return (Reason(field="wheels", value=chosen.wheels.value, why=chosen.reason),)


def read_recipe(environment: Environment, site: Site, project: Path) -> Recipe | None:
    """What [environment] asks for; one of venv, conda and container."""
    read = make_reader(project)
    found = [recipe for kind in KINDS.values() if (recipe := kind.read(environment, site, read)) is not None]
    if len(found) > 1:
        asked = " and ".join(f"environment.{one.kind}" for one in found)
        raise PlanError(f"{asked} are asked for at once, and a run is in one of them", hint="windlass config")
    return found[0] if found else None


def load_recipe(session: Session, wanted: "Wanted") -> Recipe:
    """Of a project, as a run of it would want it; one that wants none is refused."""
    from windlass.edges.settings import load_run_spec

    spec, _ = load_run_spec(wanted.project, wanted.site, session.environ, wanted.flags)
    recipe = read_recipe(spec.environment, session.site(wanted.site), wanted.project)
    if recipe is None:
        raise UsageError(
            f"the run in {wanted.project} asks for no environment that could be built",
            hint='[environment]\nvenv = "requirements.txt"',
        )
    return recipe


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
