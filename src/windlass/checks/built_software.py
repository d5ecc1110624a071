"""Whether what was built fits the GPUs: by what the environment itself says, not by a table."""

import re
from collections.abc import Iterator, Sequence

from windlass.core.case import Case
from windlass.core.environment import Built
from windlass.core.finding import Finding, Severity
from windlass.core.source.gpu_advice import list_builds, soften
from windlass.core.source.gpu_builds import format_capability
from windlass.core.source.software import find_gpu_kinds

_CODE = re.compile(r"(sm|compute)_(\d+)[a-z]?")


def environment_has_no_code_for_the_gpu(case: Case) -> Iterator[Finding]:
    """The environment that was built for this run holds no code for this GPU: seen in its own libraries.

    The training would stop at its first operation on the GPU with: CUDA error: no kernel image is available for
    execution on the device.
    """
    built = case.environment.built if case.environment is not None else None
    if built is None or not case.plan.gpus_per_node:
        return
    kinds = find_gpu_kinds(case)
    for framework, code in sorted(built.gpu_code.items()):
        works = [kind for kind, capability in kinds if not code or _runs_on(code, capability)]
        wrong = next(((kind, one) for kind, one in kinds if kind not in works), None)
        if wrong is not None:
            found = _make_no_code(case, built, framework, *wrong)
            yield soften(case, found, works[-1]) if works else found


def _make_no_code(case: Case, built: Built, framework: str, kind: str, capability: int) -> Finding:
    name = f"{framework} {built.packages.get(framework, '')}".strip()
    return Finding(
        code="C323",
        severity=Severity.ERROR,
        message=f"{name} in {built.id} has code for {', '.join(built.gpu_code[framework])}, "
        f"and {kind} needs sm_{capability} ({format_capability(capability)})",
        hint=_advise(case, framework, capability),
        fact=f"gpu_code in env.json of {built.id} at {case.site.name}",
    )


def environment_is_for_processors_only(case: Case) -> Iterator[Finding]:
    """GPUs are asked for, and the environment was built with a framework that cannot use any."""
    built = case.environment.built if case.environment is not None else None
    if built is None or not case.plan.gpus_per_node:
        return
    torch = built.packages.get("torch", "")
    found = "torch " + torch if torch.endswith("+cpu") else "tensorflow-cpu" * ("tensorflow-cpu" in built.packages)
    if found:
        yield Finding(
            code="C324",
            severity=Severity.WARNING,
            message=f"{found} in {built.id} is the build for processors, and the run asks for GPUs",
            hint="name a build with CUDA in the requirements, then: windlass env build",
            fact=f"packages in env.json of {built.id} at {case.site.name}",
        )


def _runs_on(code: Sequence[str], capability: int) -> bool:
    """Code for 8.0 runs on 8.6 and not the other way round; PTX is compiled for whatever is newer."""
    for one in code:
        match = _CODE.fullmatch(one)
        if match is None:  # a word that is not known is not held against it
            return True
        number = int(match[2])
        is_same_line = number // 10 == capability // 10 or match[1] == "compute"
        if is_same_line and number <= capability:
            return True
    return False


def _advise(case: Case, framework: str, capability: int) -> str:
    if framework != "torch":
        return f"a release of {framework} with code for sm_{capability}, or another kind of GPU (resources.gpu)"
    ways = list_builds(case)
    return f"{', or '.join(ways)}; then: windlass env build" if ways else "another kind of GPU (resources.gpu)"
