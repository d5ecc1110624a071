"""What was seen of a machine that no site file describes yet, and the shell text that looks for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from windlass.core.facts import Facts
from windlass.core.seen.quotas import QUOTA_PROGRAMS
from windlass.core.site import ModuleSystem

_EMPTY: Mapping[str, str] = MappingProxyType({})

# Where centres keep large files, by the variables that lead there, the best first.
VARIABLES = ("SCRATCH", "WORK", "PROJECT", "DATA", "STORE", "HOME")
# A place that is not told by a variable is often found at one of these.
FOLDERS = ("/scratch/$USER", "/project", "/work", "/work1", "/lustre", "/gpfs", "/nearline", "/localscratch")
CONTAINERS = ("apptainer", "singularity", "enroot", "sarus", "podman-hpc")

# Run by bash, once as ssh runs a command and once as a login shell: the difference is what `login_shell` is for.
# One fact a line, its parts apart by tabs.
LOOK = r"""
for name in VARIABLES; do
  [ -n "${!name-}" ] && printf 'variable\t%s\t%s\n' "$name" "${!name}"
done
for name in PROGRAMS; do
  command -v "$name" >/dev/null 2>&1 && printf 'program\t%s\n' "$name"
done
if [ -n "${LMOD_VERSION-}" ]; then printf 'modules\tlmod\t%s\n' "$LMOD_VERSION"
elif [ -n "${MODULESHOME-}" ] || type module >/dev/null 2>&1; then printf 'modules\ttcl\n'; fi
for place in PLACES; do
  [ -d "$place" ] || continue
  set -- $(df -PTk "$place" 2>/dev/null | tail -n 1)
  [ -w "$place" ] && writable=yes || writable=no
  printf 'disk\t%s\t%s\t%s\t%s\t%s\n' "$place" "$writable" "${2-}" "${3-}" "${5-}"
done
""".strip()


@dataclass(frozen=True, kw_only=True)
class AreaSeen:
    """One place for files; sizes of the whole file system, which others share."""

    path: str
    variable: str | None = None  # that leads there
    kind: str | None = None  # "lustre", "nfs4", "ext4"
    is_writable: bool = False
    size_gb: float | None = None
    free_gb: float | None = None


@dataclass(frozen=True, kw_only=True)
class Shell:
    """What one kind of shell at the site has."""

    variables: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    programs: frozenset[str] = frozenset()
    modules: ModuleSystem = ModuleSystem.NONE
    areas: tuple[AreaSeen, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Discovered:
    """Everything a draft of a site file is made of. What is None was not seen."""

    host: str | None
    day: str  # of the look, 2026-11-16
    user: str | None = None  # as given on the command line
    jump: tuple[str, ...] = ()
    facts: Facts
    cluster: str | None = None  # Slurm's name for it
    shell: Shell = field(default_factory=Shell)  # as a login shell
    bare_shell: Shell = field(default_factory=Shell)  # as `ssh HOST COMMAND`
    needs_account: bool | None = None
    needs_time: bool | None = None
    memory_can_be_asked: bool | None = None
    gpu_dialect: str | None = None
    typed_gpus: bool | None = None
    gpus_must_be_asked: bool | None = None  # in the partition that has them
    said: Mapping[str, str] = field(default_factory=lambda: _EMPTY)  # key -> sbatch's own words for a no


def make_look_script() -> str:
    """For `bash -c` and `bash -lc`. The words come from this file only, so nothing needs quoting."""
    places = " ".join([*(f'"${{{name}-/nowhere}}"' for name in VARIABLES), *(f'"{one}"' for one in FOLDERS)])
    programs = " ".join(("sbatch", *QUOTA_PROGRAMS, *CONTAINERS))
    return LOOK.replace("VARIABLES", " ".join(VARIABLES)).replace("PROGRAMS", programs).replace("PLACES", places)


def read_look(text: str) -> Shell:
    """Lines of something else (banners, start files that talk) are passed over."""
    rows = [line.split("\t") for line in text.splitlines()]
    variables = {row[1]: row[2] for row in rows if row[0] == "variable" and len(row) == 3 and row[1] in VARIABLES}
    modules = next((row[1] for row in rows if row[0] == "modules" and len(row) > 1), ModuleSystem.NONE.value)
    return Shell(
        variables=variables,
        programs=frozenset(row[1] for row in rows if row[0] == "program" and len(row) == 2),
        modules=ModuleSystem(modules) if modules in set(ModuleSystem) else ModuleSystem.NONE,
        areas=_read_areas(rows, variables),
    )


def _read_areas(rows: list[list[str]], variables: Mapping[str, str]) -> tuple[AreaSeen, ...]:
    names = {path.rstrip("/"): name for name, path in reversed(tuple(variables.items()))}
    found: dict[str, AreaSeen] = {}
    for row in rows:
        if row[0] != "disk" or len(row) != 6:
            continue
        path = row[1].rstrip("/") or "/"
        found.setdefault(
            path,
            AreaSeen(
                path=path,
                variable=names.get(path),
                is_writable=row[2] == "yes",
                kind=row[3] or None,
                size_gb=_read_gb(row[4]),
                free_gb=_read_gb(row[5]),
            ),
        )
    return tuple(found.values())


def _read_gb(kilobytes: str) -> float | None:
    return round(int(kilobytes) * 1024 / 1e9, 1) if kilobytes.isascii() and kilobytes.isdigit() else None
