"""What jobs have used and may still use, from answers of a real Slurm 22.05."""

from hypothesis import given
from hypothesis import strategies as st

from tests.schedulers.recorded import load_answer
from windlass.core.jobs import JobState
from windlass.core.size import Size
from windlass.core.spending.jobs import count_left_s, join_jobs
from windlass.schedulers.slurm.balance import make_people_command, read_people, read_shared_people
from windlass.schedulers.slurm.spending import (
    make_queued_command,
    make_spent_command,
    read_queued,
    read_spent,
)

SPENT = load_answer("22.05", "spent").out
QUEUED = load_answer("22.05", "queued").out


def test_a_job_that_is_over_shows_what_it_was_given() -> None:
    job = next(one for one in read_spent(SPENT) if one.job_id == "15")

    assert (job.run_id, job.user, job.account, job.state) == ("digits-aaaaa", "alice", "test-lab", JobState.DONE)
    assert job.size == Size(nodes=1, cores=4, gpus=2, billing=4.0)
    assert (job.elapsed_s, job.limit_s) == (9.0, 300.0)


def test_an_earlier_life_of_a_job_that_was_queued_again_counts() -> None:
    lives = [one for one in read_spent(SPENT) if one.run_id == "again-ccccc"]

    assert [(one.state, one.elapsed_s) for one in lives] == [(JobState.REQUEUED, 16.0)]


def test_a_name_with_our_separator_of_old_is_read_whole_and_is_no_run() -> None:
    odd = next(one for one in read_spent(SPENT) if one.job_id == "19")

    assert (odd.run_id, odd.elapsed_s) == (None, 4.0)


def test_where_comments_are_not_kept_the_name_of_a_known_run_tells() -> None:
    silent = SPENT.replace("windlass:digits-aaaaa:1", "")

    assert {one.run_id for one in read_spent(silent, runs={"digits-aaaaa"})} >= {"digits-aaaaa"}
    assert "digits-aaaaa" not in {one.run_id for one in read_spent(silent)}


def test_the_queue_tells_sizes_links_that_wait_and_whose_they_are() -> None:
    found = {one.job_id: one for one in read_queued(QUEUED)}

    assert found["16_[2-4%1]"].tasks == 3
    assert found["16_1"].run_id == "chain-bbbbb"
    assert found["20"].size == Size(nodes=2, cores=16, gpus=8, billing=16.0)
    assert count_left_s(found["20"]) == 1800.0
    assert count_left_s(found["16_[2-4%1]"]) == 3 * 600.0


def test_history_and_queue_together_have_each_job_once_and_know_its_run() -> None:
    joined = join_jobs(read_spent(SPENT), read_queued(QUEUED))

    chain = [one for one in joined if one.run_id == "chain-bbbbb"]
    assert sorted(one.job_id for one in chain) == ["16_1", "16_[2-4%1]"]
    assert sorted(one.job_id for one in joined) == ["15", "16_1", "16_[2-4%1]", "17", "17", "19", "20"]


def test_without_the_queue_the_history_is_all_there_is() -> None:
    assert {one.job_id for one in join_jobs(read_spent(SPENT), None)} == {"15", "16_1", "17", "19"}


def test_people_of_an_account_are_told_by_sshare_before_sreport_has_counted() -> None:
    people = read_shared_people(load_answer("22.05", "people").out, "core-hours")

    assert people == {"test-lab": {"bob": 4 / 60}, "def-prof": {"alice": 2 / 60}}


def test_people_of_an_account_are_told_by_sreport() -> None:
    people = read_people(load_answer("22.05", "use").out, "core-hours")

    assert people == {"test-budget": {"alice": 3 / 60}}


def test_columns_are_never_cut() -> None:
    assert all(word.endswith(":\x1f") for word in make_queued_command()[-1].removeprefix("--Format=").split(","))
    assert make_spent_command(0)[-1] == "--starttime=1969-12-31T00:00:00"
    assert "--all" in make_people_command()[-1]


@given(st.text(alphabet="1_[]-%,|\x1f\n RUNIG=cpugres/:0aknow", max_size=300))
def test_any_text_is_read_without_a_crash(text: str) -> None:
    read_spent(text)
    read_queued(text)
    read_people(text, "core-hours")
    read_shared_people(text, "core-hours")
