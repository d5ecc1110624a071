"""Whether the Python of a site is one that the project admits (requires-python), before anything is built."""

from windlass.app.environments.modules import find_modules, list_there
from windlass.app.environments.wheels import make_question_of
from windlass.app.session import Session
from windlass.core.environment import Recipe
from windlass.core.site import ModuleSystem, Site
from windlass.core.wheels.python_needed import PythonNeeded, choose_module, choose_version
from windlass.edges.site_wheels import SitePython, fetch_site_python
from windlass.errors import EnvironmentFailed, WindlassError


def look_at_python(session: Session, site: Site, recipe: Recipe) -> SitePython | None:
    """The one that it would be built with; None: it does not matter, or only jobs have its modules."""
    if recipe.python_needed is None or (recipe.modules and not site.software.modules_on_login):
        return None
    return fetch_site_python(session.host(site), site, make_question_of(recipe))


def refuse_other_python(session: Session, site: Site, recipe: Recipe) -> None:
    """One that the project does not admit, with what would do where that is known."""
    python = look_at_python(session, site, recipe)
    if python is not None:
        check_python(session, site, recipe.python_needed, python)


def check_python(session: Session, site: Site, needed: PythonNeeded | None, python: SitePython) -> None:
    if needed is None or needed.admits(python.version):
        return
    raise EnvironmentFailed(
        f"{needed}, and {python.path or 'python3'} at {site.name} is {python.version}",
        hint=find_another(session, site, needed, python) or f"windlass modules find Python --on {site.name}",
        done="nothing was built or sent",
    )


def find_another(session: Session, site: Site, needed: PythonNeeded, python: SitePython) -> str | None:
    """What to write into windlass.toml: a Python that is on the PATH there, else the newest module that will do."""
    version = choose_version(needed, python.others)
    if version is not None:
        return f'[environment]\npython = "{version}"   # python{version} is on the PATH at {site.name}'
    if site.software.modules is ModuleSystem.NONE or not site.software.modules_on_login:
        return None
    try:
        name = choose_module(needed, list_there(session, site.name).names)
        if name is None:
            return None
        found = find_modules(session, site.name, name).found[0]
    except WindlassError:  # no modules there, or they did not answer: nothing is known
        return None
    return f"[environment]\n{found.toml_line}"
