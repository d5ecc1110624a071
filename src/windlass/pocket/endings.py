"""How a run of a job went: the state and exit code that are written down. Pure."""

from dataclasses import dataclass

from windlass.pocket.model import State
from windlass.pocket.watch import Cause, Outcome


@dataclass(frozen=True, kw_only=True)
class Ending:
    state: State
    exit_code: int = 0
    exit_signal: int = 0
    reason: str = "None"


def job_ending(returncode: int, outcome: Outcome) -> Ending:
    """Of the whole job."""
    if outcome.cause is Cause.TIME:
        return Ending(state=State.TIMEOUT, reason="TimeLimit")
    if outcome.cause is Cause.CANCEL:
        return Ending(state=State.CANCELLED)
    if outcome.cause is Cause.REQUEUE:
        return Ending(state=State.REQUEUED)
    if outcome.is_out_of_memory:
        return Ending(state=State.OUT_OF_MEMORY, exit_signal=125, reason="OutOfMemory")
    if returncode == 0:
        return Ending(state=State.COMPLETED)
    code, number = split_status(returncode)
    return Ending(state=State.FAILED, reason="NonZeroExitCode", exit_code=code, exit_signal=number)


def batch_ending(returncode: int, outcome: Outcome) -> Ending:
    """Of the batch step: a job that was stopped has a step that was cancelled."""
    if outcome.cause is not None:
        code, number = split_status(returncode)
        return Ending(state=State.CANCELLED, exit_code=code, exit_signal=number)
    return job_ending(returncode, outcome)


def split_status(returncode: int) -> tuple[int, int]:
    """Popen's return code as Slurm's pair of exit code and signal."""
    return max(returncode, 0), max(-returncode, 0)
