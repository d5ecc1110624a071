"""At the end of a link: what is left by the measured pace, and which links that concerns."""

import json
from pathlib import Path

import pytest

from windlass.pocket.timeforms import read_duration
from windlass_job import slurm, wire
from windlass_job.agent import replanning
from windlass_job.events import Recorder

# Ten seconds an epoch, 20 s until the first word; links of an hour, of which a minute is for saving.
TOLD = {"done": 300, "of": 400, "t": 4500.0, "first_done": 0, "first_t": 1500.0, "link": 1}


def plan(of: float, *, links_left: int = 4, **change: object) -> "dict[str, object] | None":
    return replanning.plan_rest({**TOLD, "of": of, **change}, 1480.0, 3600.0, 60.0, links_left)


def test_less_than_a_link_is_left_so_the_links_that_wait_ask_for_less() -> None:
    # 1000 s of work and a fifth more, the warm-up and a fifth more, a minute to save: 1284 s in whole minutes.
    assert plan(400) == {
        "unit_s": 10.0,
        "left": 100,
        "needs_s": 1000,
        "links_needed": 1,
        "links_left": 4,
        "time_limit_s": 1320,
    }


def test_more_than_a_link_is_left_so_they_keep_their_time() -> None:
    rest = plan(1000)

    assert rest is not None
    assert (rest["needs_s"], rest["links_needed"], rest["time_limit_s"]) == (7000, 2, None)


def test_more_links_are_needed_than_are_left() -> None:
    rest = plan(2000, links_left=2)

    assert rest is not None
    assert (rest["links_needed"], rest["links_left"]) == (5, 2)


def test_the_last_unit_has_at_least_time_to_be_done_twice() -> None:
    rest = plan(301, t=1500.0 + 300 * 600)

    assert rest is not None
    assert (rest["needs_s"], rest["time_limit_s"]) == (600, 1320)


@pytest.mark.parametrize(
    "change", [{"of": None}, {"done": None}, {"t": "x"}, {"done": 0}, {"t": 1500.0}, {"done": 400}, {"first_t": True}]
)
def test_a_training_that_told_too_little_changes_nothing(change: "dict[str, object]") -> None:
    assert replanning.plan_rest({**TOLD, **change}, 1480.0, 3600.0, 60.0, 4) is None


@pytest.mark.parametrize("seconds", [1, 59, 60, 3599.2, 86_399, 86_400, 200_000])
def test_a_limit_is_written_as_slurm_reads_it(seconds: float) -> None:
    read = read_duration(slurm.format_limit(seconds))

    assert read is not None
    assert 0 <= read - seconds < 1


# ---- which links wait ------------------------------------------------------------------------------------------


def make_env(folder: Path, **values: str) -> "dict[str, str]":
    own = {wire.ENV_RUN_ID: "digits-k3f9w", wire.ENV_RUN_DIR: str(folder), wire.ENV_NUMBER: "4", "SLURM_JOB_ID": "45"}
    return {**own, wire.ENV_LINK: "2", wire.ENV_LINKS: "4", wire.ENV_CHAIN: "dependency", **values}


def write_receipt(folder: Path, number: int, job_id: str, *, token: str = "", refused: bool = False) -> None:
    place = folder / wire.SUBMISSIONS / str(number)
    place.mkdir(parents=True)
    token = token or wire.TOKEN.format(run_id="digits-k3f9w", number=number)
    receipt = {"job_id": job_id, "out": job_id, "refused": refused, "token": token}
    (place / wire.RECEIPT).write_text(json.dumps(receipt))


def test_later_links_of_an_array_are_its_tasks(tmp_path: Path) -> None:
    env = {"SLURM_ARRAY_JOB_ID": "45", "SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_MAX": "5"}

    assert slurm.list_later_jobs(make_env(tmp_path, **env)) == ["45_[3-5]"]
    assert slurm.list_later_jobs(make_env(tmp_path, **{**env, "SLURM_ARRAY_TASK_ID": "5"})) == []


def test_later_links_by_dependency_are_the_jobs_of_the_next_submissions(tmp_path: Path) -> None:
    for number in (3, 4, 5, 6, 7):
        write_receipt(tmp_path, number, f"notice of the day\n{100 + number};alpha\n")

    assert slurm.list_later_jobs(make_env(tmp_path)) == ["105", "106"], "7 is of a later resume"


def test_a_receipt_that_is_missing_refused_or_of_another_run_names_no_job(tmp_path: Path) -> None:
    write_receipt(tmp_path, 5, "105", token="windlass:other:5")
    write_receipt(tmp_path, 6, "106", refused=True)

    assert slurm.list_later_jobs(make_env(tmp_path)) == []
    assert slurm.list_later_jobs(make_env(tmp_path / "nowhere")) == []


def test_a_job_that_is_queued_again_has_nobody_behind_it(tmp_path: Path) -> None:
    write_receipt(tmp_path, 5, "105")

    assert slurm.list_later_jobs(make_env(tmp_path, **{wire.ENV_CHAIN: "requeue"})) == []


# ---- what is asked of Slurm ------------------------------------------------------------------------------------


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with what scontrol was asked, a line each: programs of the same name that write it down."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "scontrol").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n')
    (programs / "scontrol").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return tmp_path / "asked"


def go_on(folder: Path, **values: str) -> "list[dict[str, object]]":
    recorder = Recorder(str(folder), {"link": 2})
    env = make_env(folder, **{wire.ENV_LINK_S: "3600", wire.ENV_NOTICE_S: "60", **values})
    replanning.go_on(env, {"link": 2, "started": 1480.0, "progress": {**TOLD, "link": 2}}, recorder)
    recorder.flush(10)
    path = folder / wire.EVENTS
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_waiting_jobs_get_less_time_and_the_figures_are_told(tmp_path: Path, asked: Path) -> None:
    write_receipt(tmp_path, 5, "105")
    write_receipt(tmp_path, 6, "106")

    (event,) = go_on(tmp_path)

    assert asked.read_text() == "update JobId=105,106 TimeLimit=0-00:22:00\n"
    assert (event["kind"], event["needs_s"], event["time_limit_s"]) == (wire.REPLANNED, 1000, 1320)


def test_a_job_that_is_queued_again_is_put_back_first(tmp_path: Path, asked: Path) -> None:
    go_on(tmp_path, **{wire.ENV_CHAIN: "requeue"})

    assert asked.read_text() == "requeue 45\nupdate JobId=45 TimeLimit=0-00:22:00\n"


def test_after_the_last_link_nothing_is_asked(tmp_path: Path, asked: Path) -> None:
    assert go_on(tmp_path, **{wire.ENV_CHAIN: "requeue", wire.ENV_LINK: "4"}) == []
    assert not asked.exists()


def test_a_slurm_that_refuses_is_noted_and_nothing_else_happens(tmp_path: Path, asked: Path) -> None:
    (tmp_path / "bin" / "scontrol").write_text('#!/bin/sh\necho "Access/permission denied" >&2\nexit 1\n')
    write_receipt(tmp_path, 5, "105")

    told = go_on(tmp_path)

    assert [one["kind"] for one in told] == [wire.REPLANNED, wire.NOTE]
    assert told[1]["text"] == "the links that wait keep their time: Access/permission denied"
