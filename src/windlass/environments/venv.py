"""venv: a virtual environment of Python, from a list of packages; on top of modules or alone."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from windlass.core.environment import (
    MADE_FOR,
    Build,
    Entering,
    Kind,
    ReadFile,
    Recipe,
    choose_purge,
    find_platform,
    list_modules,
)
from windlass.core.run import BuildPlace, Environment, Wheels
from windlass.core.shell import quote, quote_with_variables
from windlass.core.site import Site
from windlass.environments.scripts import begin_script, probe, tell_python
from windlass.environments.venv_on_nodes import choose_wheels_of_nodes, make_on_nodes
from windlass.environments.venv_script import CHECK, CONSTRAINTS, INDEXES, REQUIREMENTS, make_lines
from windlass.errors import PlanError, RequirementsInvalid
from windlass_job import wire

if TYPE_CHECKING:
    from windlass.core.wheels.requirements import Requirements

_PLACES = ("/", "~", "$")  # with these begins a folder at the site
_VERSION = re.compile(r"3\.\d+(\.\d+)?")
_HASH = re.compile(r" *\\\n +--hash=\S+|[ \t]--hash=\S+")
# The least that these alone unpack to; what a GPU needs comes on top.
_BIG = {"torch": 900_000_000, "tensorflow": 1_500_000_000, "jax": 400_000_000}
_LEAST = 50_000_000
# A venv with nothing but pip; one with torch and what that needs has 22,763 files (benchmarks/README.md).
_LEAST_FILES = 1_400
_MANY_FILES = {"torch": 20_000}


def _read(environment: Environment, site: Site, read: ReadFile) -> Recipe | None:
    if environment.venv is None:
        return None
    modules, purge = list_modules(environment, site), choose_purge(environment, site)
    if environment.venv.startswith(_PLACES):
        return Recipe(kind=KIND.name, modules=modules, purge_modules=purge, existing=environment.venv)
    _refuse_odd_python(environment.python)
    found = _read_list(environment, read)
    _refuse_links(environment, site, found)
    _refuse_other_python(environment.python, found)
    recipe = Recipe(
        kind=KIND.name,
        modules=modules,
        purge_modules=purge,
        platform=find_platform(site),
        files=_make_files(environment, found),
        settings={
            "wheels": environment.wheels.value,
            "python": environment.python or "",
            "system": "yes" if _sees_system(environment) else "no",
        },
        python_needed=found.python,
        read_private=lambda: found,
    )
    if environment.build is BuildPlace.NODE:
        wheels = choose_wheels_of_nodes(environment.wheels, site)
        return replace(recipe, existing=f"{site.local_scratch}/windlass-{recipe.id}", wheels=wheels)
    return recipe


def _sees_system(environment: Environment) -> bool:
    asked = environment.system_packages
    return bool(environment.modules) if asked is None else asked


def _refuse_odd_python(version: str | None) -> None:
    if version is not None and not _VERSION.fullmatch(version):
        raise PlanError(f"environment.python = {version!r} is no version of Python 3", hint='python = "3.11"')


def _refuse_other_python(version: str | None, found: "Requirements") -> None:
    if version is not None and found.python is not None and not found.python.admits(version):
        raise PlanError(
            f"[environment] python = {version!r}, and {found.python}",
            hint=f"take one of them that the other admits: {found.python.where}, or python under [environment]",
            done="nothing was built",
        )


def _refuse_links(environment: Environment, site: Site, found: "Requirements") -> None:
    """Folders of wheels in the project: pip here has them, and pip at the site has not."""
    from windlass.core.wheels.requirements import is_of_project

    is_open = environment.wheels is Wheels.AUTO and site.software.wheelhouse is None
    if environment.wheels is not Wheels.PYPI and not is_open:
        return
    for option in filter(is_of_project, found.options):
        raise RequirementsInvalid(
            f"{option.where}: {option} is a folder of the project, which is not there when the environment is built",
            hint='wheels = "laptop" in [environment]: its wheels are sent; or a folder of the site',
            done="nothing was built",
        )


def _make_files(environment: Environment, found: "Requirements") -> dict[str, str]:
    """Flat, with all that was included; an address of an index with a password in it is refused."""
    from windlass.core.wheels.requirements import format_constraints, format_requirements

    files = {REQUIREMENTS: format_requirements(found), CONSTRAINTS: format_constraints(found)}
    if environment.wheels in (Wheels.AUTO, Wheels.PYPI):
        files[INDEXES] = format_requirements(replace(found, lines=()), with_indexes=True)
    return {name: text for name, text in files.items() if text or name == REQUIREMENTS}


def _read_list(environment: Environment, read: ReadFile) -> "Requirements":
    from windlass.core.wheels.requirements import read_requirements

    assert environment.venv is not None
    return read_requirements(environment.venv, read, with_addresses=environment.wheels is Wheels.PYPI)


def _make_build(recipe: Recipe, site: Site) -> Build:
    wheels = choose_source(recipe, site)
    lines = (
        *begin_script(recipe),
        *make_lines(recipe, site, wheels),
        probe(f'"${wire.ENV_PREFIX}/bin/python"'),
    )
    return Build(
        script="".join(f"{line}\n" for line in lines),
        files={name: text.encode() for name, text in _list_files(recipe, wheels).items()},
        needs_internet=wheels is Wheels.PYPI,
        needs_bytes=_LEAST + _sum_up(recipe, _BIG),
        needs_files=_LEAST_FILES + _sum_up(recipe, _MANY_FILES),
    )


def choose_source(recipe: Recipe, site: Site) -> Wheels:
    """What was chosen when it is built; before that, what the site file alone would say."""
    wheels = recipe.wheels or Wheels(recipe.settings.get("wheels") or Wheels.AUTO)
    if wheels is not Wheels.AUTO:
        return wheels
    return Wheels.WHEELHOUSE if site.software.wheelhouse is not None else Wheels.PYPI


def _list_files(recipe: Recipe, wheels: Wheels) -> dict[str, str]:
    """A site builds the wheels of its house itself: the sums of PyPI's are not theirs."""
    if wheels is not Wheels.WHEELHOUSE:
        return dict(recipe.files)
    return {name: _HASH.sub("", text) for name, text in recipe.files.items()}


def _sum_up(recipe: Recipe, known: Mapping[str, int]) -> int:
    """Over the packages of the list."""
    names = re.findall(r"(?m)^[A-Za-z0-9_.-]+", recipe.files.get(REQUIREMENTS, ""))
    return sum(known.get(name.lower(), 0) for name in names)


def _enter(environment: Environment, recipe: Recipe, path: str, site: Site) -> Entering:
    if recipe.is_made_by_jobs:
        files = _list_files(recipe, choose_source(recipe, site))
        return Entering(lines=(*make_on_nodes(recipe, path, site, files), *_go_in()))
    return Entering(lines=(*_find(recipe, path, site), *_go_in()))


def _find(recipe: Recipe, path: str, site: Site) -> tuple[str, ...]:
    """The folder itself, not the link to it: a build that comes meanwhile must not be mixed in."""
    if recipe.existing is not None:
        name, hint = f"the environment {path}", "is not there, or has no bin/python"
    else:
        name = f"the environment {recipe.id}"
        hint = f"is not at {site.name}; this builds it: windlass env build --on {site.name}"
    refuse = f"{{ echo {quote(f'windlass: {name} {hint}')} >&2; exit {wire.EXIT_ENVIRONMENT}; }}"
    lines = [
        f"windlass_env=$(cd -P -- {quote_with_variables(path)} 2> /dev/null && pwd) || {refuse}",
        f'[ -e "$windlass_env/bin/python" ] || [ -L "$windlass_env/bin/python" ] || {refuse}',
    ]
    if recipe.existing is None:
        lines.append(f'bash "$windlass_env/{CHECK}" || exit {wire.EXIT_ENVIRONMENT}')
    return tuple(lines)


def _find_existing(recipe: Recipe, site: Site) -> str:
    place = quote_with_variables(recipe.existing or "")
    told = quote(f"windlass: there is no environment of Python at {recipe.existing}: it has no bin/python")
    lines = (
        f"cd -P -- {place} 2> /dev/null && [ -x bin/python ] || {{ echo {told} >&2; exit 1; }}",
        tell_python("./bin/python"),
        # venv says `version`, uv and virtualenv say `version_info`.
        rf"sed -n 's/^version\(_info\)\{{0,1\}} *= */{MADE_FOR}/p' pyvenv.cfg 2> /dev/null",
        "pwd",
    )
    return "\n".join(lines)


def _go_in() -> tuple[str, ...]:
    """What its own bin/activate does, less the prompt; and packages in ~/.local do not get in its way."""
    return (
        'export VIRTUAL_ENV="$windlass_env" PATH="$windlass_env/bin:$PATH" PYTHONNOUSERSITE=1',
        "unset PYTHONHOME",
    )


KIND = Kind(
    name="venv",
    summary="a virtual environment of Python, from requirements.txt, pyproject.toml or uv.lock; or one that is there",
    read=_read,
    make_build=_make_build,
    enter=_enter,
    find=_find_existing,
    takes_wheels=True,
    uses_outer_python=True,
    is_packable=True,
    is_made_on_nodes=True,
)
