"""Whether the JAX of a list fits the GPUs and the driver, before it is built: by the CUDA that the list names."""

import re
from collections.abc import Iterator

from windlass.core.case import Case
from windlass.core.finding import Finding, Severity
from windlass.core.source.gpu_advice import list_places
from windlass.core.source.gpu_builds import Build, find_oldest_driver, format_capability, runs_on
from windlass.core.source.software import find_gpu_kinds
from windlass.core.source.wanted import find_listed, takes_wheels_of_the_house

# As JAX's own instructions say: the oldest GPU for the wheels of each CUDA.
_OLDEST = {"12": 52, "13": 75}
_EXTRA = re.compile(r"(?:cuda|rocm)(\d*)")
_PLUGIN = re.compile(r"jax-(?:cuda|rocm)(\d*)-(?:plugin|pjrt)|jax-metal|libtpu()")
_ADVICE = '"jax[cuda12]" in place of jax'


def jax_is_for_processors(case: Case) -> Iterator[Finding]:
    """GPUs are asked for, and the list names jax alone: from PyPI that is the build for processors.

    The code for GPUs comes with an extra: jax[cuda12] or jax[cuda13].
    """
    found = _find_jax(case)
    if found is not None and found[1] is None:
        yield Finding(
            code="C318",
            severity=Severity.WARNING,
            message="jax without an extra is the build for processors, and the run asks for GPUs",
            hint=_ADVICE,
            where=found[0],
        )


def jax_does_not_fit(case: Case) -> Iterator[Finding]:
    """The CUDA of the JAX that is asked for knows these GPUs no more, or needs a newer driver than the nodes have."""
    found = _find_jax(case)
    oldest = _OLDEST.get(found[1] or "") if found is not None else None
    if found is None or oldest is None:
        return
    where, cuda = found[0], f"{found[1]}.0"
    places = list_places(case, lambda one: one >= oldest)
    ways = [_ADVICE] if found[1] == "13" else []
    for kind, capability in find_gpu_kinds(case):
        if capability < oldest:
            yield Finding(
                code="C319",
                severity=Severity.WARNING,
                message=f"jax for CUDA {found[1]} needs a GPU of {format_capability(oldest)} or newer; "
                f"the {kind} is {format_capability(capability)}",
                hint=", or ".join((*ways, *places)) or None,
                fact=f"gpu.{kind}.capability of {case.site.name}",
                where=where,
            )
            return
    software = case.site.software
    if not runs_on(Build(version=(), cuda=cuda, kernels=None), driver=software.driver, cuda=software.cuda):
        has = f"is {software.driver}" if software.driver else f"runs CUDA up to {software.cuda}"
        yield Finding(
            code="C319",
            severity=Severity.WARNING,
            message=f"jax for CUDA {found[1]} needs the driver {find_oldest_driver(cuda)} or newer; "
            f"that of {case.site.name} {has}",
            hint=", or ".join((*ways, "the site's module")),
            fact=f"software.driver of {case.site.name}",
            where=where,
        )


def _find_jax(case: Case) -> tuple[str, str | None] | None:
    """Where a list from PyPI asks for it, and "12" of its CUDA: None is none, "" one that is not known.

    None: it asks for none, or for what modules or others bring.
    """
    recipe = find_listed(case)
    if recipe is None or recipe.read_private is None or recipe.modules or not case.plan.gpus_per_node:
        return None
    found = recipe.read_private()
    if takes_wheels_of_the_house(case) or found.options:
        return None
    where = next((line.where for line in found.lines if line.name == "jax"), None)
    if where is None:
        return None
    extras = {one for line in found.lines if line.name == "jax" for one in line.requirement.extras}
    named = [match[1] for one in extras if (match := _EXTRA.match(one))]
    named += [match[1] or "" for line in found.lines if (match := _PLUGIN.match(line.name))]
    if any(line.name == "jaxlib" and "+" in str(line.requirement.specifier) for line in found.lines):
        return where, ""
    return where, max(named) if named else None
