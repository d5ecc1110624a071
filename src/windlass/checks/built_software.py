"""Whether what was built fits the GPUs: by what the environment itself says, not by a table."""

from collections.abc import Iterator, Sequence

from windlass.checks.conda_solving import ANY_CUDA
from windlass.core.case import Case
from windlass.core.environment import Built
from windlass.core.finding import Finding, Severity
from windlass.core.source.gpu_advice import list_builds, list_places, soften
from windlass.core.source.gpu_builds import code_runs_on, format_capability
from windlass.core.source.software import find_gpu_kinds

_NAME_ANOTHER = "name a build with CUDA in the requirements, then: windlass env build"


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
        works = [kind for kind, capability in kinds if not code or code_runs_on(code, capability)]
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
        hint=_advise(case, framework, capability, built.gpu_code[framework]),
        fact=f"gpu_code in env.json of {built.id} at {case.site.name}",
    )


def environment_is_for_processors_only(case: Case) -> Iterator[Finding]:
    """GPUs are asked for, and the environment was built with a framework that cannot use any.

    The training would run on the processors, many times slower, and the GPUs would stand idle.
    """
    built = case.environment.built if case.environment is not None else None
    if built is None or not case.plan.gpus_per_node:
        return
    found = next(_list_for_processors(built), None)
    if found:
        yield Finding(
            code="C324",
            severity=Severity.WARNING,
            message=f"{found} in {built.id} is the build for processors, and the run asks for GPUs",
            hint=_advise_conda(case) if case.spec.environment.conda else _NAME_ANOTHER,
            fact=f"packages in env.json of {built.id} at {case.site.name}",
        )


def _list_for_processors(built: Built) -> Iterator[str]:
    packages = built.packages
    torch = packages.get("torch", "")
    if torch.endswith("+cpu"):
        yield f"torch {torch}"
    if "tensorflow-cpu" in packages:
        yield "tensorflow-cpu"
    for name, made in sorted(built.made_for.items()):
        if not made and not built.gpu_code.get(name):
            yield f"{name} {packages.get(name, '')}".strip()


def _advise_conda(case: Case) -> str:
    known = case.site.software.cuda
    solve = f'cuda = "{ANY_CUDA}" under [software] of the site file: a solver that sees no GPU needs it'
    return f"{f'cuda-version={known} in its list' if known else solve}; then: windlass env build --again"


def _advise(case: Case, framework: str, capability: int, code: Sequence[str]) -> str:
    places = ", or ".join(list_places(case, lambda one: code_runs_on(code, one)))
    if framework != "torch":
        another = places or "another kind of GPU (resources.gpu)"
        return f"a release of {framework} with code for sm_{capability}, or {another}"
    ways = [f"{', or '.join(builds)}; then: windlass env build"] if (builds := list_builds(case)) else []
    return ", or ".join([*ways, places] if places else ways) or "another kind of GPU (resources.gpu)"
