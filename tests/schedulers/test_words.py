"""States and reasons in plain words."""

import pytest

from windlass.core.jobs import JobState
from windlass.schedulers.slurm.words import STATES, explain_reason, read_state


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
    sentence, _ = explain_reason(reason)

    assert part in sentence
    assert not sentence.startswith("Slurm says")


def test_an_unknown_reason_is_shown_as_it_is() -> None:
    assert explain_reason("MoonIsFull") == ("Slurm says: MoonIsFull", None)
    assert explain_reason(None) == ("Slurm gives no reason yet", None)
