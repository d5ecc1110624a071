"""MPI: srun with the interface that the site's Slurm and the program's MPI both speak; it is found in the job."""

import re
from collections.abc import Mapping

from windlass.core.launch import Launcher, Sight
from windlass.core.plan import Plan
from windlass.errors import PlanError
from windlass.launchers.seeing import find_call, find_starter
from windlass.launchers.tasks import make_task, start_tasks
from windlass_job import wire

_BEGIN = re.compile(r"\s*(?:\S*/)?(?:mpirun|mpiexec)\s+")
# What Windlass says itself: how many processes, and where.
_OURS = re.compile(
    r"\s*(?:\S*/)?(?:mpirun|mpiexec)\s+"
    r"(?:(?:(?:-n|-np|--np|-c|-N|-ppn|--npernode|-H|--host|-hostfile|--hostfile|--map-by|--bind-to)(?:\s+|=)\S+"
    r"|--oversubscribe)\s+)*(?=[^-\s])"
)
_PYTHON = re.compile(r"(?<![\w./-])(?:[\w./-]*/)?python[\d.]*(?=\s)")


def make_argv(plan: Plan) -> tuple[str, ...]:
    command = _without_mpirun(plan.command)
    python = _PYTHON.search(command)
    return (
        *(plan.python, "-I", f"{plan.folder}/{wire.JOB_ZIP}", wire.MPI, "--processes", str(plan.processes)),
        *(("--try-with", python[0]) if python else ()),
        "--",
        *start_tasks(plan, make_task(plan, command), world="mpi"),
    )


def _without_mpirun(command: str) -> str:
    """`mpirun -np 8 ./simulate` -> `./simulate`"""
    if not _BEGIN.match(command):
        return command
    if not _OURS.match(command):
        raise PlanError(
            f"the launcher mpi knows -n, --host and --map-by of mpirun, not all of {command[:200]!r}",
            hint="write the program alone, and what its MPI reads from the environment in [run.env]",
        )
    return _OURS.sub("", command, count=1)


def make_env(plan: Plan) -> Mapping[str, str]:
    """Of Open MPI, where it goes over plain TCP."""
    return {"OMPI_MCA_btl_tcp_if_include": plan.interface} if plan.interface and plan.nodes > 1 else {}


def recognise(sight: Sight) -> str | None:
    starter = find_starter(sight)
    if starter is None:
        return find_call(sight, r"mpi4py\.(?:\w+\.)*\w+") or _find_import(sight)
    return f"the command begins with {starter}" if starter in ("mpirun", "mpiexec") else None


def _find_import(sight: Sight) -> str | None:
    """`comm = MPI.COMM_WORLD; comm.Get_rank()` shows no call of mpi4py's."""
    for file in sight.reached.python:
        if any(module.partition(".")[0] == "mpi4py" for level, module, _ in file.module.imports if not level):
            return f"{file.path} imports mpi4py"
    return None


MPI = Launcher(
    name="mpi",
    summary="for MPI: one process a GPU, started by srun --mpi=…, whichever the site and the program both have",
    task_for_each_process=True,
    recognise=recognise,
    make_argv=make_argv,
    make_env=make_env,
)
