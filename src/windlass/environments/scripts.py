"""What the scripts that build environments have in common: how they begin, and how they tell what they made."""

from windlass.core.environment import PYTHON_NOW, Recipe
from windlass.core.shell import format_module, quote
from windlass_job import wire

_ON_ERROR = "trap 'echo \"windlass: this failed ($?): $BASH_COMMAND\" >&2' ERR"


def begin_script(recipe: Recipe) -> tuple[str, ...]:
    """Strict, and with the modules loaded. `set -u` is left out: modules use unset variables freely.

    TMPDIR is a folder beside $WINDLASS_PREFIX.
    """
    return (
        "set -eE -o pipefail",
        f"echo {quote(wire.BUILD_BEGINS)}",
        _ON_ERROR,
        *load_modules(recipe),
    )


def load_modules(recipe: Recipe) -> tuple[str, ...]:
    """As a job script does it; of several on one line Lmod loads those it finds and leaves out the rest.

    A purge leaves sticky modules, which Environment Modules 5 calls a failure.
    """
    purge = ("module purge || true",) if recipe.purge_modules else ()
    return (*purge, *(f"module load {format_module(name)}" for name in recipe.modules))


def tell_python(python: str) -> str:
    """For `find`: the version of the Python of an environment that is there. A Python that does not start says none."""
    code = quote("import sys; print('%d.%d.%d' % sys.version_info[:3])")
    return f'printf "{PYTHON_NOW}%s\\n" "$({python} -I -S -c {code} 2> /dev/null)"'


def probe(python: str) -> str:
    """The last line: the new Python tells its version, its packages and its GPU code, for the card.

    python: shell text that starts it, such as "$WINDLASS_PREFIX/bin/python" with its quotes.
    """
    return f'{python} "${wire.ENV_PROBE}" > "${wire.ENV_PROBED}"'
