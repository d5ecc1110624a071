"""Whether the TensorFlow of a list fits the GPUs and the driver, before it is built: by what PyPI's wheels hold."""

from collections.abc import Iterator
from dataclasses import dataclass

from windlass.core.case import Case
from windlass.core.finding import Finding, Severity
from windlass.core.source.gpu_advice import list_places, soften
from windlass.core.source.gpu_builds import Build, find_oldest_driver, format_capability, runs_on
from windlass.core.source.pins import Pin
from windlass.core.source.software import find_gpu_kinds, find_machine
from windlass.core.source.tensorflow_builds import (
    FIRST_WITH_EXTRA,
    NEWEST,
    PYPI,
    TensorFlow,
    find_tensorflow,
    list_working,
)
from windlass.core.source.wanted import find_listed, find_wanted, takes_wheels_of_the_house

_NAMES = ("tensorflow", "tensorflow-gpu")
_CUDA = ("nvidia-cudnn", "nvidia-cuda-runtime", "nvidia-cublas")


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    build: TensorFlow
    pin: Pin
    has_cuda: bool  # by its extra, CUDA's own wheels in the list, or modules

    @property
    def is_exact(self) -> bool:
        return self.pin.exact is not None


def tensorflow_does_not_fit(case: Case) -> Iterator[Finding]:
    """The TensorFlow that is asked for holds no code for this GPU, or its CUDA needs a newer driver.

    It was built for some GPU architectures, and for newer ones as text that is compiled at the first start, which
    takes minutes. On an older GPU it says: no kernel image is available for execution on the device, or: Ignoring
    visible gpu device, and trains on the processors.
    """
    wanted = _find_wanted(case)
    if wanted is None or wanted.build.code is None:
        return
    kinds = find_gpu_kinds(case)
    wrong = next(((kind, one) for kind, one in kinds if wanted.build.runs_on(one) is False), None)
    if wrong is not None:
        found = _make_no_code(case, wanted, *wrong)
        works = [kind for kind, one in kinds if wanted.build.runs_on(one)]
        yield soften(case, found, works[-1]) if works else found
    elif not _runs_on_driver(case, wanted.build):
        yield _make_old_driver(case, wanted)


def tensorflow_finds_no_cuda(case: Case) -> Iterator[Finding]:
    """GPUs are asked for, and this TensorFlow cannot use any: it is the build for processors, or nothing brings CUDA.

    Its wheel holds no CUDA. From 2.14 on tensorflow[and-cuda] brings it, before that only a module can. Without it
    TensorFlow says: Cannot dlopen some GPU libraries, and trains on the processors.
    """
    wanted = _find_wanted(case)
    if wanted is None:
        return
    name = f"tensorflow {wanted.build.name}"
    if wanted.build.is_for_processors and wanted.pin.name == "tensorflow":
        message = f"{name} of PyPI is the build for processors, and the run asks for GPUs"
        hint = f'"tensorflow-gpu=={wanted.build.name}", or a newer release'
    elif not wanted.has_cuda:
        message = f"{name} finds no CUDA: neither the list nor a module brings it, and the run asks for GPUs"
        with_extra = '"tensorflow[and-cuda]" in place of tensorflow'
        module = f"the modules of its CUDA and cuDNN: windlass modules find CUDA --on {case.site.name}"
        hint = with_extra if wanted.build.version[:2] >= FIRST_WITH_EXTRA else module
    else:
        return
    yield Finding(code="C329", severity=Severity.WARNING, message=message, hint=hint, where=wanted.pin.where)


def _find_wanted(case: Case) -> _Wanted | None:
    """Of PyPI, for GPUs; None: it is not asked for, or comes from elsewhere."""
    recipe, machine = find_listed(case), find_machine(case)
    if recipe is None or recipe.read_private is None or not case.plan.gpus_per_node:
        return None
    if takes_wheels_of_the_house(case) or machine not in (None, "x86_64"):
        return None
    pins = find_wanted(case, _NAMES, machine)
    if not pins or pins[0].other_index is not None:
        return None
    lines = recipe.read_private().lines
    extras = {one for line in lines if line.name in _NAMES for one in line.requirement.extras}
    has_cuda = bool(recipe.modules) or "and-cuda" in extras or any(line.name.startswith(_CUDA) for line in lines)
    pin = pins[0]
    version = pin.exact or max((one for one in PYPI if pin.newest is None or one < pin.newest), default=NEWEST)
    return _Wanted(build=find_tensorflow(version), pin=pin, has_cuda=has_cuda)


def _make_no_code(case: Case, wanted: _Wanted, kind: str, capability: int) -> Finding:
    build = wanted.build
    fits = [one for one in list_working([one for _, one in find_gpu_kinds(case)]) if _runs_on_driver(case, one)]
    ways = [f'"tensorflow=={fits[0].name}.*"'] if fits else []
    return Finding(
        code="C328",
        severity=Severity.ERROR if wanted.is_exact else Severity.WARNING,
        message=f"tensorflow {build.name} of PyPI has code for {', '.join(build.code or ())}; "
        f"the {kind} is {format_capability(capability)}",
        hint=", or ".join((*ways, *list_places(case, build.runs_on))) or None,
        fact=f"gpu.{kind}.capability of {case.site.name}",
        where=wanted.pin.where,
    )


def _make_old_driver(case: Case, wanted: _Wanted) -> Finding:
    software, cuda = case.site.software, wanted.build.cuda or ""
    fits = [one for one in list_working([one for _, one in find_gpu_kinds(case)]) if _runs_on_driver(case, one)]
    has = f"is {software.driver}" if software.driver else f"runs CUDA up to {software.cuda}"
    needs = f"needs the driver {find_oldest_driver(cuda)} or newer"
    return Finding(
        code="C328",
        severity=Severity.ERROR if wanted.is_exact else Severity.WARNING,
        message=f"CUDA {cuda} of tensorflow {wanted.build.name} {needs}; that of {case.site.name} {has}",
        hint=", or ".join((*[f'"tensorflow=={one.name}.*"' for one in fits[:1]], "the site's module")),
        fact=f"software.driver of {case.site.name}",
        where=wanted.pin.where,
    )


def _runs_on_driver(case: Case, build: TensorFlow) -> bool:
    software = case.site.software
    return runs_on(Build(version=(), cuda=build.cuda, kernels=None), driver=software.driver, cuda=software.cuda)
