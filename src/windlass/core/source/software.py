"""Which PyTorch a run would get, and on which GPUs and nodes it may land."""

from dataclasses import dataclass, replace

from windlass.core.case import Case
from windlass.core.site import NodeType
from windlass.core.source.gpu_builds import (
    FIRST_FOR_GPUS_ON_ARM,
    NEWEST,
    PYPI,
    Build,
    find_build,
    find_capability,
    read_tag,
)
from windlass.core.source.pins import Pin, find_torch_module
from windlass.core.source.reach import look_at_code
from windlass.core.source.wanted import find_wanted, takes_wheels_of_the_house

_TORCH = ("torch", "pytorch", "pytorch-gpu")
_CONTAINERS = frozenset({"apptainer", "singularity", "podman", "docker", "shifter", "sarus", "enroot", "ch-run"})
# Conda's builds are not PyPI's: only that 3.5 was dropped with 1.3.1 is known of them.
_OF_CONDA = (37, 50, 60, 70, 75, 80, 90, 100, 110, 120)


@dataclass(frozen=True, kw_only=True)
class Torch:
    build: Build
    pin: Pin
    is_exact: bool  # one version only can be installed
    is_conda: bool = False
    is_from_house: bool = False  # the site's wheelhouse
    machine: str | None = None  # for which; None: not known

    @property
    def is_for_processors(self) -> bool:
        """It can use no GPU."""
        is_old = self.pin.build is None and self.build.version[:2] < FIRST_FOR_GPUS_ON_ARM
        return self.pin.build == "cpu" or (self.machine == "aarch64" and self._is_of_pypi and is_old)

    @property
    def has_no_wheel(self) -> bool:
        return self.machine == "ppc64le" and self._is_of_pypi

    @property
    def _is_of_pypi(self) -> bool:
        return self.pin.other_index is None and not self.is_conda and not self.is_from_house

    @property
    def where(self) -> str:
        return self.pin.where


def find_torch(case: Case) -> Torch | None:
    """What pip or conda would install; None where the site's own build is taken, or nothing is known."""
    if find_torch_module(case.plan.modules) or case.spec.environment.container or _runs_in_a_container(case):
        return None
    pins = find_wanted(case, _TORCH, find_machine(case))
    if not pins:
        return None
    pin = pins[0]
    is_from_house = takes_wheels_of_the_house(case)
    if is_from_house and pin.build is None:
        return None
    cuda = read_tag(pin.build) if pin.build else None
    if pin.build and cuda is None and pin.build != "cpu":
        return None  # ROCm
    version = pin.exact or _find_newest(pin)
    is_conda, machine = pin.name != "torch", find_machine(case)
    build = find_build(version, cuda)
    if is_conda:
        build = Build(version=version, cuda=cuda, kernels=_OF_CONDA if version >= (1, 3, 1) else None)
    elif machine not in (None, "x86_64"):
        build = replace(build, kernels=None)  # other wheels, which were not read
    return Torch(
        build=build,
        pin=pin,
        is_exact=pin.exact is not None,
        is_conda=is_conda,
        is_from_house=is_from_house,
        machine=machine,
    )


def find_torch_version(case: Case) -> tuple[int, ...] | None:
    """The one version that is loaded as a module or asked for; None: open."""
    if module := find_torch_module(case.plan.modules):
        return module[1]
    pins = find_wanted(case, _TORCH, find_machine(case))
    return next((pin.exact for pin in pins if pin.exact and len(pin.exact) > 1), None)


def find_gpu_kinds(case: Case) -> list[tuple[str, int]]:
    """The GPUs that the job may get and whose capability is known; the oldest first."""
    names = {case.plan.gpu_spelled} if case.plan.gpu_spelled else set(find_gpu_names(case))
    found = []
    for name in sorted(names):
        kind = case.site.gpu(name)
        capability = find_capability(kind.name if kind else name, kind.capability if kind else None)
        if capability is not None:
            found.append((kind.name if kind else name, capability))
    return sorted(found, key=lambda one: one[1])


def find_gpu_names(case: Case) -> tuple[str, ...]:
    """All kinds that the partition has, as the site file or Slurm calls them."""
    seen = case.facts.partition(case.plan.partition or "")
    if seen is not None and any(kind for kind, _ in seen.gpus):
        return tuple(sorted({kind for kind, _ in seen.gpus if kind}))
    return tuple(sorted({one.gpu for one in find_node_types(case) if one.gpu}))


def find_node_types(case: Case) -> tuple[NodeType, ...]:
    """Those of the partition; where the site chooses it, all that have the GPUs."""
    written = case.site.partition(case.plan.partition or "")
    if written is not None:
        return tuple(one for name in written.nodes if (one := case.site.node_type(name)))
    kind = case.site.gpu(case.plan.gpu_spelled or "")
    if case.plan.partition is not None or kind is None:
        return ()
    return tuple(one for one in case.site.node_types if one.gpu == kind.name)


def find_machine(case: Case) -> str | None:
    """The processor of the nodes; None: not known, or they differ."""
    found = {one.architecture for one in find_node_types(case)}
    return found.pop() if len(found) == 1 else None


def _runs_in_a_container(case: Case) -> bool:
    commands = (command for script in look_at_code(case).shell for command in script.commands)
    words = {word.rpartition("/")[2] for command in commands for word in command.words[:8]}
    return not words.isdisjoint(_CONTAINERS)


def _find_newest(pin: Pin) -> tuple[int, ...]:
    bound = pin.newest
    return max((one for one in PYPI if bound is None or one < bound), default=NEWEST)
