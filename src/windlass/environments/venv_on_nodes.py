"""A venv that every node of a job makes for itself, on its own disk, before anything else."""

from collections.abc import Mapping

from windlass.core.environment import Recipe
from windlass.core.run import Wheels
from windlass.core.shell import quote, quote_with_variables
from windlass.core.site import Site
from windlass.environments.venv_script import CHECK, make_lines
from windlass_job import wire

_FOLDER = "environment"  # RUN_DIR/environment/: what every node makes it from
# Others may have been there before us, where the disk of a node is open to all. The folder above is made first: once it
# is ours nobody else can lay anything in it; and a link, though it leads to what is ours, can lead elsewhere later.
_REFUSE_STRANGERS = (
    'mkdir -p -m 700 "${1%/*}" 2> /dev/null || true',
    'for windlass_one in "${1%/*}" "$1"; do',
    '  if [ -L "$windlass_one" ]; then echo "error: $windlass_one is a link that somebody laid" >&2; exit 1; fi',
    '  if [ -e "$windlass_one" ] && [ ! -O "$windlass_one" ] && [ "$(stat -c %u "$windlass_one")" != 0 ]; then',
    '    echo "error: $windlass_one belongs to another user" >&2',
    "    exit 1",
    "  fi",
    "done",
)


def choose_wheels_of_nodes(asked: Wheels, site: Site) -> Wheels:
    """What is not known to reach an index is taken not to: in the job it would be too late to find out."""
    if asked is not Wheels.AUTO:
        return asked
    if site.software.wheelhouse is not None:
        return Wheels.WHEELHOUSE
    return Wheels.PYPI if site.rules.compute_internet else Wheels.LAPTOP


def make_on_nodes(recipe: Recipe, path: str, site: Site, files: Mapping[str, str]) -> tuple[str, ...]:
    """$windlass_env is where it lies then. Also without a job, where a login node fetches for the run."""
    script = "".join(f"{line}\n" for line in _list_lines(recipe, site))
    lay = [f'windlass_made="${{{wire.ENV_RUN_DIR}:-$PWD/.windlass}}/{_FOLDER}"', 'mkdir -p "$windlass_made"']
    for name, text in sorted({**files, "build.sh": script}.items()):
        words = " ".join(quote(line) for line in text.splitlines())
        lay.append(f"printf '%s\\n' {words} > \"$windlass_made\"/{name}")
    local, _, name = path.rpartition("/")
    return (
        *lay,
        f"windlass_local={quote_with_variables(local)}",
        '[ -n "$SLURM_JOB_ID" ] || windlass_local=$windlass_made',
        # Of this job alone, also where the disk is not: another one would fill the same folder.
        f'export {wire.ENV_OWN_ENV}="${{windlass_local:-${{TMPDIR:-/tmp}}}}/windlass-${{SLURM_JOB_ID:-0}}"',
        f'windlass_env="${wire.ENV_OWN_ENV}/{name}"',
        "windlass_each=()",
        '[ "${SLURM_JOB_NUM_NODES:-1}" = 1 ] ||',
        '  windlass_each=(srun --nodes="$SLURM_JOB_NUM_NODES" --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1)',
        f'"${{windlass_each[@]}}" bash "$windlass_made"/build.sh "$windlass_env" >&2 || exit {wire.EXIT_ENVIRONMENT}',
    )


def _list_lines(recipe: Recipe, site: Site) -> tuple[str, ...]:
    """The modules are loaded by the job already. What a job that was queued again left there is used."""
    wheels = recipe.wheels
    assert wheels is not None
    sent = f"{site.root}/{wire.WHEELS}/{recipe.id}"
    return (
        "set -e -o pipefail",
        *_REFUSE_STRANGERS,
        f'export {wire.ENV_PREFIX}="$1" {wire.ENV_ROOT}="${{1%/*}}"',
        *((f"export {wire.ENV_WHEELS}={quote_with_variables(sent)}",) if wheels is Wheels.LAPTOP else ()),
        f'[ ! -e "${wire.ENV_PREFIX}/{CHECK}" ] || exit 0',
        f'rm -rf -- "${wire.ENV_PREFIX}"',
        f'mkdir -m 700 "${wire.ENV_PREFIX}"',
        'cd "${0%/*}"',
        *make_lines(recipe, site, wheels),
    )
