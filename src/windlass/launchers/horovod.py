"""Horovod on Gloo: one task of srun for each process. horovodrun itself goes over ssh to the other nodes."""

import re
from collections.abc import Mapping

from windlass.core.launch import Launcher, Sight
from windlass.core.plan import Plan
from windlass.errors import PlanError
from windlass.launchers.seeing import find_sign
from windlass.launchers.tasks import make_task, start_tasks

_BEGIN = re.compile(r"\s*(?:\S*/)?horovodrun\s+")
# What Windlass says itself: how many, where, and over which network.
_OURS = re.compile(
    r"\s*(?:\S*/)?horovodrun\s+"
    r"(?:(?:(?:-np|--num-proc|-H|--hosts|-hostfile|--hostfile|--network-interfaces?|-p|--ssh-port)(?:\s+|=)\S+"
    r"|--gloo|--verbose|--disable-cache)\s+)*(?=[^-\s])"
)


def make_argv(plan: Plan) -> tuple[str, ...]:
    return start_tasks(plan, make_task(plan, _without_horovodrun(plan.command)), world="horovod")


def _without_horovodrun(command: str) -> str:
    """`horovodrun -np 8 -H a:4,b:4 python train.py` -> `python train.py`"""
    if not _BEGIN.match(command):
        return command
    if not _OURS.match(command):
        raise PlanError(
            f"the launcher horovod knows -np, -H and --gloo of horovodrun, not all of {command[:200]!r}",
            hint='write the program alone, and HOROVOD_… in [run.env]; for --mpi: [run] launcher = "mpi"',
        )
    return _OURS.sub("", command, count=1)


def make_env(plan: Plan) -> Mapping[str, str]:
    return {"HOROVOD_GLOO_IFACE": plan.interface} if plan.interface and plan.nodes > 1 else {}


def recognise(sight: Sight) -> str | None:
    return find_sign(sight, r"horovod\.(?:\w+\.)+init", starter="horovodrun")


HOROVOD = Launcher(
    name="horovod",
    summary="for hvd.init(): one process a GPU over Gloo and NCCL, started by srun; with MPI instead: mpi",
    task_for_each_process=True,
    recognise=recognise,
    make_argv=make_argv,
    make_env=make_env,
)
