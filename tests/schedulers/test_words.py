"""States and reasons in plain words."""

import pytest

from windlass.core.ending.symptoms import WaitingKind
from windlass.core.jobs import JobState
from windlass.schedulers.slurm.reasons import find_reason, read_waiting
from windlass.schedulers.slurm.words import SHORT_STATES, STATE_WORDS, STATES, explain_state, read_state

_WHO = ("Assoc", "QOS")
_TRES = ("BB", "Billing", "Energy", "GRES", "License", "Mem", "Memory", "Node", "Unknown", "CPU", "Cpu")
# All that Slurm 22.05 can write into a job's record (the strings of its library), as families.
ALL_REASONS = (
    *(f"{who}Grp{what}{end}" for who in _WHO for what in _TRES for end in ("", "Minutes", "RunMinutes")),
    *(f"{who}GrpCPU{end}Limit" for who in _WHO for end in ("Minutes", "RunMinutes")),
    *(f"{who}Grp{what}Limit" for who in _WHO for what in ("Cpu", "Mem", "Node", "Jobs", "SubmitJobs", "Wall")),
    *(f"{who}Max{what}{end}" for who in _WHO for what in _TRES for end in ("MinutesPerJob", "PerJob", "PerNode")),
    *(f"QOSMax{what}PerUser" for what in _TRES),
    *(f"Max{what}PerAccount" for what in (*_TRES, "Jobs", "SubmitJobs")),
    *(f"QOSMin{what}" for what in (*_TRES, "CpuNotSatisfied")),
    *("AssocMaxJobsLimit", "AssocMaxSubmitJobLimit", "AssocMaxWallDurationPerJobLimit", "AssocMaxCpuPerJobLimit"),
    *(
        "QOSMaxJobsPerUserLimit",
        "QOSMaxSubmitJobPerUserLimit",
        "QOSMaxWallDurationPerJobLimit",
        "QOSMaxCpuPerUserLimit",
    ),
    *("AccountNotAllowed", "AccountingPolicy", "AssociationJobLimit", "AssociationResourceLimit"),
    *("AssociationTimeLimit", "BadConstraints", "BeginTime", "BurstBufferOperation", "BurstBufferResources"),
    *("BurstBufferStageIn", "Cleaning", "DeadLine", "Dependency", "DependencyNeverSatisfied", "FedJobLock"),
    *("FrontEndDown", "InactiveLimit", "InvalidAccount", "InvalidQOS", "JobArrayTaskLimit", "JobHeldAdmin"),
    *("JobHeldUser", "JobHoldMaxRequeue", "JobLaunchFailure", "Licenses", "MaxMemPerLimit", "NodeDown"),
    *("NonZeroExitCode", "None", "OutOfMemory", "PartitionConfig", "PartitionDown", "PartitionInactive"),
    *("PartitionNodeLimit", "PartitionTimeLimit", "Priority", "Prolog", "QOSJobLimit", "QOSNotAllowed"),
    *("QOSResourceLimit", "QOSTimeLimit", "QOSUsageThreshold", "ReqNodeNotAvail", "Reservation"),
    *("ReservationDeleted", "Resources", "SchedDefer", "SystemFailure", "TimeLimit"),
    *("ReqNodeNotAvail, Reserved for maintenance", "launch failed requeued held", "job requeued in held state"),
)


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("CANCELLED by 1234", JobState.CANCELLED),
        ("CANCELLED+", JobState.CANCELLED),
        ("OUT_OF_ME+", JobState.OUT_OF_MEMORY),
        ("COMPLETED", JobState.DONE),
        ("completed", JobState.DONE),
        ("NODE_FAIL", JobState.NODE_FAILED),
        ("BRAND_NEW", JobState.UNKNOWN),
        ("+", JobState.UNKNOWN),
        ("", JobState.UNKNOWN),
    ],
)
def test_states(word: str, state: JobState) -> None:
    assert read_state(word) is state


def test_every_state_is_live_or_final_or_an_earlier_life() -> None:
    assert all(state.is_live or state.is_final or state is JobState.REQUEUED for state in STATES.values())


@pytest.mark.parametrize(
    ("reason", "part"),
    [
        ("Priority", "before it in the queue"),
        ("Resources", "next in line"),
        ("JobArrayTaskLimit", "one after the other"),
        ("ReqNodeNotAvail, Reserved for maintenance", "maintenance"),
        ("ReqNodeNotAvail, UnavailableNodes:node1", "node1"),
        ("(ReqNodeNotAvail, May be reserved for other job)", "reserved"),
        ("Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions", "down"),
        ("launch failed requeued held", "could not start"),
        ("AssocGrpBillingMinutes", "used up"),
        ("AssocGrpCPUMinutesLimit", "used up"),
        ("AssocMaxWallDurationPerJobLimit", "more time"),
        ("AssocMaxJobsLimit", "as many jobs"),
        ("QOSMaxJobsPerUserLimit", "as many jobs"),
        ("QOSMaxSubmitJobPerUserLimit", "in the queue"),
        ("AssocMaxCpuPerJobLimit", "one job may not"),
        ("QOSMaxGRESPerUser", "GRES"),
        ("QOSGrpGRES", "GRES"),
        ("QOSMinGRES", "less than"),
        ("InvalidAccount", "account"),
        ("PartitionTimeLimit", "more time"),
        ("BeginTime", "begin time"),
    ],
)
def test_reasons(reason: str, part: str) -> None:
    sentence = read_waiting(reason).words

    assert part in sentence
    assert not sentence.startswith("Slurm says")


def test_an_unknown_reason_is_shown_as_it_is() -> None:
    assert read_waiting("MoonIsFull").words == "Slurm says: MoonIsFull"
    assert read_waiting(None).words == "Slurm gives no reason yet"


@pytest.mark.parametrize("reason", ALL_REASONS)
def test_every_reason_of_slurms_has_a_sentence(reason: str) -> None:
    assert find_reason(reason) is not None


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("Priority", WaitingKind.TURN),
        ("PartitionTimeLimit", WaitingKind.NEVER),
        ("AssocMaxWallDurationPerJobLimit", WaitingKind.NEVER),
        ("AssocMaxCpuMinutesPerJobLimit", WaitingKind.NEVER),
        ("AssocMaxCpuPerJobLimit", WaitingKind.NEVER),
        ("DependencyNeverSatisfied", WaitingKind.NEVER),
        ("BadConstraints", WaitingKind.NEVER),
        ("InvalidQOS", WaitingKind.NEVER),
        ("AssocGrpCPUMinutesLimit", WaitingKind.BUDGET),
        ("AssocGrpBillingMinutes", WaitingKind.BUDGET),
        ("AssocGrpCPURunMinutesLimit", WaitingKind.LIMIT),
        ("AssocMaxJobsLimit", WaitingKind.LIMIT),
        ("QOSMaxGRESPerUser", WaitingKind.LIMIT),
        ("ReqNodeNotAvail, Reserved for maintenance", WaitingKind.NODES),
        ("JobHeldAdmin", WaitingKind.HELD),
        ("launch failed requeued held", WaitingKind.HELD),
        ("MoonIsFull", WaitingKind.TURN),
    ],
)
def test_what_can_be_done_about_a_reason(reason: str, kind: WaitingKind) -> None:
    assert read_waiting(reason).kind is kind


@pytest.mark.parametrize("word", [*STATES, *SHORT_STATES])
def test_every_state_has_a_sentence(word: str) -> None:
    assert explain_state(word)


def test_states_are_told_as_they_are_written() -> None:
    assert explain_state("CANCELLED by 1234") == STATE_WORDS["CANCELLED"]
    assert explain_state("pd") == STATE_WORDS["PENDING"]
    assert explain_state("Priority") is None
