"""Memory of the node and of the GPU, and processes that were killed without a word."""

import re
from collections.abc import Iterator

from windlass.core.ending.symptoms import JobFacts, Symptoms, set_to
from windlass.core.finding import Diagnosis, Setting
from windlass.core.jobs import JobState
from windlass.core.record import RunState
from windlass.core.units import format_memory

_OOM = re.compile(
    r"oom[-_]kill event|\bOOM Killed\b|cgroup out-of-memory handler|Out Of Memory$|"
    r"DataLoader worker \(pid\(?s?\)? [\d, ]+\) (?:is killed by signal: Killed|exited unexpectedly: Killed)|"
    r"Exceeded (?:job|step) memory limit|(?<![A-Za-z])(?:_Array)?MemoryError(?::|$)",
    re.MULTILINE,
)
_GPU = re.compile(
    r"CUDA out of memory|CUDA error: out of memory|HIP out of memory|RESOURCE_EXHAUSTED: Out of memory|"
    r"CUBLAS_STATUS_ALLOC_FAILED|failed to allocate memory on (?:the )?GPU"
)
_SHM = re.compile(
    r"killed by signal: Bus error|insufficient shared memory|No space left on device: '/dev/shm|"
    r"unable to (?:open|write|mmap|allocate) (?:(?!unable to )[^\n])*shared memory (?:object|file)"
)
_KILLED_TASK = re.compile(
    r"^srun: error: [^\n]*: (?:Killed|task \d+: Killed)|Signal 9 \(SIGKILL\) received by PID|exitcode\s*: -9\b|"
    r"(?:line \d+: +\d+|\) -) +Killed\b",
    re.MULTILINE,
)
_CRASHED_TASK = re.compile(
    r"Segmentation fault|Signal 11 \(SIGSEGV\) received|Fatal Python error: \w+|Illegal instruction|"
    r"Floating point exception"
)
_CRASHES = {
    132: "it used an instruction this CPU does not have: built for another or newer processor",
    134: "it gave up by itself (abort): the lines before say why",
    136: "it divided by zero, or the like, in compiled code",
    139: "it touched memory that is not its own (segmentation fault): often two libraries that do not fit together",
}
_BUS_ERROR, _KILLED = 135, 137
_NEARLY = 0.9
_FAR_BELOW = 0.5


def host_memory(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The job used more memory of the node (not of the GPU) than it asked for, and was killed.

    Ask for more, or use fewer data-loading workers: each holds a copy of what it loads. Slurm samples the use, so the
    figure it shows can be far below the peak.
    """
    if symptoms.record.state in (RunState.DONE, RunState.RUNNING, RunState.WAITING, RunState.NOT_SUBMITTED):
        return  # a worker was killed, and the training goes on without it
    line = symptoms.stuck(_OOM)
    if line is None and not _slurm_says_so(symptoms) and not _was_at_the_limit(symptoms):
        return
    yield Diagnosis(
        code="D201",
        message="it ran out of the memory it had asked for on the node",
        evidence=tuple(part for part in (line, _tell_use(symptoms)) if part),
        hint="more memory, or fewer data-loading workers",
        patch=_more_memory(symptoms),
    )


def gpu_memory(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The model, its activations and the batch did not fit into the GPU's memory.

    A smaller batch with gradient accumulation, mixed precision, or a GPU with more memory.
    """
    if line := symptoms.fatal(_GPU):
        larger = _larger_gpu(symptoms)
        yield Diagnosis(
            code="D202",
            message="the GPU's memory was too small",
            evidence=(line,),
            hint="a smaller batch, mixed precision, or a larger GPU: [resources] gpu",
            patch=(set_to("resources.gpu", larger),) if larger else (),
        )


def shared_memory(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """Data-loading workers ran out of /dev/shm, which counts towards the job's memory.

    In a container /dev/shm may be tiny: bind the node's. Fewer workers, or
    torch.multiprocessing.set_sharing_strategy("file_system"), need less of it.
    """
    line = symptoms.fatal(_SHM)
    if line is None and _find_code(symptoms) != _BUS_ERROR:
        return
    yield Diagnosis(
        code="D208",
        message="the data loader's workers ran out of shared memory",
        evidence=(line,) if line else ("it was ended by a bus error (exit code 135)",),
        hint="fewer workers, or more memory; in a container bind /dev/shm",
        patch=_more_memory(symptoms),
    )


def memory_nearly_full(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """A run uses nearly all the memory it asked for on a node: a little more, and it is killed. Files in the cache
    do not count.
    """
    for node in symptoms.gauges:
        if symptoms.record.state is RunState.RUNNING and _is_nearly_full(node.memory_mb, node.limit_mb):
            yield Diagnosis(
                code="D214",
                message=f"it uses {node.memory_mb:.0f} MB of the {node.limit_mb:.0f} MB it asked for on {node.node}",
                hint="fewer data-loading workers, or more memory for the next run",
                patch=_more_memory(symptoms),
            )
            return


def killed(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """A process was killed with signal 9 and nobody says why: mostly memory, sometimes an administrator.

    Where the site does not limit memory by cgroups, the node's own kernel kills the largest process.
    """
    if symptoms.record.state is not RunState.FAILED or any(host_memory(symptoms)):
        return
    line = symptoms.fatal(_KILLED_TASK)
    if line is not None or _find_code(symptoms) == _KILLED:
        yield Diagnosis(
            code="D216",
            message="a process was killed (signal 9) without a word: most often the node's memory was full",
            evidence=tuple(part for part in (line, _tell_use(symptoms)) if part),
            hint="more memory or fewer workers; `dmesg` of the node, which only the centre can read, tells for certain",
            patch=_more_memory(symptoms),
        )


def crashed(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """Compiled code crashed: a segmentation fault, an abort, an instruction the processor does not have.

    A library built for another CPU, CUDA or MPI is the usual cause; PYTHONFAULTHANDLER=1 shows where Python was.
    """
    code = _find_code(symptoms)
    line = symptoms.fatal(_CRASHED_TASK)
    if symptoms.record.state is RunState.FAILED and (code in _CRASHES or line):
        if line and "Illegal instruction" in line:
            code = 132
        yield Diagnosis(
            code="D217",
            message=_CRASHES.get(code or 0, _CRASHES[139]),
            evidence=(line,) if line else (f"exit code {code}",),
            hint="the next run shows where: PYTHONFAULTHANDLER",
            patch=(set_to("run.env.PYTHONFAULTHANDLER", "1"),),
        )


def _slurm_says_so(symptoms: Symptoms) -> bool:
    by_record = symptoms.record.reason == JobState.OUT_OF_MEMORY.value
    return by_record or (symptoms.job is not None and symptoms.job.state is JobState.OUT_OF_MEMORY)


def _was_at_the_limit(symptoms: Symptoms) -> bool:
    """Killed, and the last that was seen of its memory was near the limit."""
    if _find_code(symptoms) != _KILLED:
        return False
    job = symptoms.job
    by_slurm = job is not None and _is_nearly_full(job.used_memory_mb, job.asked_memory_mb)
    return by_slurm or any(one.oom_kills or _is_nearly_full(one.memory_mb, one.limit_mb) for one in symptoms.gauges)


def _is_nearly_full(used: float | None, limit: float | None) -> bool:
    return used is not None and limit is not None and 0 < limit <= used / _NEARLY


def _find_code(symptoms: Symptoms) -> int | None:
    """128 and the signal; the record's, or that of the job."""
    if symptoms.record.state is not RunState.FAILED:
        return None
    if symptoms.record.exit_code is not None:
        return symptoms.record.exit_code
    job = symptoms.job
    return None if job is None else job.exit_code or (128 + job.signal if job.signal else None)


def _tell_use(symptoms: Symptoms) -> str | None:
    job = symptoms.job
    if job is None or job.asked_memory_mb is None:
        return None
    seen = f"; Slurm saw {job.used_memory_mb} MB in one task" if _is_telling(job) else ""
    return f"it had asked for {job.asked_memory_mb} MB a node{seen}"


def _is_telling(job: JobFacts) -> bool:
    """Slurm samples the use: a number far below what was asked for was taken too early and only misleads."""
    tasks_a_node = max(1, (job.tasks or 1) // max(1, job.nodes or 1))
    return (job.used_memory_mb or 0) * tasks_a_node >= (job.asked_memory_mb or 0) * _FAR_BELOW


def _more_memory(symptoms: Symptoms) -> tuple[Setting, ...]:
    """Half as much again, rounded up, as far as a node has it."""
    plan, job = symptoms.plan, symptoms.job
    had = (plan.memory_mb if plan else None) or (job.asked_memory_mb if job else None)
    has_all = plan is not None and plan.memory_mb == 0
    if not had or has_all or (symptoms.site and not symptoms.site.rules.memory_can_be_asked):
        return ()
    step = 1024 if had >= 4096 else 256
    wanted = -(-had * 3 // (2 * step)) * step
    most = _node_memory(symptoms)
    wanted = min(wanted, most) if most else wanted
    return (set_to("resources.memory", format_memory(wanted)),) if wanted > had else ()


def _node_memory(symptoms: Symptoms) -> int | None:
    plan, job = symptoms.plan, symptoms.job
    name = plan.partition if plan else job.partition if job else None
    if name is None:
        return None
    seen = symptoms.facts.partition(name)
    if seen is not None and seen.memory_mb_per_node:
        return seen.memory_mb_per_node
    partition = symptoms.site.partition(name) if symptoms.site else None
    kinds = [symptoms.site.node_type(name) for name in partition.nodes] if symptoms.site and partition else []
    sizes = [kind.memory_gb for kind in kinds if kind is not None and kind.memory_gb]
    return int(max(sizes) * 1024) if sizes else None


def _larger_gpu(symptoms: Symptoms) -> str | None:
    """The kind of the site with the next larger memory."""
    site, plan = symptoms.site, symptoms.plan
    used = site.gpu(plan.gpu_spelled) if site and plan and plan.gpu_spelled else None
    if site is None or used is None or used.memory_gb is None:
        return None
    larger = [one for one in site.gpus if one.memory_gb and one.memory_gb > used.memory_gb]
    return min(larger, key=lambda one: one.memory_gb or 0).name if larger else None
