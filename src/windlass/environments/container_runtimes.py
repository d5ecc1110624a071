"""The programs that run containers, by the word of a site's file; another one is one more entry."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from windlass.core.environment import Around
from windlass.core.shell import quote_with_variables
from windlass.core.site import Site
from windlass.errors import PlanError
from windlass_job import wire

IMAGE = "image.sif"
DEFINITION = "image.def"

_AMD = re.compile(r"(amd[_-]?)?(mi\d|instinct|radeon|gfx\d)", re.IGNORECASE)
_MEMORY = "/dev/shm"


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """Apptainer and its kin: one file an image, and variables that stand for options."""

    program: str
    variables: str  # what its variables begin with: their words may hold variables of the job's, those of argv may not
    build: tuple[str, ...]  # words that make an image from a definition, as a user without rights

    def make_image(self, *, is_definition: bool) -> str:
        """The shell line that makes $WINDLASS_PREFIX/image.sif, of a definition or of $windlass_source."""
        words = self.build if is_definition else ("pull",)
        target = f'"${wire.ENV_PREFIX}/{IMAGE}"'
        source = DEFINITION if is_definition else '"$windlass_source"'
        return f"{self.program} {' '.join(words)} {target} {source}"

    def make_words(self, around: Around, image: str, site: Site) -> tuple[str, ...]:
        """Before the command. --quiet: what it tells for information would stand in the training's log."""
        gpus = self._choose_gpus(around, site) if around.gpus_per_node else ()
        # By the name under which the folder is bound: where it is reached through a link, its real name is another.
        return (self.program, "--quiet", "exec", *gpus, "--pwd", around.workdir, image)

    def make_lines(self, folders: Iterable[str], binds: Iterable[str], home: str | None) -> tuple[str, ...]:
        """For the batch script: what the container sees besides its own, on every node."""
        variable = f"{self.variables}_BIND"
        listed = " ".join(quote_with_variables(one) for one in (*folders, _MEMORY))
        return (
            "# What of this machine the container sees, under its own names: what is there, and what links lead to.",
            f"for windlass_folder in {listed}; do",
            '  [ -e "$windlass_folder" ] || continue',
            '  for windlass_folder in "$windlass_folder" "$(readlink -f -- "$windlass_folder")"; do',
            f'    case ",${variable}," in *",$windlass_folder,"*) continue ;; esac',
            f'    export {variable}="${{{variable}:+${variable},}}$windlass_folder"',
            "  done",
            "done",
            *(f'export {variable}="${variable},"{quote_with_variables(bind)}' for bind in binds),
            *(_make_home(self.variables, home) if home else ()),
            # Where an image must be unpacked because it cannot be mounted.
            f'export {self.variables}_TMPDIR="${{SLURM_TMPDIR:-/tmp}}"',
            "unset PYTHONHOME PYTHONPATH LD_PRELOAD  # of modules: not for the Python inside",
        )

    def make_offline_env(self) -> dict[str, str]:
        """For --net --network none, which users without rights may give too."""
        return {f"{self.variables}_NET": "1", f"{self.variables}_NETWORK": "none"}

    def _choose_gpus(self, around: Around, site: Site) -> tuple[str, ...]:
        names = [around.gpu] if around.gpu else [one.name for one in site.gpus]
        return ("--rocm",) if names and all(_AMD.match(name) for name in names) else ("--nv",)


def _make_home(variables: str, home: str) -> tuple[str, ...]:
    place = quote_with_variables(home)
    return (
        f"mkdir -p {place}",
        f"export {variables}_HOME={place}  # in the place of home",
        f"export {variables}_CONFIGDIR={quote_with_variables(f'{home}/.{variables.lower()}')}",
    )


RUNTIMES: dict[str, Runtime] = {
    "apptainer": Runtime(program="apptainer", variables="APPTAINER", build=("build",)),
    "singularity": Runtime(program="singularity", variables="SINGULARITY", build=("build", "--fakeroot")),
}


def choose_runtime(site: Site) -> Runtime:
    """Where a site's file is silent, the usual one."""
    name = site.software.container or "apptainer"
    if name not in RUNTIMES:
        raise PlanError(
            f"{site.name} runs containers with {name}, which Windlass does not know; it knows {', '.join(RUNTIMES)}",
            hint="[run] command with that program in it, and no [environment] container",
        )
    return RUNTIMES[name]
