"""The environment that a run wants, and what is known of it at the site."""

from pathlib import Path

from windlass.app.session import Session
from windlass.core.environment import EnvironmentSeen, ReadFile, Recipe, make_path
from windlass.core.facts import Facts
from windlass.core.run import Environment
from windlass.core.site import Site
from windlass.edges.environments import fetch_built
from windlass.environments import KINDS

_LARGEST = 4_000_000  # a lock file of a large project has one or two


def look_at_environment(
    session: Session, site: Site, environment: Environment, project: Path, facts: Facts, *, ask: bool
) -> EnvironmentSeen | None:
    """None: the run wants none. ask: whether the site may be asked what was built there."""
    recipe = read_recipe(environment, site, project)
    if recipe is None:
        return None
    root = facts.root or site.root
    entering = KINDS[recipe.kind].enter(environment, recipe, make_path(recipe, root), site)
    built = fetch_built(session.host(site), root, recipe.id) if ask and recipe.existing is None else None
    return EnvironmentSeen(recipe=recipe, entering=entering, built=built, is_asked=ask)


def read_recipe(environment: Environment, site: Site, project: Path) -> Recipe | None:
    read = make_reader(project)
    found = (kind.read(environment, site, read) for kind in KINDS.values())
    return next((recipe for recipe in found if recipe is not None), None)


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
