"""venv: a virtual environment of Python, from a list of packages; on top of modules or alone."""

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from windlass.core.environment import (
    Build,
    Entering,
    Kind,
    ReadFile,
    Recipe,
    choose_purge,
    list_modules,
)
from windlass.core.run import BuildPlace, Environment, Wheels
from windlass.core.shell import quote, quote_with_variables
from windlass.core.site import Site
from windlass.environments.scripts import begin_script, probe
from windlass.environments.venv_script import CHECK, CONSTRAINTS, INDEXES, REQUIREMENTS, make_lines
from windlass.errors import PlanError
from windlass_job import wire

if TYPE_CHECKING:
    from windlass.core.wheels.requirements import Requirements

CHOSEN = "chosen"  # a setting that is no part of the recipe: where packages come from this time
_PLACES = ("/", "~", "$")  # with these begins a folder at the site
_VERSION = re.compile(r"3\.\d+(\.\d+)?")
_HASH = re.compile(r" *\\\n +--hash=\S+|[ \t]--hash=\S+")
# The least that these alone unpack to; what a GPU needs comes on top.
_BIG = {"torch": 900_000_000, "tensorflow": 1_500_000_000, "jax": 400_000_000}
_LEAST = 50_000_000
_ON_THE_NODE = "environment"  # RUN_DIR/environment/: what every node makes its venv from


def _read(environment: Environment, site: Site, read: ReadFile) -> Recipe | None:
    if environment.venv is None:
        return None
    modules, purge = list_modules(environment, site), choose_purge(environment, site)
    if environment.venv.startswith(_PLACES):
        return Recipe(kind="venv", modules=modules, purge_modules=purge, existing=environment.venv)
    _refuse_odd_python(environment.python)
    recipe = Recipe(
        kind="venv",
        modules=modules,
        purge_modules=purge,
        files=_read_files(environment, read),
        settings={
            "wheels": environment.wheels.value,
            "python": environment.python or "",
            "system": "yes" if _sees_system(environment) else "no",
        },
        read_private=lambda: _read_list(environment, read),
    )
    if environment.build is BuildPlace.NODE:
        return replace(recipe, existing=f"{site.local_scratch}/windlass-{recipe.id}")
    return recipe


def _sees_system(environment: Environment) -> bool:
    asked = environment.system_packages
    return bool(environment.modules) if asked is None else asked


def _refuse_odd_python(version: str | None) -> None:
    if version is not None and not _VERSION.fullmatch(version):
        raise PlanError(f"environment.python = {version!r} is no version of Python 3", hint='python = "3.11"')


def _read_files(environment: Environment, read: ReadFile) -> dict[str, str]:
    """Flat, with all that was included; an address of an index with a password in it is refused."""
    from windlass.core.wheels.requirements import format_constraints, format_requirements

    found = _read_list(environment, read)
    files = {REQUIREMENTS: format_requirements(found), CONSTRAINTS: format_constraints(found)}
    if environment.wheels in (Wheels.AUTO, Wheels.PYPI):
        files[INDEXES] = format_requirements(replace(found, lines=()), with_indexes=True)
    return {name: text for name, text in files.items() if text or name == REQUIREMENTS}


def _read_list(environment: Environment, read: ReadFile) -> "Requirements":
    from windlass.core.wheels.requirements import read_requirements

    assert environment.venv is not None
    return read_requirements(environment.venv, read)


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
        needs_bytes=_guess_bytes(recipe),
    )


def choose_source(recipe: Recipe, site: Site) -> Wheels:
    """What was chosen when it is built; before that, what the site file alone would say."""
    wheels = Wheels(recipe.settings.get(CHOSEN) or recipe.settings.get("wheels") or Wheels.AUTO)
    if wheels is not Wheels.AUTO:
        return wheels
    return Wheels.WHEELHOUSE if site.software.wheelhouse is not None else Wheels.PYPI


def _list_files(recipe: Recipe, wheels: Wheels) -> dict[str, str]:
    """A site builds the wheels of its house itself: the sums of PyPI's are not theirs."""
    if wheels is not Wheels.WHEELHOUSE:
        return dict(recipe.files)
    return {name: _HASH.sub("", text) for name, text in recipe.files.items()}


def _guess_bytes(recipe: Recipe) -> int:
    names = re.findall(r"(?m)^[A-Za-z0-9_.-]+", recipe.files.get(REQUIREMENTS, ""))
    return _LEAST + sum(_BIG.get(name.lower(), 0) for name in names)


def _enter(environment: Environment, recipe: Recipe, path: str, site: Site) -> Entering:
    if recipe.is_made_by_jobs:
        return Entering(lines=(*_make_on_the_node(recipe, path, site), *_go_in()))
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
    return f"cd -P -- {place} 2> /dev/null && [ -x bin/python ] && pwd || {{ echo {told} >&2; exit 1; }}"


def _go_in() -> tuple[str, ...]:
    """What its own bin/activate does, less the prompt; and packages in ~/.local do not get in its way."""
    return (
        'export VIRTUAL_ENV="$windlass_env" PATH="$windlass_env/bin:$PATH" PYTHONNOUSERSITE=1',
        "unset PYTHONHOME",
    )


def _make_on_the_node(recipe: Recipe, path: str, site: Site) -> tuple[str, ...]:
    """On every node of the job, before anything else."""
    wheels = choose_source(recipe, site)
    if wheels is Wheels.LAPTOP:
        raise PlanError(
            'environment.build = "node" takes packages from the site\'s wheelhouse, and wheels = "laptop" sends them',
            hint='build = "login" in [environment]',
        )
    folder = f'"${wire.ENV_RUN_DIR}/{_ON_THE_NODE}"'
    files = {**_list_files(recipe, wheels), "build.sh": "".join(f"{line}\n" for line in _list_node_lines(recipe, site))}
    lay = [f"mkdir -p {folder}"]
    for name, text in sorted(files.items()):
        words = " ".join(quote(line) for line in text.splitlines())
        lay.append(f"printf '%s\\n' {words} > {folder}/{name}")
    local = path.removesuffix(f"/{path.rpartition('/')[2]}")
    return (
        *lay,
        f"windlass_local={quote_with_variables(local)}",
        'windlass_env="${windlass_local:-${TMPDIR:-/tmp}/windlass-$SLURM_JOB_ID}/' + path.rpartition("/")[2] + '"',
        "windlass_each=()",
        '[ "${SLURM_JOB_NUM_NODES:-1}" = 1 ] ||',
        '  windlass_each=(srun --nodes="$SLURM_JOB_NUM_NODES" --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1)',
        f'"${{windlass_each[@]}}" bash {folder}/build.sh "$windlass_env" >&2 || exit {wire.EXIT_ENVIRONMENT}',
    )


def _list_node_lines(recipe: Recipe, site: Site) -> tuple[str, ...]:
    """The modules are loaded by the job already. What a job that was queued again left there is used."""
    return (
        "set -e -o pipefail",
        f'export {wire.ENV_PREFIX}="$1" {wire.ENV_ROOT}="${{1%/*}}"',
        f'[ ! -e "${wire.ENV_PREFIX}/{CHECK}" ] || exit 0',
        f'rm -rf -- "${wire.ENV_PREFIX}"',
        f'mkdir -p "${wire.ENV_PREFIX}"',
        'cd "${0%/*}"',
        *make_lines(recipe, site, choose_source(recipe, site)),
    )


KIND = Kind(
    name="venv",
    summary="a virtual environment of Python, from requirements.txt, pyproject.toml or uv.lock; or one that is there",
    read=_read,
    make_build=_make_build,
    enter=_enter,
    find=_find_existing,
)
