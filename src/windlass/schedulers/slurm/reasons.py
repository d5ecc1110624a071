"""Slurm's reasons why a job waits: a sentence for each, what one can do, and whether it will ever start."""

import re
from typing import NamedTuple

from windlass.core.ending.symptoms import Waiting, WaitingKind

_TURN, _NEVER, _NODES = WaitingKind.TURN, WaitingKind.NEVER, WaitingKind.NODES
_BUDGET, _LIMIT, _HELD = WaitingKind.BUDGET, WaitingKind.LIMIT, WaitingKind.HELD


class Reason(NamedTuple):
    sentence: str
    hint: str | None = None
    kind: WaitingKind = _TURN


def read_waiting(reason: str | None) -> Waiting:
    """A reason nobody knows is shown as it is."""
    found = find_reason(reason)
    if found is None:
        word = _strip(reason)
        found = Reason(f"Slurm says: {word}" if word else "Slurm gives no reason yet")
    return Waiting(words=found.sentence, hint=found.hint, kind=found.kind)


def find_reason(reason: str | None) -> Reason | None:
    """None for a word that is no reason of Slurm's."""
    word = _strip(reason)
    exact = REASONS.get(word)
    if exact is not None:
        return exact
    for pattern, known in PATTERNS:
        match = pattern.match(word)
        if match:
            parts = {name: text or "" for name, text in match.groupdict().items()}
            return known._replace(sentence=known.sentence.format(**parts).strip())
    return None


def _strip(reason: str | None) -> str:
    return (reason or "").strip().strip("()")


_LESS = "ask for less, or wait until other jobs of yours end"
_CANCEL = "cancel it, and ask for what is allowed: `windlass plan` says what that is"
_CENTRE = "ask the centre's support: windlass ticket RUN"
_OTHER_ACCOUNT = "choose another account, or ask for less time: [resources] account, time"

REASONS: dict[str, Reason] = {
    "None": Reason("it has just been submitted; Slurm has not looked at it yet"),
    "Priority": Reason("other jobs are before it in the queue", "shorter and smaller jobs start earlier"),
    "Resources": Reason("it is next in line and waits for nodes to become free"),
    "Dependency": Reason("it waits for another job to end"),
    "DependencyNeverSatisfied": Reason(
        "the job it waits for ended in a way that it did not wish for, so it will never start", "cancel it", _NEVER
    ),
    "JobArrayTaskLimit": Reason("the links of a run go one after the other: the one before it is not over"),
    "BeginTime": Reason(
        "it may not start before its begin time; after a requeue that is two minutes",
        "scontrol update jobid=ID StartTime=now",
    ),
    "JobHeldUser": Reason("you hold it", "scontrol release ID", _HELD),
    "JobHeldAdmin": Reason("an administrator holds it", _CENTRE, _HELD),
    "JobHoldMaxRequeue": Reason(
        "it was put back into the queue too often, and Slurm holds it",
        "find out why its nodes fail, then: scontrol release ID",
        _HELD,
    ),
    "PartitionTimeLimit": Reason("it asks for more time than the partition allows", _CANCEL, _NEVER),
    "PartitionNodeLimit": Reason("it asks for more or fewer nodes than the partition allows", _CANCEL, _NEVER),
    "PartitionConfig": Reason("it asks for more than the partition can ever give", _CANCEL, _NEVER),
    "PartitionDown": Reason(
        "the partition is down: maintenance, or a fault", "wait, or choose another partition", _NODES
    ),
    "PartitionInactive": Reason("the partition starts no jobs now", "wait, or choose another partition", _NODES),
    "BadConstraints": Reason("no node is like what it asks for", _CANCEL, _NEVER),
    "Reservation": Reason("it waits for its reservation to begin"),
    "ReservationDeleted": Reason(
        "the reservation it was meant for is gone", "cancel it and submit without reservation", _NEVER
    ),
    "Licenses": Reason("it waits for a license that others use"),
    "Prolog": Reason("its nodes are being prepared"),
    "Cleaning": Reason("its earlier life is still being cleaned up"),
    "NodeDown": Reason("a node it needs is down", "wait, or do not ask for that node", _NODES),
    "FrontEndDown": Reason("no front end of the machine is up", None, _NODES),
    "InvalidAccount": Reason("its account is not, or no longer, valid", "choose another account", _NEVER),
    "InvalidQOS": Reason("its QOS is not, or no longer, valid", "choose another QOS", _NEVER),
    "AccountNotAllowed": Reason(
        "the partition does not take this account", "choose another account or partition", _NEVER
    ),
    "AccountingPolicy": Reason("a rule of accounting holds it back, without saying which", _LESS, _LIMIT),
    "QOSNotAllowed": Reason("the account or partition does not take this QOS", "choose another QOS", _NEVER),
    "QOSUsageThreshold": Reason("the QOS asks for a better fair share than yours", "choose another QOS", _LIMIT),
    "DeadLine": Reason("it cannot end before its deadline any more", "cancel it", _NEVER),
    "InactiveLimit": Reason("it was idle for longer than the site allows"),
    "SchedDefer": Reason("Slurm puts off all jobs for a moment"),
    "AssociationJobLimit": Reason("you have as many jobs as your account may run", _LESS, _LIMIT),
    "AssociationResourceLimit": Reason("your account's resources are all in use", _LESS, _LIMIT),
    "AssociationTimeLimit": Reason("your account has used up its time", _OTHER_ACCOUNT, _BUDGET),
    "QOSJobLimit": Reason("the QOS has as many jobs as it may run", _LESS, _LIMIT),
    "QOSResourceLimit": Reason("the QOS's resources are all in use", _LESS, _LIMIT),
    "QOSTimeLimit": Reason("the QOS has used up its time", "choose another QOS", _BUDGET),
    "MaxMemPerLimit": Reason("it asks for more memory than a job may have here", _CANCEL, _NEVER),
    "MaxPoweredUpNodes": Reason("as many nodes are switched on as may be at once", None, _LIMIT),
    "MaxRequeueExceeded": Reason("it was requeued too often", "find out why its nodes fail, then submit anew", _HELD),
    "SystemFailure": Reason("Slurm itself, a disk or the network failed", _CENTRE, _NODES),
    "NonZeroExitCode": Reason("it ended with an exit code that is not 0"),
    # 22.05 says this also of a job whose script was killed by a signal, and of one without an output file.
    "JobLaunchFailure": Reason("a node could not start it, or it was killed"),
    "TimeLimit": Reason("it reached its time limit"),
    "OutOfMemory": Reason("it used more memory than it had asked for"),
    "FedJobLock": Reason("the clusters of the federation are agreeing on where it runs"),
}

PATTERNS: tuple[tuple[re.Pattern[str], Reason], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), reason)
    for pattern, reason in (
        (
            r"ReqNodeNotAvail.*Reserved for maintenance",
            Reason(
                "a maintenance begins before it could end",
                "ask for less time: what ends before the maintenance may start now",
                _NODES,
            ),
        ),
        (
            r"ReqNodeNotAvail,? ?(?:May be reserved for other job|\(?Unavailable ?Nodes:(?P<nodes>\S*)).*",
            Reason(
                "nodes it needs are down, drained or reserved {nodes}", "wait, or do not ask for these nodes", _NODES
            ),
        ),
        (r"ReqNodeNotAvail", Reason("nodes it needs are down, drained or reserved", None, _NODES)),
        (
            r"Nodes required for job are DOWN, DRAINED",
            Reason(
                "all nodes that could run it are down, drained or reserved",
                "wait, or choose another partition",
                _NODES,
            ),
        ),
        (
            r"launch failed requeued held",
            Reason(
                "a node could not start it, and Slurm holds it",
                "scontrol release ID, or cancel it and submit anew",
                _HELD,
            ),
        ),
        (
            r"job requeued in (?:special exit|held) state",
            Reason("it was requeued and is held", "scontrol release ID", _HELD),
        ),
        (
            r"user env retrieval failed requeued held",
            Reason("Slurm could not read your login environment, and holds it", "scontrol release ID", _HELD),
        ),
        (
            r"Partition(?:Min|Max)Nodes",
            Reason("it asks for more or fewer nodes than the partition allows", _CANCEL, _NEVER),
        ),
        (
            r"(?:Assoc|QOS)Max\w+?Minutes?PerJob\w*",
            Reason("one job may not use so many hours (nodes x time) under this account or QOS", _CANCEL, _NEVER),
        ),
        (
            r"(?:Assoc|QOS)Grp\w*RunMinutes\w*",
            Reason(
                "the hours granted to the account or QOS are all promised to jobs that run",
                "wait until some end, or ask for less time",
                _LIMIT,
            ),
        ),
        (
            r"(?:Assoc|QOS)Grp\w*Min(?:ute)?s\w*",
            Reason("the hours granted to the account or QOS are used up", _OTHER_ACCOUNT, _BUDGET),
        ),
        (
            r"(?:Assoc|QOS)MaxWall\w*",
            Reason("it asks for more time than your account or QOS allows", _CANCEL, _NEVER),
        ),
        (
            r"(?:Assoc|QOS)GrpWall\w*",
            Reason("the time granted to the account or QOS is used up", _OTHER_ACCOUNT, _BUDGET),
        ),
        (
            r"(?:Assoc|QOS)\w*SubmitJob\w*|MaxSubmitJobsPerAccount",
            Reason("you have as many jobs in the queue as you may", _LESS, _LIMIT),
        ),
        (
            r"(?:Assoc|QOS)(?:Grp|Max)Jobs\w*|MaxJobsPerAccount",
            Reason("as many jobs run as the account or QOS may run at once", _LESS, _LIMIT),
        ),
        (
            r"(?:Assoc|QOS)Min\w*",
            Reason("it asks for less than the account or QOS demands", _CANCEL, _NEVER),
        ),
        (
            r"(?:Assoc|QOS)Max(?P<what>[A-Za-z]+?)(?:PerJob|PerNode)\w*",
            Reason("one job may not have so much ({what}) under this account or QOS", _CANCEL, _NEVER),
        ),
        (
            r"(?:(?:Assoc|QOS)(?:Grp|Max)|Max(?=\w+PerAccount))(?P<what>[A-Za-z]+?)(?:PerUser|PerAccount)?(?:Limit)?$",
            Reason("the limit of the account or QOS is reached ({what})", _LESS, _LIMIT),
        ),
        (r"BurstBuffer\w*", Reason("it waits for the burst buffer")),
    )
)
