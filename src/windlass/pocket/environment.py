"""The SLURM_* variables of jobs and tasks. Pure."""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from windlass.pocket.hostlist import fold
from windlass.pocket.model import Job
from windlass.pocket.processes import MARKER

CLUSTER = "pocket"
_INHERITED = ("SLURM_", "SLURMD_", "SRUN_")
_KEPT = ("SLURM_CONF", "SLURM_TIME_FORMAT")
_IN_JOBS = ("srun", "sbatch", "squeue", "scancel", "scontrol", "sacct", "sinfo")
_PLAIN_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
_LOGIN = ("HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM")


@dataclass(frozen=True, kw_only=True)
class Ground:
    """Where a job stands on this machine."""

    state: str
    bin: str
    node_tmp: Mapping[str, str]
    has_gpus: bool
    cluster: str = CLUSTER
    modules: str = ""  # a file: what `module` was asked for; empty: the system's own `module`, if any


def clean(environment: Mapping[str, str]) -> dict[str, str]:
    """Without what a job around this process had: sbatch inside a job must not inherit it."""
    inside = "SLURM_JOB_ID" in environment
    dropped = (MARKER, "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES") if inside else (MARKER,)
    return {
        name: value
        for name, value in environment.items()
        if name not in dropped and (name in _KEPT or not name.startswith(_INHERITED))
    }


def choose(export: str, environment: Mapping[str, str]) -> dict[str, str]:
    """What --export lets through: ALL, NONE, or names and NAME=value."""
    words = [word for word in _split_export(export) if word]
    chosen = dict(environment) if "ALL" in words or not words else _login(environment)
    for word in words:
        name, has_value, value = word.partition("=")
        if has_value:
            chosen[name] = value
        elif name in environment:
            chosen[name] = environment[name]
    return chosen


def make_job_environment(job: Job, base: Mapping[str, str], ground: Ground) -> dict[str, str]:
    """What the batch script, or a command of salloc, finds."""
    request, names = job.request, fold(job.node_names)
    first = job.layout[0]
    values: dict[str, object] = {
        "SLURM_JOB_ID": job.id,
        "SLURM_JOBID": job.id,
        "SLURM_JOB_NAME": job.name,
        "SLURM_JOB_USER": request.user,
        "SLURM_JOB_UID": request.uid,
        "SLURM_JOB_PARTITION": request.partition,
        "SLURM_JOB_ACCOUNT": request.account or None,
        "SLURM_JOB_QOS": request.qos or None,
        "SLURM_JOB_RESERVATION": request.reservation or None,
        "SLURM_JOB_DEPENDENCY": request.dependency or None,
        "SLURM_JOB_NODELIST": names,
        "SLURM_NODELIST": names,
        "SLURM_JOB_NUM_NODES": len(job.layout),
        "SLURM_NNODES": len(job.layout),
        "SLURM_JOB_CPUS_PER_NODE": count_list(share.cpus for share in job.layout),
        "SLURM_CPUS_ON_NODE": first.cpus,
        "SLURM_TASKS_PER_NODE": count_list(share.tasks for share in job.layout),
        "SLURM_SUBMIT_DIR": request.submit_dir,
        "SLURM_SUBMIT_HOST": request.submit_host,
        "SLURM_CLUSTER_NAME": ground.cluster,
        "SLURM_JOB_START_TIME": None if job.start_at is None else int(job.start_at),
        "SLURM_JOB_END_TIME": _end_time(job),
        "SLURM_RESTART_COUNT": job.restarts or None,
        "SLURM_PRIO_PROCESS": 0,
        **_asked(job),
        **_array(job),
        **_gpus(job, 0, ground),
    }
    environment = dict(base)
    environment.update({name: str(value) for name, value in values.items() if value is not None})
    environment["WINDLASS_POCKET_DIR"] = ground.state
    environment[MARKER] = job.token
    path = environment.get("PATH") or _PLAIN_PATH
    environment["PATH"] = path if path.split(":")[0] == ground.bin else f"{ground.bin}:{path}"
    return environment | _make_functions(ground.bin) | _make_module(ground.modules)


def _make_functions(folder: str) -> dict[str, str]:
    """The programs once more, as functions bash exports: a login shell (`#!/bin/bash -l`) sets PATH anew."""
    return {f"BASH_FUNC_{name}%%": f'() {{ {shlex.quote(f"{folder}/{name}")} "$@"\n}}' for name in _IN_JOBS}


def _make_module(log: str) -> dict[str, str]:
    """`module` as a function that bash passes on: it loads nothing and notes what it was asked for."""
    body = f"() {{ printf '%s\\n' \"$*\" >> {shlex.quote(log)}\n}}"
    return {f"BASH_FUNC_{name}%%": body for name in ("module", "ml")} if log else {}


def make_batch_environment(job: Job, base: Mapping[str, str], ground: Ground) -> dict[str, str]:
    node = job.node_names[0]
    return make_job_environment(job, base, ground) | {
        "ENVIRONMENT": "BATCH",
        "SLURM_NODEID": "0",
        "SLURM_PROCID": "0",
        "SLURM_LOCALID": "0",
        "SLURM_GTIDS": "0",
        "SLURMD_NODENAME": node,
        "SLURM_TOPOLOGY_ADDR": node,
        "SLURM_TOPOLOGY_ADDR_PATTERN": "node",
        "SLURM_EXPORT_ENV": job.request.export,
        "SLURM_TMPDIR": ground.node_tmp[node],
    }


@dataclass(frozen=True, kw_only=True)
class TaskPlace:
    """One task of a step: which of all, on which pretended node."""

    procid: int
    localid: int
    nodeid: int


@dataclass(frozen=True, kw_only=True)
class StepShape:
    step: str
    tasks_per_node: tuple[int, ...]
    cpus_per_task: int | None = None
    gpus_per_task: int | None = None

    @property
    def places(self) -> tuple[TaskPlace, ...]:
        """Tasks in blocks: all of the first node, then all of the second."""
        found: list[TaskPlace] = []
        for nodeid, count in enumerate(self.tasks_per_node):
            found += [
                TaskPlace(procid=len(found) + localid, localid=localid, nodeid=nodeid) for localid in range(count)
            ]
        return tuple(found)


def make_task_environment(
    job: Job, base: Mapping[str, str], ground: Ground, *, shape: StepShape, place: TaskPlace
) -> dict[str, str]:
    """What one task of srun finds on top of what srun itself has."""
    names = job.node_names[: len(shape.tasks_per_node)]
    ntasks, node = sum(shape.tasks_per_node), names[place.nodeid]
    peers = [one.procid for one in shape.places if one.nodeid == place.nodeid]
    values: dict[str, object] = {
        "SLURM_PROCID": place.procid,
        "SLURM_LOCALID": place.localid,
        "SLURM_NODEID": place.nodeid,
        "SLURM_GTIDS": ",".join(map(str, peers)),
        "SLURM_NTASKS": ntasks,
        "SLURM_NPROCS": ntasks,
        "SLURM_NNODES": len(names),
        "SLURM_STEP_ID": shape.step,
        "SLURM_STEPID": shape.step,
        "SLURM_STEP_NODELIST": fold(names),
        "SLURM_STEP_NUM_NODES": len(names),
        "SLURM_STEP_NUM_TASKS": ntasks,
        "SLURM_STEP_TASKS_PER_NODE": count_list(shape.tasks_per_node),
        "SLURM_TASKS_PER_NODE": count_list(shape.tasks_per_node),
        "SLURM_STEP_LAUNCHER_PORT": 0,
        "SLURM_LAUNCH_NODE_IPADDR": "127.0.0.1",
        "SLURM_SRUN_COMM_HOST": "127.0.0.1",
        "SRUN_DEBUG": 3,
        "SLURM_CPUS_PER_TASK": shape.cpus_per_task,
        "SLURM_CPUS_ON_NODE": job.layout[place.nodeid].cpus,
        "SLURM_CPU_BIND": "quiet,mask_cpu:",
        "SLURM_DISTRIBUTION": "block",
        "SLURM_UMASK": base.get("SLURM_UMASK", "0022"),
        "SLURMD_NODENAME": node,
        "SLURM_TOPOLOGY_ADDR": node,
        "SLURM_TOPOLOGY_ADDR_PATTERN": "node",
        "SLURM_TMPDIR": ground.node_tmp[node],
        **_gpus(job, place.nodeid, ground, shape=shape, localid=place.localid),
    }
    return dict(base) | {name: str(value) for name, value in values.items() if value is not None}


def count_list(counts: Iterable[int]) -> str:
    """2,2,1 as `2(x2),1`."""
    words = []
    for count, group in groupby(counts):
        times = len(list(group))
        words.append(str(count) if times == 1 else f"{count}(x{times})")
    return ",".join(words)


def _asked(job: Job) -> dict[str, object]:
    """Variables that are there only when their option was: scripts test for them."""
    request = job.request
    wants_tasks = request.ntasks is not None or request.ntasks_per_node is not None
    memory = job.layout[0].memory_mb
    return {
        "SLURM_NTASKS": job.tasks if wants_tasks else None,
        "SLURM_NPROCS": job.tasks if wants_tasks else None,
        "SLURM_NTASKS_PER_NODE": request.ntasks_per_node,
        "SLURM_CPUS_PER_TASK": request.cpus_per_task,
        "SLURM_CPUS_PER_GPU": request.cpus_per_gpu,
        "SLURM_GPUS": request.gpus,
        "SLURM_GPUS_PER_NODE": request.gpus_per_node,
        "SLURM_GPUS_PER_TASK": request.gpus_per_task,
        "SLURM_MEM_PER_NODE": memory if request.memory_mb is not None else None,
        "SLURM_MEM_PER_CPU": request.memory_per_cpu_mb,
        "SLURM_MEM_PER_GPU": request.memory_per_gpu_mb,
    }


def _array(job: Job) -> dict[str, object]:
    indices = job.request.array_indices
    if job.array_id is None or not indices:
        return {}
    return {
        "SLURM_ARRAY_JOB_ID": job.array_id,
        "SLURM_ARRAY_TASK_ID": job.array_index,
        "SLURM_ARRAY_TASK_COUNT": len(indices),
        "SLURM_ARRAY_TASK_MIN": min(indices),
        "SLURM_ARRAY_TASK_MAX": max(indices),
        "SLURM_ARRAY_TASK_STEP": indices[1] - indices[0] if len(indices) > 1 else 1,
    }


def _gpus(
    job: Job, nodeid: int, ground: Ground, *, shape: StepShape | None = None, localid: int = 0
) -> dict[str, object]:
    mine = job.gpus[nodeid] if nodeid < len(job.gpus) else ()
    if not mine:
        # A real node hides the GPUs that a job was not given; here only this variable can.
        return {"CUDA_VISIBLE_DEVICES": ""} if ground.has_gpus else {}
    all_of_node = ",".join(map(str, mine))
    seen = mine
    if shape and shape.gpus_per_task:
        seen = mine[localid * shape.gpus_per_task : (localid + 1) * shape.gpus_per_task]
    visible = ",".join(map(str, seen))
    return {
        "CUDA_VISIBLE_DEVICES": visible,
        "GPU_DEVICE_ORDINAL": visible,
        "ROCR_VISIBLE_DEVICES": visible,
        "SLURM_GPUS_ON_NODE": len(mine),
        "SLURM_JOB_GPUS": all_of_node,
        "SLURM_STEP_GPUS": all_of_node if shape else None,
    }


def _end_time(job: Job) -> int | None:
    if job.start_at is None or job.time_limit_s is None:
        return None
    return int(job.start_at + job.time_limit_s)


def _login(environment: Mapping[str, str]) -> dict[str, str]:
    kept = {name: environment[name] for name in _LOGIN if name in environment}
    slurm = {
        name: value
        for name, value in environment.items()
        if name.startswith(_INHERITED) or name in (MARKER, "WINDLASS_POCKET_DIR")
    }
    return kept | slurm | {"PATH": _PLAIN_PATH}


def _split_export(export: str) -> list[str]:
    """Words at commas that are outside of quotes."""
    words, quote = [""], ""
    for letter in export:
        if quote:
            quote = "" if letter == quote else quote
            words[-1] += "" if not quote else letter
        elif letter in "\"'":
            quote = letter
        elif letter == ",":
            words.append("")
        else:
            words[-1] += letter
    return words
