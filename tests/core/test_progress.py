"""Where a run stands: Slurm's word, the agent's word and which link it was, in every combination."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product

import pytest

from tests.builders import RECORD, make_job
from windlass.core.jobs import JobSeen, JobState
from windlass.core.progress import Seen, belongs, judge
from windlass.core.record import RunRecord, RunState, Submission
from windlass_job import wire

NOW = 2000.0
CHAIN = replace(RECORD, links=3, submissions=(replace(RECORD.submissions[0], links=3),))
RESUMED = replace(
    RECORD,
    link=2,
    links=4,
    submissions=(
        RECORD.submissions[0],
        Submission(number=2, token="windlass:digits-k3f9w:2", job_id="77", first_link=3),
    ),
)
AGENT_WORDS = (None, wire.RUNNING, wire.DONE, wire.CUT, wire.FAILED, wire.TERMINATED)
COMBINATIONS = list(product(JobState, AGENT_WORDS))
NEVER_STARTED = make_job(JobState.WAITING, job_id="45_[2-3%1]")


def status(state: str, *, link: int = 1, **values: object) -> dict[str, object]:
    exit_code = {wire.DONE: 0, wire.FAILED: 1}.get(state)
    told = {"state": state, "link": link, "submission": 1, "started": 1500.0, "exit_code": exit_code, "signal": None}
    return {**told, "ended": None if state == wire.RUNNING else 1900.0, **values}


def look(
    *jobs: JobSeen,
    status: Mapping[str, object] | None = None,
    record: RunRecord = RECORD,
    folder_gone: bool = False,
    history_known: bool = True,
) -> RunRecord:
    seen = Seen(jobs=jobs, status=status, folder_gone=folder_gone, history_known=history_known)
    return judge(record, seen, NOW)


# ---- the whole table -----------------------------------------------------------------------------------

# What Slurm says of the last link, when the agent's word does not decide.
BY_SLURM = {
    JobState.WAITING: RunState.WAITING,
    JobState.REQUEUED: RunState.WAITING,
    JobState.RUNNING: RunState.RUNNING,
    JobState.ENDING: RunState.RUNNING,
    JobState.SUSPENDED: RunState.RUNNING,
    JobState.UNKNOWN: RunState.RUNNING,
    JobState.DONE: RunState.DONE,
    JobState.FAILED: RunState.FAILED,
    JobState.CANCELLED: RunState.CANCELLED,
    JobState.TIMED_OUT: RunState.OUT_OF_TIME,
    JobState.OUT_OF_MEMORY: RunState.FAILED,
    JobState.NODE_FAILED: RunState.FAILED,
    JobState.PREEMPTED: RunState.FAILED,
}


def expect(slurm: JobState, agent: str | None) -> RunState:
    """The agent's last word first; then Slurm; a job that ended well but was cut is not done."""
    if agent == wire.DONE:
        return RunState.DONE
    if agent == wire.FAILED:
        return RunState.FAILED
    if agent == wire.CUT and slurm is JobState.DONE:
        return RunState.OUT_OF_TIME
    return BY_SLURM[slurm]


def test_the_table_knows_every_state() -> None:
    assert set(BY_SLURM) == set(JobState)
    assert set(AGENT_WORDS) >= {None, wire.RUNNING, wire.DONE, wire.CUT, wire.FAILED, wire.TERMINATED}


@pytest.mark.parametrize(("slurm", "agent"), COMBINATIONS)
def test_one_job(slurm: JobState, agent: str | None) -> None:
    record = look(make_job(slurm), status=status(agent) if agent else None)

    assert record.state is expect(slurm, agent)
    assert record.updated == NOW


@pytest.mark.parametrize(("slurm", "agent"), COMBINATIONS)
def test_the_last_link_of_a_chain(slurm: JobState, agent: str | None) -> None:
    earlier = [make_job(JobState.DONE, job_id=f"45_{task}", task=task, started=task * 100.0) for task in (1, 2)]
    last = make_job(slurm, job_id="45_3", task=3, started=300.0)

    record = look(last, *earlier, status=status(agent, link=3) if agent else None, record=CHAIN)

    assert record.state is expect(slurm, agent)


@pytest.mark.parametrize(("slurm", "agent"), COMBINATIONS)
def test_a_link_in_the_middle_leaves_the_run_alive(slurm: JobState, agent: str | None) -> None:
    now = make_job(slurm, job_id="45_1", task=1, started=100.0)

    record = look(now, NEVER_STARTED, status=status(agent, link=1) if agent else None, record=CHAIN)

    if agent in (wire.DONE, wire.FAILED):
        assert record.state is expect(slurm, agent), "later links leave by themselves"
    else:
        assert record.state is (RunState.RUNNING if BY_SLURM[slurm] is RunState.RUNNING else RunState.WAITING)


# ---- chains ----------------------------------------------------------------------------------------------


def test_a_chain_cancelled_between_two_links_was_cancelled() -> None:
    first = make_job(JobState.DONE, job_id="45_1", task=1, started=100.0)

    for rest in ("45_[2-3%1]", "45_2"):
        cancelled = make_job(JobState.CANCELLED, job_id=rest, task=2 if rest == "45_2" else None)

        assert look(first, cancelled, status=status(wire.CUT), record=CHAIN).state is RunState.CANCELLED


def test_a_link_cancelled_alone_does_not_end_the_chain() -> None:
    jobs = (
        make_job(JobState.CANCELLED, job_id="45_1", task=1),
        make_job(JobState.DONE, job_id="45_2", task=2, started=200.0),
        make_job(JobState.DONE, job_id="45_3", task=3, started=300.0),
    )

    record = look(*jobs, status=status(wire.CUT, link=3), record=CHAIN)

    assert (record.state, record.reason) == (RunState.OUT_OF_TIME, "all links are used; it was not finished")


def test_a_single_job_that_was_cut_is_not_called_a_chain() -> None:
    record = look(make_job(JobState.DONE), status=status(wire.CUT))

    assert (record.state, record.reason) == (RunState.OUT_OF_TIME, "its time is used up; it was not finished")


def test_the_number_of_the_link_is_the_agents() -> None:
    record = look(make_job(JobState.RUNNING), status=status(wire.RUNNING, link=2), record=CHAIN)

    assert (record.link, record.started) == (2, 1500.0)


def test_all_links_used_is_known_even_when_slurm_forgot_the_job() -> None:
    assert look(status=status(wire.CUT, link=3), record=CHAIN).state is RunState.OUT_OF_TIME
    assert look(status=status(wire.CUT, link=2), record=CHAIN).state is RunState.LOST


# ---- whose job is it ----------------------------------------------------------------------------------------


def test_the_token_decides_whatever_number_and_name_say() -> None:
    other = replace(make_job(JobState.RUNNING), token="windlass:digits-other:1")
    same = replace(make_job(JobState.RUNNING), job_id="99", name="renamed")

    assert not belongs(other, RECORD, RECORD.submissions[-1])
    assert belongs(same, RECORD, RECORD.submissions[-1])


@pytest.mark.parametrize("token", ["", None])
@pytest.mark.parametrize(
    ("job_id", "name", "ours"),
    [("45", "digits-k3f9w", True), ("45", "other", False), ("46", "digits-k3f9w", False), ("45", None, False)],
)
def test_without_a_token_number_and_name_must_agree(
    token: str | None, job_id: str, name: str | None, ours: bool
) -> None:
    job = replace(make_job(JobState.RUNNING, job_id=job_id), token=token, name=name)

    assert belongs(job, RECORD, RECORD.submissions[-1]) == ours


def test_a_number_given_to_somebody_else_is_not_our_job() -> None:
    stranger = replace(make_job(JobState.RUNNING), token="", name="bash")

    record = look(stranger)

    assert (record.state, record.reason) == (RunState.LOST, "Slurm has no record of job 45")


def test_a_job_of_an_earlier_submission_is_not_the_one_we_wait_for() -> None:
    old = make_job(JobState.DONE)
    new = replace(make_job(JobState.WAITING, job_id="77"), token="windlass:digits-k3f9w:2")

    assert look(old, new, record=RESUMED).state is RunState.WAITING


# ---- after a resume -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", [wire.DONE, wire.FAILED, wire.CUT, wire.TERMINATED])
@pytest.mark.parametrize("knows_number", [True, False])
def test_the_old_word_of_the_agent_does_not_count(agent: str, knows_number: bool) -> None:
    waiting = replace(make_job(JobState.WAITING, job_id="77"), token="windlass:digits-k3f9w:2")
    old = status(agent, link=2, exit_code=9)
    if not knows_number:
        del old["submission"]

    record = look(waiting, status=old, record=RESUMED)

    assert (record.state, record.exit_code) == (RunState.WAITING, None)


def test_a_resume_of_the_same_link_is_told_apart_by_its_submission() -> None:
    again = replace(RESUMED, submissions=(RESUMED.submissions[0], replace(RESUMED.submissions[1], first_link=1)))
    running = replace(make_job(JobState.RUNNING, job_id="77"), token="windlass:digits-k3f9w:2")

    assert look(running, status=status(wire.FAILED), record=again).state is RunState.RUNNING
    assert look(running, status=status(wire.FAILED, submission=2), record=again).state is RunState.FAILED


def test_the_exit_code_is_that_of_the_new_job() -> None:
    failed = replace(make_job(JobState.FAILED, job_id="77"), token="windlass:digits-k3f9w:2", exit_code=3)

    assert look(failed, status=status(wire.FAILED, link=2, exit_code=9), record=RESUMED).exit_code == 3


# ---- words -----------------------------------------------------------------------------------------------------


def test_a_failure_tells_its_exit_code_or_signal() -> None:
    by_itself = look(status=status(wire.FAILED, exit_code=3))
    killed = look(status=status(wire.FAILED, exit_code=None, signal=9))

    assert (by_itself.reason, by_itself.exit_code) == ("the command ended with exit code 3", 3)
    assert (killed.reason, killed.exit_code) == ("the command was killed by signal 9", 137)


def test_what_slurm_says_of_a_waiting_job_is_kept() -> None:
    waiting = replace(make_job(JobState.WAITING), reason="Priority", expected_start=3000.0)

    record = look(waiting)

    assert (record.reason, record.expected_start) == ("Priority", 3000.0)


def test_a_running_job_has_nodes_and_no_expectations() -> None:
    before = replace(RECORD, reason="Priority", expected_start=3000.0)

    record = look(replace(make_job(JobState.RUNNING, started=1400.0), nodes="n[1-2]"), record=before)

    assert (record.nodes, record.started) == ("n[1-2]", 1400.0)
    assert (record.reason, record.expected_start) == (None, None)


def test_a_word_of_slurms_that_nobody_knows_is_shown_as_it_is() -> None:
    assert look(replace(make_job(JobState.UNKNOWN), word="TELEPORTING")).reason == "TELEPORTING"


@pytest.mark.parametrize("state", [JobState.OUT_OF_MEMORY, JobState.NODE_FAILED, JobState.PREEMPTED])
def test_a_death_that_only_slurm_saw_is_told_in_its_words(state: JobState) -> None:
    record = look(replace(make_job(state), exit_code=125, ended=1800.0), status=status(wire.RUNNING))

    assert (record.reason, record.exit_code, record.ended) == (state.value, 125, 1800.0)


@pytest.mark.parametrize(
    "damaged", [{}, {"state": 7}, {"state": None, "link": "x", "exit_code": "0"}, {"link": True, "started": "soon"}]
)
def test_a_damaged_status_is_as_good_as_none(damaged: dict[str, object]) -> None:
    assert look(make_job(JobState.RUNNING), status=damaged) == look(make_job(JobState.RUNNING))


# ---- nobody knows ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", [None, wire.RUNNING])
def test_a_run_that_nobody_knows_is_lost_and_not_failed(agent: str | None) -> None:
    record = look(status=status(agent) if agent else None)

    assert (record.state, record.reason) == (RunState.LOST, "Slurm has no record of job 45")


@pytest.mark.parametrize("agent", [None, wire.RUNNING])
@pytest.mark.parametrize("before", [RunState.WAITING, RunState.RUNNING])
def test_while_accounting_is_away_absence_proves_nothing(agent: str | None, before: RunState) -> None:
    record = look(status=status(agent) if agent else None, record=replace(RECORD, state=before), history_known=False)

    assert record.state is before
    assert record.reason == "it left the queue without a last word, and accounting does not answer"


@pytest.mark.parametrize(
    ("agent", "state"),
    [(wire.DONE, RunState.DONE), (wire.FAILED, RunState.FAILED), (wire.TERMINATED, RunState.CANCELLED)],
)
def test_the_agents_word_is_enough_without_accounting(agent: str, state: RunState) -> None:
    assert look(status=status(agent), history_known=False).state is state


def test_a_folder_that_is_gone_with_the_job_is_told() -> None:
    record = look(folder_gone=True, history_known=False)

    assert (record.state, record.reason) == (RunState.LOST, "its folder at the site is gone")


def test_a_job_that_runs_without_its_folder_runs() -> None:
    assert look(make_job(JobState.RUNNING), folder_gone=True).state is RunState.RUNNING


@pytest.mark.parametrize("submissions", [(), (Submission(number=1, token="t"),)])
def test_a_run_without_a_job_is_left_as_it_is(submissions: tuple[Submission, ...]) -> None:
    record = replace(RECORD, state=RunState.SUBMITTING, submissions=submissions)

    assert look(make_job(JobState.RUNNING), record=record) is record


@pytest.mark.parametrize(
    ("stop", "expected"), [(None, RunState.DONE), (0, RunState.CANCELLED), (1, RunState.CANCELLED)]
)
def test_a_link_that_left_because_it_was_cancelled_is_not_done(stop: int | None, expected: RunState) -> None:
    judged = judge(RECORD, Seen(jobs=(make_job(JobState.DONE),), stop=stop), NOW)

    assert judged.state is expected


@pytest.mark.parametrize(
    ("asked", "expected"), [(None, RunState.CANCELLED), ("SIGUSR1", RunState.OUT_OF_TIME)], ids=["unasked", "asked"]
)
def test_what_left_before_the_signal_of_its_cancel_came_was_cancelled(asked: str | None, expected: RunState) -> None:
    cut = status(wire.CUT, stop_requested=asked)
    judged = judge(RECORD, Seen(jobs=(make_job(JobState.DONE),), status=cut, stop=1), NOW)

    assert judged.state is expected, "and one that a budget asked to stop was not"


def test_an_old_stop_says_nothing_about_a_resumed_run() -> None:
    job = replace(make_job(JobState.DONE, job_id="77"), token=RESUMED.submissions[-1].token)

    assert judge(RESUMED, Seen(jobs=(job,), stop=1), NOW).state is RunState.DONE


def test_what_was_loaded_is_kept_also_when_a_later_word_is_silent() -> None:
    told = look(status=status(wire.RUNNING, modules=["gcc/12.3", 7, "pytorch/2.3"]))
    later = look(status=status(wire.RUNNING), record=told)

    assert told.modules == later.modules == ("gcc/12.3", "pytorch/2.3")
