"""Of two jobs that would train, one does, however close they come; the greatest claim of the run counts."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.job.harness import OLDEST_AND_NEWEST
from windlass.edges.job_zip import make_job_zip
from windlass_job.claims import Claim, find_greater, take_claim

ROUNDS = 100
# Both wait for the other's sign of each round, so that they come to the claim at the same moment.
RACE = f"""
import os, sys
archive, folder, mine, other = sys.argv[1:]
sys.path.insert(0, archive)
from windlass_job.claims import take_claim
for number in range(2, {ROUNDS} + 2):
    open(os.path.join(folder, "{{}}-{{}}".format(mine, number)), "w").close()
    while not os.path.exists(os.path.join(folder, "{{}}-{{}}".format(other, number))):
        pass
    # Different links, as of an array that was sent twice: still only one of the two may train.
    if take_claim(folder, number if mine == "45" else 1, {{"job": mine, "token": "t", "submission": number}}):
        print(number, flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path)


@pytest.mark.parametrize("python", list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def test_a_race_for_what_an_older_submission_held_has_one_winner(tmp_path: Path, folder: str, python: str) -> None:
    archive = tmp_path / "job.pyz"
    archive.write_bytes(make_job_zip())
    assert take(folder, "44") == (1, 1, 1)

    racers = [
        subprocess.Popen([python, "-c", RACE, archive, folder, *names], stdout=subprocess.PIPE, text=True)
        for names in (("45", "46"), ("46", "45"))
    ]
    won = [racer.communicate(timeout=60)[0].split() for racer in racers]

    assert [racer.returncode for racer in racers] == [0, 0]
    assert sorted(int(number) for number in won[0] + won[1]) == list(range(2, ROUNDS + 2))


def test_the_same_job_goes_on_and_others_do_not(folder: str) -> None:
    assert [take(folder, job) for job in ("45", "46", "45", "46")] == [(1, 1, 1), None, (1, 1, 2), None]


def test_a_later_submission_supersedes_and_stays(folder: str) -> None:
    assert [take(folder, "45"), take(folder, "99", submission=2), take(folder, "45")] == [(1, 1, 1), (2, 1, 1), None]
    assert find_greater(folder, Claim(1, 1, 1)) == (2, 1, 1)
    assert find_greater(folder, Claim(2, 1, 1)) is None


def test_a_later_link_supersedes_an_earlier_one_of_the_same_array(folder: str) -> None:
    first, second = take(folder, "45_1"), take(folder, "45_2", link=2)

    assert (first, second) == ((1, 1, 1), (1, 2, 1))
    assert find_greater(folder, Claim(1, 1, 1)) == second


def test_ten_submissions_are_more_than_nine_whatever_the_link(folder: str) -> None:
    take(folder, "45", submission=10)

    assert take(folder, "44", submission=9) is None
    assert take(folder, "44", submission=9, link=10) is None


def test_an_earlier_link_that_slurm_starts_again_goes_on_where_the_run_is(folder: str) -> None:
    take(folder, "45_1")
    take(folder, "45_3", link=3)

    assert take(folder, "45_1", earlier=1) == (1, 3, 2)
    assert take(folder, "45_4", link=4) == (1, 4, 1)


def test_a_start_that_slurm_has_given_up_meanwhile_takes_nothing(folder: str) -> None:
    """Its file system hung: it asks after the one that was started in its place."""
    take(folder, "45_2", link=2, started=1_000_200)

    assert take(folder, "45_1", started=1_000_100) is None
    assert take(folder, "45_1", started=1_000_300, earlier=1) == (1, 2, 2)


def test_a_second_start_is_greater_than_a_first_that_could_make_no_claim(folder: str) -> None:
    assert take(folder, "45", earlier=1) == (1, 1, 2)


def test_the_last_submission_of_many_is_found_among_damaged_and_foreign_files(tmp_path: Path, folder: str) -> None:
    (tmp_path / "claims").mkdir()
    for name in ("1.1.1", "1.1.1.stopped", "notes", "1.1", "9.9.9.tmp", ".5.5.5.aside"):
        (tmp_path / "claims" / name).touch()

    assert [take(folder, job) for job in ("45", "46")] == [(1, 1, 2), None]


def test_a_damaged_holder_holds_nothing(tmp_path: Path, folder: str) -> None:
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "1.holder").touch()

    assert take(folder, "45") == (1, 1, 1)


@settings(max_examples=30)
@given(starts=st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4), st.sampled_from(["45", "46"])), max_size=8))
def test_whatever_starts_in_whatever_order_each_that_may_train_is_greater_than_all_before(
    tmp_path_factory: pytest.TempPathFactory, starts: list[tuple[int, int, str]]
) -> None:
    folder = str(tmp_path_factory.mktemp("run"))

    taken = [take(folder, f"{base}_{link}", submission=number, link=link) for number, link, base in starts]

    trained = [claim for claim in taken if claim is not None]
    assert trained == sorted(set(trained))
    assert not starts or taken[0] is not None
    holders = {(number, base) for (number, _, base), claim in zip(starts, taken, strict=True) if claim is not None}
    assert len(holders) == len({number for number, _ in holders}), "one submission was trained by two jobs"


def take(
    folder: str, job: str, *, submission: int = 1, link: int = 1, earlier: int = 0, started: int = 0
) -> Claim | None:
    owner = {"job": job, "token": "t", "submission": submission, "earlier": earlier, "started": started}
    return take_claim(folder, link, owner)
