"""Values for the examples of diagnoses: ends of runs, and how an example is written down."""

from dataclasses import dataclass, replace

from tests.builders import PLAN, RECORD, SITE
from windlass.core.ending.symptoms import RankLog, Symptoms, Waiting, WaitingKind
from windlass.core.record import RunRecord, RunState
from windlass.core.site import GpuKind

FAILED = replace(RECORD, state=RunState.FAILED, exit_code=1)
DONE = replace(RECORD, state=RunState.DONE, exit_code=0)
RUNNING = replace(RECORD, state=RunState.RUNNING, started=1000.0)
WAITING = replace(RECORD, state=RunState.WAITING)
TIMED_OUT = replace(RECORD, state=RunState.OUT_OF_TIME, reason="killed at the end of its time")
REFUSED = replace(RECORD, state=RunState.NOT_SUBMITTED, reason="refused", submissions=())

PLANNED = replace(PLAN, partition="gpu", gpus_per_node=4, gpu_spelled="a100", memory_mb=64 * 1024, cpus_per_task=4)
BIG_SITE = replace(SITE, gpus=(GpuKind(name="a100", memory_gb=40), GpuKind(name="h100", memory_gb=80)))
NO_FILE = "python: can't open file '/code/missing.py': [Errno 2] No such file or directory"


def after(record: RunRecord, *log: str) -> Symptoms:
    return Symptoms(record=record, logs=(RankLog(text="\n".join(("epoch 1", *log))),))


def refused(*said: str) -> Symptoms:
    return Symptoms(record=REFUSED, said="\n".join(said))


def waits(reason: str, kind: WaitingKind, words: str = "told in words") -> Symptoms:
    return Symptoms(
        record=replace(WAITING, reason=reason),
        waiting=Waiting(words=words, kind=kind, hint="windlass ps"),
    )


@dataclass(frozen=True, kw_only=True)
class Example:
    trips: Symptoms
    passes: Symptoms
    says: str
    sets: tuple[tuple[str, str], ...] = ()  # the patch to windlass.toml
