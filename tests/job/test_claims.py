"""Of two jobs for one link, one gets it, however close they come."""

import subprocess
from pathlib import Path

import pytest

from tests.job.harness import OLDEST_AND_NEWEST
from windlass.edges.job_zip import make_job_zip
from windlass_job.claims import is_superseded, take_claim

ROUNDS = 200
# Both wait for the other's sign of each round, so that they come to the claim at the same moment.
RACE = f"""
import os, sys
archive, folder, mine, other = sys.argv[1:]
sys.path.insert(0, archive)
from windlass_job.claims import take_claim
for link in range(1, {ROUNDS} + 1):
    open(os.path.join(folder, "{{}}-{{}}".format(mine, link)), "w").close()
    while not os.path.exists(os.path.join(folder, "{{}}-{{}}".format(other, link))):
        pass
    attempt = take_claim(folder, link, {{"job": mine, "token": "t", "submission": 2}})
    if attempt:
        print(link, flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path)


@pytest.mark.parametrize("python", list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def test_a_race_for_what_an_older_submission_held_has_one_winner(tmp_path: Path, folder: str, python: str) -> None:
    archive = tmp_path / "job.pyz"
    archive.write_bytes(make_job_zip())
    for link in range(1, ROUNDS + 1):
        assert take(folder, "44", submission=1, link=link) == 1

    racers = [
        subprocess.Popen([python, "-c", RACE, archive, folder, *names], stdout=subprocess.PIPE, text=True)
        for names in (("45", "46"), ("46", "45"))
    ]
    won = [racer.communicate(timeout=60)[0].split() for racer in racers]

    assert [racer.returncode for racer in racers] == [0, 0]
    assert sorted(int(link) for link in won[0] + won[1]) == list(range(1, ROUNDS + 1))


def test_the_same_job_goes_on_and_others_do_not(folder: str) -> None:
    assert [take(folder, job) for job in ("45", "46", "45", "46")] == [1, None, 2, None]


def test_a_later_submission_supersedes_and_stays(folder: str) -> None:
    assert [take(folder, "45"), take(folder, "99", submission=2), take(folder, "45")] == [1, 1, None]
    assert is_superseded(folder, 1, 1, 1)
    assert not is_superseded(folder, 1, 2, 1)


def test_ten_submissions_are_more_than_nine_and_links_are_apart(folder: str) -> None:
    take(folder, "45", submission=10)

    assert take(folder, "44", submission=9) is None
    assert take(folder, "44", submission=9, link=10) == 1


def test_a_damaged_claim_holds_nothing(tmp_path: Path, folder: str) -> None:
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "1.1.1").touch()
    (tmp_path / "claims" / "notes").touch()

    assert [take(folder, job) for job in ("45", "46")] == [2, None]


def take(folder: str, job: str, *, submission: int = 1, link: int = 1) -> int | None:
    return take_claim(folder, link, {"job": job, "token": "t", "submission": submission})
