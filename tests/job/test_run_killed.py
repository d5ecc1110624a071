"""kill -9 at any point of a save, and a full disk: the checkpoint before is there, and the next save works."""

import errno
import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.job.harness import OLDEST_AND_NEWEST
from tests.job.trainings import Home, end, read_lines
from windlass_job.faults import SAVE_POINTS, VARIABLE
from windlass_job.saving.checkpoints import Checkpoints

# Each file repeats its step: a checkpoint that is a mixture, or a part, is seen.
TRAIN = """
import os, sys
from windlass_job import run
saves = run.checkpoint("checkpoints", keep=int(sys.argv[1]))
newest = saves.latest()
first = 0
if newest:
    steps = {int(word) for name in os.listdir(str(newest)) if name.endswith(".txt")
             for word in (newest / name).open().read().split()}
    assert len(steps) == 1 and len(list(newest.glob("*.txt"))) == 4, steps
    first = steps.pop()
print("from", first, flush=True)
for step in range(first + 1, first + 1 + int(sys.argv[2])):
    with saves.save(step) as folder:
        for name in "abcd":
            with (folder / (name + ".txt")).open("w") as file:
                file.write("{} ".format(step) * 20000)
    print("saved", step, flush=True)
"""


@pytest.fixture(params=list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def old_or_new(home: Home, request: pytest.FixtureRequest) -> Home:
    home.python = request.param
    return home


@pytest.mark.parametrize("keep", [1, 2])
@pytest.mark.parametrize("point", SAVE_POINTS)
def test_death_at_every_point_of_a_save_costs_no_checkpoint(old_or_new: Home, point: str, keep: int) -> None:
    home = old_or_new
    home.train(TRAIN, keep, keep)

    killed = home.train(TRAIN, keep, 1, env={VARIABLE: point})
    again = home.train(TRAIN, keep, 1)

    was_published = SAVE_POINTS.index(point) >= SAVE_POINTS.index("save-published")
    assert killed.code == -signal.SIGKILL
    assert again.out.split()[:2] == ["from", str(keep + was_published)], again.err
    assert again.code == 0
    assert len(home.list_saves()) == keep
    assert list_leftovers(home) == []


def list_leftovers(home: Home) -> list[str]:
    """What a dead try left in the folder of its attempt: the try after it clears it away."""
    inside = [str(path.relative_to(home.saves)) for path in home.saves.glob(".windlass-*/*/*")]
    return inside + [one.name for one in home.saves.glob(".windlass-removed-*")]


@pytest.mark.parametrize("seed", range(3))
def test_death_at_any_moment_costs_no_checkpoint(home: Home, seed: int) -> None:
    chance = random.Random(seed)
    saved = 0
    for _ in range(6):
        process = home.start(TRAIN, 2, 100000)
        begun = int(read_lines(process, "from").split()[1])
        assert begun >= saved
        for _ in range(chance.randrange(1, 4)):
            read_lines(process, "saved")
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(chance.uniform(0, 0.02))
        process.kill()
        said = end(process).out
        saved = max([begun, *map(int, re.findall(r"saved (\d+)\n", said))])

    done = home.train(TRAIN, 2, 1)
    assert done.code == 0, done.err
    assert int(done.out.split()[1]) >= saved
    assert len(home.list_saves()) == 2


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "none", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("only root may mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk_leaves_the_checkpoint_before_and_says_so(small_disk: Path) -> None:
    saves = Checkpoints(small_disk / "saves", env={})
    with saves.save(1) as made:
        (made / "model.pt").write_bytes(b"x" * 1_000_000)

    with pytest.raises(
        OSError, match=r"no space for the checkpoint of step 2 in .*/saves; kept: step-0000000001"
    ) as met:
        write_too_much(saves)

    assert met.value.errno == errno.ENOSPC
    assert saves.latest() == small_disk / "saves" / "step-0000000001"
    assert os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize > 2_000_000
    with saves.save(3) as made:
        (made / "model.pt").write_bytes(b"y" * 1_000_000)
    assert saves.latest() == small_disk / "saves" / "step-0000000003"


def write_too_much(saves: Checkpoints) -> None:
    with saves.save(2) as made:
        (made / "model.pt").write_bytes(b"x" * 10_000_000)


STOPPED = """
import os, sys
from windlass_job import run
saves = run.checkpoint(sys.argv[1])
run.progress(0, 1000, "step")
with saves.save(1) as folder:
    (folder / "x").write_text("x")
place = os.environ["WINDLASS_RUN_DIR"]
if sys.argv[2] == "gone":
    os.unlink(place + "/progress.json")
with open(place + "/filler", "wb", 0) as file:
    try:
        while True:
            file.write(b"x" * 1024)
    except OSError:
        pass
os.kill(os.getpid(), 15)
assert run.should_stop()
with saves.save(34) as folder:
    (folder / "x").write_text("x")
if sys.argv[2] == "room at last":
    os.unlink(place + "/filler")
"""


@pytest.mark.parametrize("how", ["full", "gone", "room at last"])
def test_who_stops_says_so_although_the_run_folder_is_full(small_disk: Path, tmp_path: Path, how: str) -> None:
    """Otherwise a training that leaves with 0 at step 34 of 1000 is taken for finished."""
    home = Home(small_disk)

    done = home.train(STOPPED, tmp_path / "elsewhere", how)

    assert done.code == 0, done.err
    if how == "gone":
        assert "did not take the word that this training is stopping" in done.err
    else:
        told = json.loads((home.run / "progress.json").read_text())
        assert (told["stopping"], told["saved_step"], told["of"]) == (True, 34, 1000)
        assert "did not take the word" not in done.err


def test_a_save_is_told_before_the_training_can_be_killed(home: Home) -> None:
    script = """
import os
from windlass_job import run
with run.checkpoint("checkpoints").save(7) as folder:
    (folder / "x").touch()
os.kill(os.getpid(), 9)
"""
    done = home.train(script)

    assert done.code == -9
    assert json.loads((home.run / "progress.json").read_text())["saved_step"] == 7


def test_a_library_that_hides_a_full_disk_is_seen_through(small_disk: Path) -> None:
    """torch.save ends with a RuntimeError then."""
    saves = Checkpoints(small_disk / "saves", env={})

    with pytest.raises(OSError, match="no space for the checkpoint of step 2") as met:
        write_as_torch_does(saves)

    assert isinstance(met.value.__cause__, RuntimeError)


def write_as_torch_does(saves: Checkpoints) -> None:
    with saves.save(2) as made:
        try:
            (made / "model.pt").write_bytes(b"x" * 10_000_000)
        except OSError:
            raise RuntimeError("file write failed") from None


def test_a_disk_that_has_no_room_for_the_manifest_publishes_nothing(small_disk: Path) -> None:
    saves = Checkpoints(small_disk / "saves", env={})
    with saves.save(1) as made:
        (made / "model.pt").write_bytes(b"x")

    with pytest.raises(OSError, match="kept: step-0000000001"):
        save_and_fill(saves, small_disk / "other")

    assert saves.latest() == small_disk / "saves" / "step-0000000001"


def save_and_fill(saves: Checkpoints, other: Path) -> None:
    with saves.save(2) as made:
        (made / "model.pt").write_bytes(b"x")
        with other.open("wb", 0) as file, suppress(OSError):
            while True:
                file.write(b"x" * 4096)


LIMITED = """
import resource, sys
from windlass_job import run
saves = run.checkpoint("checkpoints")
with saves.save(1) as folder:
    (folder / "a").write_bytes(b"x" * 1000)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
try:
    with saves.save(2) as folder:
        (folder / "a").write_bytes(b"x" * 10000)
except OSError as error:
    print(error.strerror)
print(saves.latest())
"""


def test_a_limit_on_files_is_told_as_it_is(tmp_path: Path) -> None:
    home = Home(tmp_path, sys.executable)

    done = home.train(LIMITED)

    assert done.code == 0, done.err
    assert done.out == f"File too large\n{home.saves}/step-0000000001\n"
