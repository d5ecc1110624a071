"""Slurm's words for states and for reasons to wait, in ours."""

import re

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


def explain_reason(reason: str | None) -> tuple[str, str | None]:
    """Why a job waits, in a sentence, and what one can do. A reason nobody knows is shown as it is."""
    word = (reason or "").strip().strip("()")
    exact = _REASONS.get(word)
    if exact is not None:
        return exact
    for pattern, sentence, hint in _PATTERNS:
        match = pattern.match(word)
        if match:
            return sentence.format(**{name: text or "" for name, text in match.groupdict().items()}).strip(), hint
    return (f"Slurm says: {word}", None) if word else ("Slurm gives no reason yet", None)


_LESS = "ask for less, or wait until other jobs of yours end"
_NEVER = "it will never start like this: cancel it, and ask for what the partition allows"

_REASONS: dict[str, tuple[str, str | None]] = {
    "None": ("it has just been submitted; Slurm has not looked at it yet", None),
    "Priority": ("other jobs are before it in the queue", "shorter and smaller jobs start earlier"),
    "Resources": ("it is next in line and waits for nodes to become free", None),
    "Dependency": ("it waits for another job to end", None),
    "DependencyNeverSatisfied": (
        "the job it waits for ended in a way that it did not wish for, so it will never start",
        "cancel it",
    ),
    "JobArrayTaskLimit": ("the links of a run go one after the other: the one before it is not over", None),
    "BeginTime": (
        "it may not start before its begin time; after a requeue that is two minutes",
        "scontrol update jobid=ID StartTime=now",
    ),
    "JobHeldUser": ("you hold it", "scontrol release ID"),
    "JobHeldAdmin": ("an administrator holds it", "ask the centre's support"),
    "PartitionTimeLimit": ("it asks for more time than the partition allows", _NEVER),
    "PartitionNodeLimit": ("it asks for more or fewer nodes than the partition allows", _NEVER),
    "PartitionConfig": ("it asks for more than the partition can ever give", _NEVER),
    "PartitionDown": ("the partition is down: maintenance, or a fault", "wait, or choose another partition"),
    "PartitionInactive": ("the partition takes no jobs now", "wait, or choose another partition"),
    "BadConstraints": ("no node is like what it asks for", _NEVER),
    "Reservation": ("it waits for its reservation to begin", None),
    "ReservationDeleted": ("the reservation it was meant for is gone", "cancel it and submit without it"),
    "Licenses": ("it waits for a license", None),
    "Prolog": ("its nodes are being prepared", None),
    "Cleaning": ("its earlier life is still being cleaned up", None),
    "NodeDown": ("a node it needs is down", "wait, or do not ask for that node"),
    "FrontEndDown": ("no front end of the machine is up", None),
    "InvalidAccount": ("its account is not, or no longer, valid", "choose another account"),
    "InvalidQOS": ("its QOS is not, or no longer, valid", "choose another QOS"),
    "AccountNotAllowed": ("the partition does not take this account", "choose another account or partition"),
    "QOSNotAllowed": ("the account or partition does not take this QOS", "choose another QOS"),
    "QOSUsageThreshold": ("the QOS asks for a better fair share than yours", "choose another QOS"),
    "DeadLine": ("it cannot end before its deadline any more", "cancel it"),
    "SchedDefer": ("Slurm puts off all jobs for a moment", None),
    "AssociationJobLimit": ("you have as many jobs as your account may run", _LESS),
    "AssociationResourceLimit": ("your account's resources are all in use", _LESS),
    "AssociationTimeLimit": ("your account has used up its time", "choose another account"),
    "QOSJobLimit": ("the QOS has as many jobs as it may run", _LESS),
    "QOSResourceLimit": ("the QOS's resources are all in use", _LESS),
    "QOSTimeLimit": ("the QOS has used up its time", "choose another QOS"),
    "MaxRequeueExceeded": ("it was requeued too often", "find out why its nodes fail, then submit anew"),
    "SystemFailure": ("Slurm itself, a disk or the network failed", None),
    "NonZeroExitCode": ("it ended with an exit code that is not 0", None),
    # 22.05 says this also of a job whose script was killed by a signal.
    "JobLaunchFailure": ("a node could not start it, or it was killed", None),
    "TimeLimit": ("it reached its time limit", None),
    "OutOfMemory": ("it used more memory than it had asked for", None),
    "FedJobLock": ("the clusters of the federation are agreeing on where it runs", None),
}

_PATTERNS: tuple[tuple[re.Pattern[str], str, str | None], ...] = (
    (
        re.compile(r"ReqNodeNotAvail.*Reserved for maintenance", re.IGNORECASE | re.DOTALL),
        "a maintenance begins before it could end",
        "ask for less time: what ends before the maintenance may start now",
    ),
    (
        re.compile(
            r"ReqNodeNotAvail,? ?(?:May be reserved for other job|\(?Unavailable ?Nodes:(?P<nodes>\S*)).*", re.DOTALL
        ),
        "nodes it needs are down, drained or reserved {nodes}",
        "wait, or do not ask for these nodes",
    ),
    (re.compile(r"ReqNodeNotAvail"), "nodes it needs are down, drained or reserved", None),
    (
        re.compile(r"Nodes required for job are DOWN, DRAINED", re.IGNORECASE),
        "all nodes that could run it are down, drained or reserved",
        "wait, or choose another partition",
    ),
    (
        re.compile(r"launch failed requeued held", re.IGNORECASE),
        "a node could not start it, and Slurm holds it",
        "scontrol release ID, or cancel it and submit anew",
    ),
    (
        re.compile(r"job requeued in (?:special exit|held) state", re.IGNORECASE),
        "it was requeued and is held",
        "scontrol release ID",
    ),
    (
        re.compile(r"user env retrieval failed requeued held", re.IGNORECASE),
        "Slurm could not read your login environment, and holds it",
        "scontrol release ID",
    ),
    (
        re.compile(
            r"(?:Assoc|QOS)(?:Grp|Max)(?:CPU|Billing|GRES|Mem|Node|BB|License|Energy|Unknown)\w*(?:Minutes|RunMins|Mins)\w*",
            re.IGNORECASE,
        ),
        "the hours granted to the account or QOS are used up, or all promised to jobs that run",
        "choose another account, or ask for less time",
    ),
    (
        re.compile(r"(?:Assoc|QOS)MaxWall\w*", re.IGNORECASE),
        "it asks for more time than your account or QOS allows",
        _NEVER,
    ),
    (
        re.compile(r"(?:Assoc|QOS)GrpWall\w*", re.IGNORECASE),
        "the time granted to the account or QOS is used up",
        "choose another account",
    ),
    (
        re.compile(r"(?:Assoc|QOS)\w*SubmitJob\w*", re.IGNORECASE),
        "you have as many jobs in the queue as you may",
        _LESS,
    ),
    (
        re.compile(r"(?:Assoc|QOS)(?:Grp|Max)Jobs\w*", re.IGNORECASE),
        "as many jobs run as the account or QOS may run at once",
        _LESS,
    ),
    (re.compile(r"(?:Assoc|QOS)Min\w*", re.IGNORECASE), "it asks for less than the account or QOS demands", _NEVER),
    (
        re.compile(r"(?:Assoc|QOS)Max(?P<what>[A-Za-z]+?)(?:PerJob|PerNode|MinutesPerJob)\w*", re.IGNORECASE),
        "one job may not have so much ({what}) under this account or QOS",
        _NEVER,
    ),
    (
        re.compile(r"(?:Assoc|QOS)(?:Grp|Max)(?P<what>[A-Za-z]+?)(?:PerUser|PerAccount)?(?:Limit)?$", re.IGNORECASE),
        "the limit of the account or QOS is reached ({what})",
        _LESS,
    ),
    (re.compile(r"BurstBuffer\w*", re.IGNORECASE), "it waits for the burst buffer", None),
)
