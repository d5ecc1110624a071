"""An attempt that a newer one has replaced publishes nothing more, however close they come."""

import json
from pathlib import Path

import pytest

from tests.job.harness import OLDEST_AND_NEWEST
from tests.job.trainings import Home, end, read_lines
from windlass_job.saving.attempts import FencedOff
from windlass_job.saving.checkpoints import Checkpoints

ROUNDS = 6
ATTEMPTS = 4

SLOW = """
import sys
from windlass_job import run
saves = run.checkpoint("checkpoints")
try:
    with saves.save(int(sys.argv[1])) as folder:
        (folder / "model.pt").write_text("old")
        print("writing", flush=True)
        sys.stdin.readline()
        if sys.argv[2] == "more":
            (folder / "more.pt").write_text("old")
except run.FencedOff as error:
    print(error)
    raise
"""
SAVE = """
import sys
from windlass_job import run
saves = run.checkpoint("checkpoints")
print("newest", saves.latest(), flush=True)
with saves.save(int(sys.argv[1])) as folder:
    (folder / "model.pt").write_text("new")
"""
# They come one shortly after the other, while those before them save as fast as they can.
# Each tells when it had the folder, and when the end of each of its saves began.
RACE = """
import json, os, sys, time
from windlass_job import run
go, mine = sys.argv[1], int(sys.argv[2])
while not os.path.exists(go):
    pass
time.sleep(0.1 * (mine - 1))
told = {"opened": None, "published": []}
try:
    saves = run.checkpoint("checkpoints")
    told["opened"] = time.monotonic()
    for step in range(1, int(sys.argv[3])):
        with saves.save(mine * 1000 + step) as folder:
            (folder / "x").touch()
            ending = time.monotonic()
        told["published"].append((step, ending))
except run.FencedOff:
    told["fenced"] = True
print(json.dumps(told))
"""


@pytest.mark.parametrize("python", list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
@pytest.mark.parametrize("what", ["more", "no more"])
def test_a_training_behind_a_cut_cable_cannot_publish(home: Home, python: str, what: str) -> None:
    home.python = python
    home.train(SAVE, 5)
    old = home.start(SLOW, 10, what)
    read_lines(old, "writing")

    new = home.train(SAVE, 6, attempt=(1, 1, 2))
    ended = old.communicate("go on\n", timeout=60)

    assert new.code == 0, new.err
    assert old.returncode == 1
    assert "FencedOff: a newer attempt (submission 1, link 1, attempt 2) has taken over" in ended[1]
    assert "this one (submission 1, link 1, attempt 1) publishes nothing more" in ended[0]
    assert home.list_saves() == ["step-0000000005", "step-0000000006"]


@pytest.mark.parametrize(("older", "newer"), [((1, 1, 1), (1, 1, 2)), ((1, 2, 9), (1, 3, 1)), ((1, 9, 9), (2, 1, 1))])
def test_attempts_are_ordered_over_the_whole_run(
    tmp_path: Path, older: tuple[int, int, int], newer: tuple[int, int, int]
) -> None:
    first = Checkpoints(tmp_path / "saves", env=make_env(older))
    save(first, 1)
    second = Checkpoints(tmp_path / "saves", env=make_env(newer))

    with pytest.raises(FencedOff, match="has taken over"):
        save(first, 2)
    with pytest.raises(FencedOff, match="has taken over"):
        Checkpoints(tmp_path / "saves", env=make_env(older))
    with pytest.raises(FencedOff, match="has taken over"):
        Checkpoints(tmp_path / "saves", env={**make_env(older), "RANK": "1", "WORLD_SIZE": "2"})
    save(second, 3)

    assert second.latest() == tmp_path / "saves" / "step-0000000003"
    assert len(list((tmp_path / "saves").glob(".windlass-*"))) == 1


def make_env(attempt: tuple[int, int, int]) -> dict[str, str]:
    names = ("WINDLASS_SUBMISSION", "WINDLASS_LINK", "WINDLASS_ATTEMPT")
    numbers = dict(zip(names, map(str, attempt), strict=True))
    return {"WINDLASS_RUN_DIR": "/nowhere", "WINDLASS_RUN_ID": "line-k3f9w", **numbers}


def save(saves: Checkpoints, step: int) -> None:
    with saves.save(step) as made:
        (made / "model.pt").write_text("weights")


def test_one_that_was_fenced_off_while_it_trained_cannot_begin_a_save(tmp_path: Path) -> None:
    first = Checkpoints(tmp_path / "saves", env=make_env((1, 1, 1)))
    Checkpoints(tmp_path / "saves", env=make_env((1, 2, 1)))

    with pytest.raises(FencedOff), first.save(1):
        pytest.fail("it must not come so far")


def test_one_whose_folder_was_made_again_by_a_late_sister_stays_fenced_off(tmp_path: Path) -> None:
    first = Checkpoints(tmp_path / "saves", env=make_env((1, 1, 1)))
    root = first.aside.root
    Checkpoints(tmp_path / "saves", env=make_env((1, 2, 1)))
    Path(root.decode()).mkdir()

    with pytest.raises(FencedOff):
        save(first, 1)


def test_of_many_that_race_none_publishes_after_a_newer_one_has_opened_the_folder(home: Home) -> None:
    published = fenced = 0
    for number in range(ROUNDS):
        go = home.path / f"go-{number}"
        racers = {
            attempt: home.start(RACE, go, attempt, 2 if attempt == ATTEMPTS else 100, attempt=(1, number + 1, attempt))
            for attempt in range(1, ATTEMPTS + 1)
        }
        go.touch()
        told = {attempt: json.loads(end(racer).out) for attempt, racer in racers.items()}

        assert "fenced" not in told[ATTEMPTS]
        for older, newer in ((older, newer) for newer in told for older in told if older < newer):
            opened = told[newer]["opened"]
            late = [step for step, ending in told[older]["published"] if opened is not None and ending > opened]
            assert late == [], f"attempt {older} published after attempt {newer} had opened the folder"
        published += sum(len(one["published"]) for attempt, one in told.items() if attempt < ATTEMPTS)
        fenced += sum("fenced" in one for one in told.values())

    print(f"{published} checkpoints of older attempts, {fenced} of {ROUNDS * (ATTEMPTS - 1)} fenced off")
    assert published > 0, "nobody raced"
    assert fenced > 0, "nobody was fenced off"
