"""Conda environments: from environment.yml, a lock or pixi.toml, or one that the site has, entered without conda."""

from windlass.core.environment import Build, Entering, Kind, ReadFile, Recipe, choose_purge, find_platform, list_modules
from windlass.core.run import Environment
from windlass.core.shell import quote, quote_with_variables
from windlass.core.site import Site
from windlass.environments.conda_clients import CLIENTS, ENV, Client, list_clients
from windlass.environments.conda_files import PLACES, Source, Wanted, read_wanted
from windlass.environments.conda_lock import LOCK
from windlass.environments.conda_shell import activate, find_by_name, hide_tokens
from windlass.environments.scripts import begin_script, load_modules, probe, tell_python
from windlass.errors import PlanError
from windlass_job import wire

_PREFIX = f"${wire.ENV_PREFIX}"
_FREE_BYTES = 500_000_000  # a Python alone, with its cache; what more it takes nobody knows before it is solved
_PIXI_CONFIG = ".pixi/config.toml"


def _read(environment: Environment, site: Site, read: ReadFile) -> Recipe | None:
    if environment.conda is None:
        return None
    modules, purge = list_modules(environment, site), choose_purge(environment, site)
    platform = find_platform(site)
    wanted = read_wanted(environment.conda, read, platform)
    if wanted is None:
        return Recipe(
            kind=KIND.name, modules=modules, purge_modules=purge, platform=platform, existing=environment.conda
        )
    settings = {
        "source": wanted.source.name,
        "file": wanted.file,
        "environment": wanted.environment if wanted.source is Source.PIXI else "",
        "internet": "yes" if wanted.needs_internet else "",
        "client": site.software.conda or "",
        "python": environment.python or "",
        # Login nodes have no GPU, and a solver that sees none takes the builds for CPUs.
        "cuda": site.software.cuda or "" if site.gpus else "",
    }
    return Recipe(
        kind=KIND.name,
        modules=modules,
        purge_modules=purge,
        files=wanted.files,
        settings={name: value for name, value in settings.items() if value},
        platform=platform,
    )


def _make_build(recipe: Recipe, site: Site) -> Build:
    wanted = _recall(recipe)
    inner = f".pixi/envs/{wanted.environment}" if wanted.source is Source.PIXI else ""
    prefix = f"{_PREFIX}/{inner}" if inner else _PREFIX
    files = {name: text.encode() for name, text in wanted.files.items()}
    lines = (
        *begin_script(recipe),
        *_find_client(wanted, recipe.settings.get("client"), site.name),
        *_set_variables(recipe),
        *_lay(wanted),
        *_call(wanted),
        *_look(prefix, wanted, recipe.settings.get("python")),
    )
    needs_internet = recipe.settings.get("internet") == "yes"
    script = "\n".join(lines) + "\n"
    return Build(script=script, files=files, needs_internet=needs_internet, needs_bytes=_FREE_BYTES, path=inner)


def _recall(recipe: Recipe) -> Wanted:
    return Wanted(
        source=Source[recipe.settings["source"]],
        file=recipe.settings["file"],
        files=recipe.files,
        environment=recipe.settings.get("environment", ""),
        is_locked="pixi.lock" in recipe.files,
    )


def _find_client(wanted: Wanted, chosen: str | None, site: str) -> tuple[str, ...]:
    """$windlass_client: its path. A shell function called conda is none: it needs an interactive shell."""
    names = [one.name for one in list_clients(wanted.source)]
    if chosen and "/" in chosen:
        _get_client(chosen, wanted)
        missing = f"error: the site file says software.conda = {chosen}, and there is no such program here"
        return (
            f"windlass_client={quote_with_variables(chosen)}",
            f'if [ ! -x "$windlass_client" ]; then echo {quote(missing)}; exit 1; fi',
        )
    if chosen:
        names = [_get_client(chosen, wanted).name]
    spelled = " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    missing = f"error: there is no {spelled} on the PATH at {site}, which {wanted.file} needs"
    hints = (
        f"windlass: nothing was built; find it: windlass modules find {names[0]} --on {site}",
        'windlass: then in windlass.toml: [environment] modules = ["NAME"]',
        'windlass: or in the site file, where it is no module: [software] conda = "/path/to/conda"',
    )
    return (
        "windlass_client=",
        f"for windlass_name in {' '.join(names)}; do",
        '  windlass_client=$(type -P "$windlass_name" || true)',
        '  if [ -n "$windlass_client" ]; then break; fi',
        # set by the modules of many centres, and by conda's own start files
        '  for windlass_exe in "$MAMBA_EXE" "$CONDA_EXE"; do',
        '    if [ -x "$windlass_exe" ] && [ "${windlass_exe##*/}" = "$windlass_name" ]; then',
        "      windlass_client=$windlass_exe",
        "      break 2",
        "    fi",
        "  done",
        "done",
        'if [ -z "$windlass_client" ]; then',
        *(f"  echo {quote(line)}" for line in (missing, *hints)),
        "  exit 1",
        "fi",
    )


def _get_client(chosen: str, wanted: Wanted) -> Client:
    name = chosen.rpartition("/")[2]
    found = next((one for one in CLIENTS if one.name == name), None)
    if found is None or wanted.source not in found.commands:
        able = ", ".join(one.name for one in list_clients(wanted.source))
        message = f"software.conda = {chosen!r} of the site file is no program that builds from {wanted.file}"
        raise PlanError(
            message, hint=f"{wanted.source} is read by {able}; without the key the first on the PATH is taken"
        )
    return found


def _set_variables(recipe: Recipe) -> tuple[str, ...]:
    cuda = recipe.settings.get("cuda")
    override = (
        (f"windlass_cuda={quote(cuda)}", 'export CONDA_OVERRIDE_CUDA="${CONDA_OVERRIDE_CUDA:-$windlass_cuda}"')
        if cuda
        else ()
    )
    return (*(f"export {name}={quote_with_variables(value)}" for name, value in ENV.items()), *override)


def _lay(wanted: Wanted) -> tuple[str, ...]:
    """Clients of conda's make the folder themselves; pixi works in the folder of its manifest."""
    if wanted.source is not Source.PIXI:
        return (f'rmdir "{_PREFIX}"',)
    return (
        f'cp -- {" ".join(quote(name) for name in wanted.files)} "{_PREFIX}/"',
        f'mkdir "{_PREFIX}/.pixi"',
        f"echo 'detached-environments = false' > \"{_PREFIX}/{_PIXI_CONFIG}\"",
    )


def _call(wanted: Wanted) -> tuple[str, ...]:
    lines = [
        hide_tokens("windlass_hide"),
        'windlass_call() { echo "+ $windlass_client $*"; "$windlass_client" "$@" 2>&1 | windlass_hide; }',
        "windlass_call --version",
        'case "${windlass_client##*/}" in',
    ]
    for client in list_clients(wanted.source):
        words = " ".join(quote_with_variables(word) for word in client.commands[wanted.source](wanted))
        exports = [f"    export {name}={quote_with_variables(value)}" for name, value in client.env.items()]
        lines += [f"  {client.name})", *exports, f"    windlass_call {words}", "    ;;"]
    return (*lines, "esac")


def _look(prefix: str, wanted: Wanted, python: str | None) -> tuple[str, ...]:
    lines = [
        f'if [ ! -d "{prefix}/conda-meta" ]; then',
        f'  echo "error: $windlass_client ended well and made no environment in {prefix}"',
        "  exit 1",
        "fi",
        *activate(f'"{prefix}"', "it went away"),
    ]
    if python:
        begins = f"error: [environment] python = {python}, and {wanted.file} gives"
        lines += [
            "windlass_python=$(python -c 'import platform; print(platform.python_version())')",
            'case "$windlass_python." in',
            f"  {quote(python)}.*) ;;",
            f'  *) echo {quote(begins)} "Python $windlass_python"; exit 1 ;;',
            "esac",
        ]
    return (*lines, f'if [ -x "{prefix}/bin/python" ]; then {probe("python")}; fi')


def _enter(environment: Environment, recipe: Recipe, path: str, site: Site) -> Entering:
    """path: of an environment that the site has also its name, where nobody has looked where it lies."""
    if recipe.existing is not None:
        found: tuple[str, ...] = ()
        prefix = quote_with_variables(path)
        if not path.startswith(PLACES):
            found = find_by_name(path, site.software.conda, "windlass_named")
            prefix = '"$windlass_named"'
        return Entering(lines=(*found, *activate(prefix, f"there is no conda environment {path}")))
    inner = f"/.pixi/envs/{recipe.settings['environment']}" if "environment" in recipe.settings else ""
    missing = f"the environment {recipe.id} is not at {site.name}; this builds it: windlass env build --on {site.name}"
    return Entering(lines=(*activate(quote_with_variables(path + inner), missing), "export PYTHONNOUSERSITE=1"))


def _find(recipe: Recipe, site: Site) -> str:
    """Prints where it lies, in a login shell."""
    existing = recipe.existing or ""
    if existing.startswith(PLACES):
        found: tuple[str, ...] = (f"windlass_env={quote_with_variables(existing)}",)
    else:
        found = find_by_name(existing, site.software.conda, "windlass_env")
    missing = '  echo "windlass: there is no conda environment in $windlass_env on $HOSTNAME" >&2'
    test = ('if [ ! -d "$windlass_env/conda-meta" ]; then', missing, "  exit 1", "fi")
    told = (tell_python('"$windlass_env/bin/python"'), 'printf "%s\\n" "$windlass_env"')
    return "\n".join((*load_modules(recipe), *found, *test, *told)) + "\n"


KIND = Kind(
    name="conda",
    summary="environment.yml, a lock of conda's, pixi.toml; or an environment of the site, by name or folder",
    read=_read,
    make_build=_make_build,
    enter=_enter,
    find=_find,
    lock=LOCK,
    is_packable=True,
)
