"""The shell of a venv: finding its Python, making it, filling it from a wheelhouse, an index or the laptop's wheels."""

from windlass.core.environment import Recipe
from windlass.core.run import Wheels
from windlass.core.shell import quote, quote_with_variables
from windlass.core.site import Site
from windlass_job import wire

REQUIREMENTS = "requirements.txt"
CONSTRAINTS = "constraints.txt"
INDEXES = "indexes.txt"  # where packages come from, by the project's own files
CHECK = "windlass-check"  # in the venv: a script that refuses where its Python is not the one it was built for

_QUIET_PIP = "--disable-pip-version-check --no-input"
_OLDEST_PIP = 22  # older ones do not know today's names of Linux wheels (manylinux_2_28)


def make_lines(recipe: Recipe, site: Site, wheels: Wheels) -> tuple[str, ...]:
    """From an empty $WINDLASS_PREFIX to a venv with its packages; begins beside the files of the recipe."""
    return (
        *_set_up(recipe),
        *find_python(recipe.settings.get("python", "")),
        *_find_wheels(site, wheels),
        _find_uv(recipe),
        *_make_venv(recipe),
        *_install(recipe, wheels),
        *_write_check(recipe),
    )


def _set_up(recipe: Recipe) -> tuple[str, ...]:
    """What a user's own settings must not change, and caches off home."""
    return (
        f'export PIP_CACHE_DIR="${wire.ENV_ROOT}/{wire.CACHES}/pip" UV_CACHE_DIR="${wire.ENV_ROOT}/{wire.CACHES}/uv"',
        "export PYTHONNOUSERSITE=1 PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0 UV_PYTHON_DOWNLOADS=never",
        # Of several indexes the best version, as pip takes it; uv alone would look no further than the first that has
        # a package at all. A variable, because older ones would not bear an option that they do not know.
        'export UV_INDEX_STRATEGY="${UV_INDEX_STRATEGY:-unsafe-best-match}"',
        *(() if recipe.modules else ("unset PYTHONPATH",)),
        "unset PYTHONHOME VIRTUAL_ENV CONDA_PREFIX PIP_TARGET PIP_PREFIX",
    )


def find_python(wanted: str) -> tuple[str, ...]:
    """wanted: as "3.11" or "3.11.4"; empty: any Python 3."""
    parts = tuple(int(part) for part in wanted.split(".")) if wanted else (3,)
    names = f"python{'.'.join(wanted.split('.')[:2])} python3 python" if wanted else "python3 python"
    shown = f"Python {wanted or '3'}"
    return (
        "windlass_python=",
        f"for windlass_name in {names}; do",
        '  windlass_found=$(command -v "$windlass_name") || continue',
        f'  "$windlass_found" -c "import sys; sys.exit(sys.version_info[:{len(parts)}] != {_format_tuple(parts)})"'
        " 2> /dev/null || continue",
        "  windlass_python=$windlass_found",
        "  break",
        "done",
        'if [ -z "$windlass_python" ]; then',
        f'  echo "error: there is no {shown} here; python3 is $(python3 --version 2>&1 || true).'
        ' Load a module that has it: [environment] modules" >&2',
        "  exit 1",
        "fi",
        'echo "Python: $windlass_python"',
    )


def _format_tuple(parts: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, parts))},)"


def _find_wheels(site: Site, wheels: Wheels) -> tuple[str, ...]:
    """The array windlass_from: the words that tell pip and uv where packages come from."""
    if wheels is Wheels.PYPI:
        return ("windlass_from=()",)
    if wheels is Wheels.LAPTOP:
        return (f'windlass_from=(--no-index --find-links "${wire.ENV_WHEELS}")',)
    lines = ["windlass_from=(--no-index)"]
    if site.software.wheelhouse is not None:
        house = quote_with_variables(site.software.wheelhouse)
        lines += [
            # A site that sets pip up itself knows which folder of its house is for which processor.
            'if [ -z "${PIP_CONFIG_FILE:-}" ] || ! grep -qs find-links "$PIP_CONFIG_FILE"; then',
            f"  windlass_house={house}",
            '  if [ ! -d "$windlass_house" ]; then',
            '    echo "error: the wheelhouse $windlass_house is not there" >&2',
            "    exit 1",
            "  fi",
            '  windlass_from+=(--find-links "$windlass_house")',
            "  while IFS= read -r windlass_folder; do",
            '    windlass_from+=(--find-links "$windlass_folder")',
            '  done < <(find -L "$windlass_house" -mindepth 2 -maxdepth 4 -name "*.whl" -printf "%h\\n" | sort -u)',
            "fi",
        ]
    return tuple(lines)


def _find_uv(recipe: Recipe) -> str:
    """It looks into the venv alone: on top of others' packages it would miss them, or bring them a second time.

    What pip is told by the site, it does not read.
    """
    if recipe.modules or _sees_system(recipe):
        return "windlass_uv="
    return 'windlass_uv=$([ -n "${PIP_CONFIG_FILE:-}" ] || command -v uv || true)'


def _sees_system(recipe: Recipe) -> bool:
    return recipe.settings.get("system") == "yes"


def _make_venv(recipe: Recipe) -> tuple[str, ...]:
    """virtualenv where the system's Python came without ensurepip (Debian)."""
    system = " --system-site-packages" if _sees_system(recipe) else ""
    prefix = f'"${wire.ENV_PREFIX}"'
    return (
        'if [ -n "$windlass_uv" ]; then',
        f'  uv venv --no-project --python "$windlass_python" {prefix}',
        """elif "$windlass_python" -c "import ensurepip" 2> /dev/null; then""",
        f'  "$windlass_python" -m venv{system} {prefix}',
        "elif command -v virtualenv > /dev/null; then",
        f'  virtualenv --no-download --python "$windlass_python"{system} {prefix}',
        "else",
        '  echo "error: $windlass_python has no ensurepip, and there is no virtualenv:'
        ' load a module with a whole Python" >&2',
        "  exit 1",
        "fi",
    )


def _install(recipe: Recipe, wheels: Wheels) -> tuple[str, ...]:
    named = [f"-r {REQUIREMENTS}"]
    if CONSTRAINTS in recipe.files:
        named.append(f"-c {CONSTRAINTS}")
    if wheels is Wheels.PYPI and INDEXES in recipe.files:
        named.insert(0, f"-r {INDEXES}")
    files = " ".join(named)
    python = f'"${wire.ENV_PREFIX}/bin/python"'
    return (
        'if [ -n "$windlass_uv" ]; then',
        f'  uv pip install --python {python} --compile-bytecode "${{windlass_from[@]}}" {files}',
        "else",
        f"  windlass_pip=$({python} -m pip --version | sed 's/^pip \\([0-9]*\\).*/\\1/')",
        f'  if [ "$windlass_pip" -lt {_OLDEST_PIP} ]; then',
        f'    {python} -m pip install {_QUIET_PIP} "${{windlass_from[@]}}" --upgrade pip > /dev/null 2>&1 || true',
        "  fi",
        f'  {python} -m pip install {_QUIET_PIP} "${{windlass_from[@]}}" {files}',
        "fi",
    )


def _write_check(recipe: Recipe) -> tuple[str, ...]:
    """Run by every job before it goes in, with the job's own modules and PATH."""
    python = f'"${wire.ENV_PREFIX}/bin/python"'
    ask = "import platform, sys; print('%d.%d' % sys.version_info[:2], platform.machine())"
    return (
        f"windlass_built=($({python} -c {quote(ask)}))",
        # With the packages of modules it works with their Python only.
        f"windlass_base={'$windlass_name' if recipe.modules and _sees_system(recipe) else ''}",
        f'cat > "${wire.ENV_PREFIX}/{CHECK}" <<WINDLASS',
        "built=${windlass_built[0]} machine=${windlass_built[1]} base=$windlass_base",
        "WINDLASS",
        f"cat >> \"${wire.ENV_PREFIX}/{CHECK}\" <<'WINDLASS'",
        *_CHECK,
        "WINDLASS",
    )


_ASK = "'import sys; print(\"%d.%d\" % sys.version_info[:2])'"
_CHECK = (
    'folder=$(cd -P -- "${0%/*}" && pwd)',
    'if [ "$(uname -m)" != "$machine" ]; then',
    '  echo "windlass: the environment was built for $machine, and this node is $(uname -m)" >&2',
    "  exit 1",
    "fi",
    f'if ! now=$("$folder/bin/python" -c {_ASK} 2>&1); then',
    '  echo "windlass: the environment was built for Python $built, which does not start in this job: $now" >&2',
    '  echo "windlass: $folder/bin/python leads to $(readlink "$folder/bin/python"); is its module gone?" >&2',
    "  exit 1",
    "fi",
    'if [ -n "$base" ]; then',
    f'  now=$("$base" -c {_ASK} 2> /dev/null || echo "none")',
    "fi",
    'if [ "$now" != "$built" ]; then',
    '  echo "windlass: the environment was built for Python $built, and this job has Python $now" >&2',
    "  exit 1",
    "fi",
)
