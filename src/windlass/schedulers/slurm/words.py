"""Slurm's words for the states of a job, in ours."""

from windlass.core.jobs import JobState

STATES: dict[str, JobState] = {
    "PENDING": JobState.WAITING,
    "CONFIGURING": JobState.WAITING,  # nodes are being started
    "POWER_UP_NODE": JobState.WAITING,
    "REQUEUE_HOLD": JobState.WAITING,
    "REQUEUE_FED": JobState.WAITING,
    "RESV_DEL_HOLD": JobState.WAITING,
    "SPECIAL_EXIT": JobState.WAITING,
    "RUNNING": JobState.RUNNING,
    "RESIZING": JobState.RUNNING,
    "SIGNALING": JobState.RUNNING,
    "EXPEDITING": JobState.WAITING,  # 25.11: requeued ahead of all others
    "COMPLETING": JobState.ENDING,
    "STAGE_OUT": JobState.ENDING,
    "UPDATE_DB": JobState.ENDING,
    "SUSPENDED": JobState.SUSPENDED,
    "STOPPED": JobState.SUSPENDED,
    "COMPLETED": JobState.DONE,
    "FAILED": JobState.FAILED,
    "LAUNCH_FAILED": JobState.NODE_FAILED,
    "RECONFIG_FAIL": JobState.NODE_FAILED,
    "BOOT_FAIL": JobState.NODE_FAILED,
    "NODE_FAIL": JobState.NODE_FAILED,
    "CANCELLED": JobState.CANCELLED,
    "REVOKED": JobState.CANCELLED,  # another cluster of the federation took it
    "TIMEOUT": JobState.TIMED_OUT,
    "DEADLINE": JobState.TIMED_OUT,
    "OUT_OF_MEMORY": JobState.OUT_OF_MEMORY,
    "PREEMPTED": JobState.PREEMPTED,
    "REQUEUED": JobState.REQUEUED,
}


def read_state(word: str) -> JobState:
    """A word nobody knows is UNKNOWN; the caller keeps the word."""
    # sacct writes `CANCELLED by 1234`, and `CANCELLED+` or `OUT_OF_ME+` where it cuts a column.
    first = (word.split() or [""])[0].upper()
    if first.endswith("+"):
        cut = first.rstrip("+")
        matches = [state for name, state in STATES.items() if len(cut) > 3 and name.startswith(cut)]
        return matches[0] if matches else JobState.UNKNOWN
    return STATES.get(first, JobState.UNKNOWN)


def read_canceller(word: str) -> int | None:
    """The user's number in `CANCELLED by 1234`; None where Slurm does not say."""
    first, _, number = word.strip().partition(" by ")
    return int(number) if first.upper() == "CANCELLED" and number.isdigit() else None


def explain_state(word: str) -> str | None:
    """A sentence for a state as squeue and sacct write it (`PD`, `TIMEOUT`, `CANCELLED by 1234`); None: no state."""
    first = (word.split() or [""])[0].upper().rstrip("+")
    return STATE_WORDS.get(SHORT_STATES.get(first, first))


# What squeue shows in its narrow column.
SHORT_STATES: dict[str, str] = {
    "BF": "BOOT_FAIL",
    "CA": "CANCELLED",
    "CD": "COMPLETED",
    "CF": "CONFIGURING",
    "CG": "COMPLETING",
    "DL": "DEADLINE",
    "F": "FAILED",
    "NF": "NODE_FAIL",
    "OOM": "OUT_OF_MEMORY",
    "PD": "PENDING",
    "PR": "PREEMPTED",
    "R": "RUNNING",
    "RD": "RESV_DEL_HOLD",
    "RF": "REQUEUE_FED",
    "RH": "REQUEUE_HOLD",
    "RQ": "REQUEUED",
    "RS": "RESIZING",
    "RV": "REVOKED",
    "S": "SUSPENDED",
    "SE": "SPECIAL_EXIT",
    "SI": "SIGNALING",
    "SO": "STAGE_OUT",
    "ST": "STOPPED",
    "TO": "TIMEOUT",
}

STATE_WORDS: dict[str, str] = {
    "PENDING": "it waits in the queue; the reason beside it says for what",
    "CONFIGURING": "it has its nodes, and waits until they are ready: started, or rebooted",
    "POWER_UP_NODE": "it has its nodes, and they are being switched on",
    "REQUEUE_HOLD": "it was put back into the queue and is held: scontrol release JOB lets it go",
    "REQUEUE_FED": "another cluster of the federation queues it again",
    "RESV_DEL_HOLD": "the reservation it was meant for is gone, and it is held",
    "SPECIAL_EXIT": "it was put back into the queue with a mark that it ended in a special way, and is held",
    "RUNNING": "it runs",
    "RESIZING": "it runs, and its number of nodes is being changed",
    "SIGNALING": "it runs, and is being sent a signal",
    "EXPEDITING": "it was put back into the queue ahead of all others",
    "COMPLETING": "its processes end and its nodes are being cleaned up; minutes mean a file system that hangs",
    "STAGE_OUT": "it has ended, and its files are being brought out of the burst buffer",
    "UPDATE_DB": "it has ended, and accounting is being told",
    "SUSPENDED": "it is stopped and its CPUs are lent to others; it goes on later",
    "STOPPED": "it is stopped and keeps its CPUs; it goes on later",
    "COMPLETED": "it ended with exit code 0",
    "FAILED": "it ended with an exit code that is not 0, or could not be started",
    "LAUNCH_FAILED": "a node could not start it",
    "RECONFIG_FAIL": "a node could not be prepared for it",
    "BOOT_FAIL": "a node did not boot for it",
    "NODE_FAIL": "one of its nodes died or lost its network: nothing is wrong with the job",
    "CANCELLED": "you or an administrator cancelled it; sacct names the number of the user",
    "REVOKED": "another cluster of the federation took it",
    "TIMEOUT": "it reached its time limit and was killed",
    "DEADLINE": "its deadline passed before it could end",
    "OUT_OF_MEMORY": "it used more memory of the node than it had asked for, and was killed",
    "PREEMPTED": "a job of higher priority took its nodes",
    "REQUEUED": "this life of it ended and it was put back into the queue",
}
