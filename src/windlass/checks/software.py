"""Whether the software fits the machine: PyTorch's build, the driver, glibc, the processor."""

import re
from collections.abc import Iterator
from functools import partial

from windlass.core.case import Case
from windlass.core.finding import Finding, Severity
from windlass.core.run import BuildPlace
from windlass.core.source.gpu_advice import list_builds, list_places, soften
from windlass.core.source.gpu_builds import (
    FIRST_FOR_GPUS_ON_ARM,
    NEEDS_GLIBC_2_28,
    find_first_working,
    find_oldest_driver,
    format_capability,
    has_kernels,
    runs_on,
)
from windlass.core.source.pins import read_version
from windlass.core.source.reach import look_at_code
from windlass.core.source.software import (
    Torch,
    find_gpu_kinds,
    find_machine,
    find_node_types,
    find_torch,
    find_torch_version,
)
from windlass.core.source.wanted import find_listed, find_wanted

_ARCHITECTURES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64", "ppc64le": "ppc64le"}
_LONGEST_NAME = 300
_TURING, _AMPERE = 75, 80


def torch_has_no_kernels(case: Case) -> Iterator[Finding]:
    """The PyTorch that is asked for holds no code for this GPU.

    Each build is made for some GPU architectures; the older ones were dropped one after another, and new GPUs need
    new builds. The training would stop at its first operation on the GPU with:
    CUDA error: no kernel image is available for execution on the device.
    """
    torch = find_torch(case)
    if torch is None or not case.plan.gpus_per_node:
        return
    if torch.is_for_processors:
        yield _make_for_processors(torch)
        return
    if not torch.is_exact:
        return
    kinds = find_gpu_kinds(case)
    for kind, capability in kinds:
        if has_kernels(torch.build, capability) is False:
            found = _make_no_kernels(case, "C306", torch, kind, capability)
            works = [name for name, one in kinds if has_kernels(torch.build, one)]
            yield soften(case, found, works[-1]) if works else found
            return


def torch_may_have_no_kernels(case: Case) -> Iterator[Finding]:
    """PyTorch is asked for without a version, and the newest one holds no code for this GPU. See C306."""
    torch = find_torch(case)
    if torch is None or torch.is_exact or torch.is_for_processors or not case.plan.gpus_per_node:
        return
    for kind, capability in find_gpu_kinds(case):
        if has_kernels(torch.build, capability) is False:
            yield _make_no_kernels(case, "C307", torch, kind, capability)
            return


def driver_is_too_old(case: Case) -> Iterator[Finding]:
    """PyTorch's CUDA needs a newer driver than the nodes have.

    It would say: The NVIDIA driver on your system is too old. A driver runs every CUDA of its own major version.
    """
    torch = find_torch(case)
    cuda = torch.build.cuda if torch else None
    if torch is None or cuda is None or not case.plan.gpus_per_node:
        return
    software = case.site.software
    if runs_on(torch.build, driver=software.driver, cuda=software.cuda):
        return
    if software.driver:
        said = f"the driver of {case.site.name} is {software.driver}"
        wants = f"needs {find_oldest_driver(cuda)} or newer"
    else:
        said = f"the driver of {case.site.name} runs CUDA up to {software.cuda}"
        wants = "is newer"
    yield Finding(
        code="C308",
        severity=Severity.ERROR if torch.is_exact else Severity.WARNING,
        message=f"{said}; CUDA {cuda} of torch {torch.build.name} {wants}",
        hint=", or ".join((*list_builds(case), "the site's module")),
        fact=f"software.driver of {case.site.name}",
        where=torch.where,
    )


def torch_has_no_wheel(case: Case) -> Iterator[Finding]:
    """PyPI has wheels of PyTorch for x86_64 and aarch64, and none for ppc64le.

    pip would say: No matching distribution found for torch. Centres with such nodes have it as a module, or in a
    channel of conda's or a container.
    """
    torch = find_torch(case)
    if torch is None or not torch.has_no_wheel:
        return
    yield Finding(
        code="C316",
        severity=Severity.ERROR if find_listed(case) is not None else Severity.WARNING,
        message=f"{torch.pin.text}: PyPI has no wheel of torch for the ppc64le nodes of {case.plan.partition}",
        hint=f"windlass modules find PyTorch --on {case.site.name}; or conda, or a container, in [environment]",
        fact=f"node.architecture of {case.site.name}",
        where=torch.where,
    )


def processor_is_another(case: Case) -> Iterator[Finding]:
    """Programs, environments and containers run only on the kind of processor they were made for.

    On another one: cannot execute binary file: Exec format error.
    """
    nodes = {one.architecture for one in find_node_types(case)}
    if len(nodes) != 1:
        return
    (node,) = nodes
    named = _find_named_architecture(case, node)
    wrong = [one for one in case.code.binaries if one.architecture != node]
    fits = any(one.architecture == node for one in case.code.binaries)
    severity = Severity.ERROR
    if named:
        message = named
    elif wrong and not fits:
        more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        message = f"{wrong[0].path}{more} is made for {wrong[0].architecture}"
    elif built := _find_built_for_another(case, node):
        message = built
    elif case.facts.architecture not in (None, node) and (made := _find_made_at_login(case)):
        severity = Severity.WARNING
        message = f"login nodes are {case.facts.architecture}: an environment made there ({made}) does not run"
    else:
        return
    yield Finding(
        code="C309",
        severity=severity,
        message=f"{message}; nodes of {case.plan.partition} are {node}",
        hint=_advise_node(case),
        fact=f"node.architecture of {case.site.name}",
    )


def glibc_is_too_old(case: Case) -> Iterator[Finding]:
    """PyPI's PyTorch from 2.7 on needs glibc 2.28 (RHEL 8, Debian 10), and the site has an older one.

    pip would say: No matching distribution found; an import: version `GLIBC_2.27' not found.
    """
    torch = find_torch(case)
    has = read_version(case.facts.glibc or "")
    if torch is None or not has or has >= (2, 28) or torch.is_conda or case.spec.environment.container:
        return
    if torch.build.version[:2] >= NEEDS_GLIBC_2_28 and not torch.is_from_house:
        yield Finding(
            code="C310",
            severity=Severity.ERROR if torch.is_exact else Severity.WARNING,
            message=f"torch {torch.build.name} needs glibc 2.28; {case.site.name} has {case.facts.glibc}",
            hint='"torch<2.7", or a container',
            fact="ldd --version at the login node",
            where=torch.where,
        )


def tf32_changes_results(case: Case) -> Iterator[Finding]:
    """From Ampere on GPUs can round 32-bit numbers to 19 bits (TF32): much faster, less exact.

    PyTorch 1.7 to 1.11 does so by default. From 1.12 on it does for convolutions only, and not for products of
    matrices: those are slower than they could be.
    """
    version = find_torch_version(case)
    capabilities = [capability for _, capability in find_gpu_kinds(case)]
    if version is None or not capabilities or min(capabilities) < 80 or not case.plan.gpus_per_node:
        return
    names = {name for file in look_at_code(case).python for name in file.module.words}
    if {"allow_tf32", "set_float32_matmul_precision", "fp32_precision"} & names or not look_at_code(case).python:
        return  # it is decided already, or nothing is known
    shown = ".".join(map(str, version))
    if (1, 7) <= version[:2] <= (1, 11):
        message = f"torch {shown} rounds to TF32 on this GPU by default: faster, less exact"
        lines = "torch.backends.cuda.matmul.allow_tf32 = False\ntorch.backends.cudnn.allow_tf32 = False"
    elif version[:2] >= (1, 12):
        message = f"torch {shown} does not use TF32 for products of matrices on this GPU unless told: slower, exact"
        lines = "torch.backends.cuda.matmul.allow_tf32 = True\ntorch.backends.cudnn.allow_tf32 = True"
    else:
        return
    yield Finding(code="C311", severity=Severity.ADVICE, message=message, hint=lines)


def torch_is_known_to_fail(case: Case) -> Iterator[Finding]:
    """PyTorch 1.10 may fail without a pattern with DistributedDataParallel; centres advise against it."""
    version = find_torch_version(case)
    if version is None or version[:2] != (1, 10):
        return
    for file, call in look_at_code(case).calls():
        if call.name.endswith("DistributedDataParallel"):
            yield Finding(
                code="C312",
                severity=Severity.WARNING,
                message=f"torch {'.'.join(map(str, version))} may fail with DistributedDataParallel",
                hint='"torch==1.11.0" or newer, or 1.9',
                where=file.where(call.line),
            )
            return


def container_sees_no_gpu(case: Case) -> Iterator[Finding]:
    """Apptainer and Singularity show the GPUs inside only with --nv (NVIDIA) or --rocm (AMD)."""
    if not case.plan.gpus_per_node:
        return
    for script in look_at_code(case).shell:
        for command in script.commands:
            at = next((at for at, word in enumerate(command.words) if _is_container_tool(word)), None)
            rest = command.words[at + 1 :] if at is not None else ()
            if not {"exec", "run", "shell"} & set(rest[:3]) or {"--nv", "--rocm", "--nvccli"} & set(rest):
                continue
            yield Finding(
                code="C313",
                severity=Severity.WARNING,
                message=f"{command.words[at or 0]} {rest[0]} without --nv: the program inside sees no GPU",
                hint=f"{command.words[at or 0]} {rest[0]} --nv …",
                where=script.where(command.line),
            )
            return


def flash_attention_needs_ampere(case: Case) -> Iterator[Finding]:
    """FlashAttention 2 runs on GPUs from Ampere on (A100, A40, RTX 30), and version 1 on Turing as well.

    It would say: FlashAttention only supports Ampere GPUs or newer.
    PyTorch's own scaled_dot_product_attention runs everywhere.
    """
    wanted = next(_find_flash_attention(case), None)
    kinds = [(kind, capability) for kind, capability in find_gpu_kinds(case) if capability < _AMPERE]
    if wanted is None or not kinds or not case.plan.gpus_per_node:
        return
    where, what, oldest = wanted
    kind, capability = kinds[0]
    if capability < oldest:
        yield Finding(
            code="C314",
            severity=Severity.WARNING,
            message=f"{what} needs a GPU of {format_capability(oldest)} or newer; the {kind} "
            f"is {format_capability(capability)}",
            hint='attn_implementation="sdpa", or torch.nn.functional.scaled_dot_product_attention',
            fact=f"gpu.{kind}.capability of {case.site.name}",
            where=where,
        )


def _find_flash_attention(case: Case) -> Iterator[tuple[str, str, int]]:
    """Where it is asked for, as what, and the oldest GPU that it runs on."""
    for file, call in look_at_code(case).calls():
        named = file.module.find_constant(call.keyword("attn_implementation", "_attn_implementation"))
        if named == "flash_attention_2" or file.module.find_constant(call.keyword("use_flash_attention_2")) is True:
            yield file.where(call.line), "flash_attention_2", _AMPERE
    for pin in find_wanted(case, ("flash-attn",), find_machine(case)):
        bound = pin.newest or (3,)
        is_first = (pin.exact or bound) < (2,) or (pin.exact is None and bound <= (2,))
        yield pin.where, pin.text, _TURING if is_first else _AMPERE


def _make_for_processors(torch: Torch) -> Finding:
    if torch.pin.build == "cpu":
        which, hint = "the build for CPUs", "leave +cpu out, and the index of the CPU builds"
        hint = "a build with cuda in its name, then a new lock" if torch.is_conda else hint
    else:
        first = ".".join(map(str, FIRST_FOR_GPUS_ON_ARM))
        which = f"on {torch.machine} a build for CPUs: PyPI has others there from {first} on"
        hint = f'"torch>={first}", the site\'s module, or a container'
    return Finding(
        code="C306",
        severity=Severity.WARNING,
        message=f"{torch.pin.text} is {which}, and the run asks for GPUs",
        hint=hint,
        where=torch.where,
    )


def _make_no_kernels(case: Case, code: str, torch: Torch, kind: str, capability: int) -> Finding:
    wheels = (gpu.wheels if (gpu := case.site.gpu(kind)) else None) or None
    # The site names builds of somebody's for this GPU: those may be meant.
    is_sure = torch.is_exact and wheels is None
    held = torch.build.kernels
    holds = f"; it has {', '.join(format_capability(one) for one in held)}" if held and not torch.is_conda else ""
    taken = "" if torch.is_exact else f", which pip takes for {torch.pin.text!r},"
    return Finding(
        code=code,
        severity=Severity.ERROR if is_sure else Severity.WARNING,
        message=f"torch {torch.build.name}{taken} has no kernels for the {kind} "
        f"({format_capability(capability)}){holds}",
        hint=_advise_build(case, capability, torch, wheels),
        fact=f"gpu.{kind}.capability of {case.site.name}, and the architectures in PyTorch's wheels",
        where=torch.where,
    )


def _advise_build(case: Case, capability: int, torch: Torch, wheels: str | None) -> str | None:
    """The newest release that works on an old GPU, the oldest on a new one; or another place."""
    held = torch.build.kernels
    if held and capability > max(held):
        first = find_first_working(capability)
        ways = [f'"torch>={first.name}"'] if first else []
    else:
        ways = [*list_builds(case), *([f"a build for it: {wheels}"] if wheels else [])]
    return ", or ".join((*ways, *list_places(case, partial(has_kernels, torch.build)))) or None


def _find_named_architecture(case: Case, node: str) -> str | None:
    """Something of the run whose very name says that it is made for another processor."""
    texts = {f"environment.{kind}": text for kind, text in case.spec.environment.entered.items()}
    texts["run.command"] = case.spec.command
    texts |= {one.path: one.text for one in case.code.files if one.path.endswith("requirements.txt")}
    for where, text in texts.items():
        words = text.split()
        for word in words if not where.endswith(".txt") else (one for one in words if one.endswith(".whl")):
            word = word[-_LONGEST_NAME:]
            found = {
                meant for name, meant in _ARCHITECTURES.items() if re.search(rf"(?<![a-z0-9]){name}", word.lower())
            }
            if found and node not in found:
                return f"{where} names {word!r}, made for {found.pop()}"
    return None


def _find_built_for_another(case: Case, node: str) -> str | None:
    built = case.environment.built if case.environment is not None else None
    if built is None or built.platform in ("", node):
        return None
    return f"{built.id} was built on {built.platform}"


def _find_made_at_login(case: Case) -> str | None:
    """None: there is none, or it was or will be built on a node."""
    wanted = case.spec.environment
    is_built = case.environment is not None and case.environment.built is not None
    if is_built or wanted.build is not BuildPlace.LOGIN:
        return None
    return next(iter(wanted.entered.values()), None)


def _advise_node(case: Case) -> str:
    seen, partition = case.environment, case.plan.partition
    if seen is None or seen.recipe.existing is not None or seen.is_left_out:
        return f"another partition, or an environment made on a node of this one: srun -p {partition} --pty bash"
    if case.spec.resources.partition is None:
        return f'[resources]\npartition = "{partition}"\n[environment]\nbuild = "job"'
    again = "--again " if seen.built is not None else ""
    return f"windlass env build {again}--as-job --on {case.site.name}   # on a node of {partition}"


def _is_container_tool(word: str) -> bool:
    return word.rpartition("/")[2] in {"apptainer", "singularity"}
