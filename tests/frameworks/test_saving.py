"""Checkpoints by `run` with the savers that people use: torch.save, torch.distributed.checkpoint, Lightning."""

import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.job.trainings import Home, end, read_lines

TRAININGS = Path(__file__).parent / "trainings"
FAR = 10_000_000


@pytest.fixture
def home(tmp_path: Path, python: Path) -> Iterator[Home]:
    made = Home(tmp_path, str(python))
    yield made
    made.stop()


def script(name: str) -> str:
    """Run as the file it is, since processes that it starts import it."""
    path = TRAININGS / name
    return f"import runpy, sys; sys.argv[0] = {str(path)!r}; runpy.run_path(sys.argv[0], run_name='__main__')"


def meet(number: int) -> dict[str, str]:
    """Where the ranks of a start meet, and which start it is.

    Stopped by SIGUSR2, as the manual advises for Lightning: it answers SIGTERM itself, by leaving without a save.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return {
        "WINDLASS_STOP_SIGNAL": "USR2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WINDLASS_TRY": str(number),
    }


def test_shards_of_all_ranks_are_one_checkpoint_and_all_stop_together(home: Home) -> None:
    ranks = home.start_ranks(2, script("saving_shards.py"), FAR, env=meet(2))
    read_lines(ranks[1], "training")
    ranks[1].send_signal(signal.SIGUSR2)
    told = [end(one) for one in ranks]

    stopped = {int(step) for one in told for step in re.findall(r"saved (\d+)", one.out)}
    assert [one.code for one in told] == [0, 0], [one.err for one in told]
    assert len(stopped) == 1, told
    assert home.list_saves() == [f"step-{stopped.pop():010d}"]


def test_a_training_in_two_parts_ends_as_one_in_one_part(home: Home) -> None:
    """Also on another number of ranks."""
    whole = [end(one) for one in home.start_ranks(2, script("saving_shards.py"), 8, env=meet(1))]
    home.saves.rename(home.path / "undisturbed")
    half = [end(one) for one in home.start_ranks(2, script("saving_shards.py"), 5, env=meet(2))]
    rest = end(home.start(script("saving_shards.py"), 8, env={**meet(3), "RANK": "0", "WORLD_SIZE": "1"}))

    assert [one.code for one in (*whole, *half, rest)] == [0] * 5, [one.err for one in (*whole, *half, rest)]
    assert "from 5" in rest.out
    assert re.findall(r"saved 8 loss (\S+)", rest.out) == re.findall(r"saved 8 loss (\S+)", whole[0].out)


def test_ranks_that_only_torch_knows_are_known(home: Home) -> None:
    done = end(home.start(script("saving_spawned.py"), home.path / "meet"))

    assert done.code == 0, done.err
    assert sorted(done.out.splitlines()) == ["0 2 [0.0, 0.0, 0.0, 0.0]", "1 2 [0.0, 0.0, 0.0, 0.0]"]
    told = {path.name: path.read_text() for path in (home.run / "metrics").iterdir()}
    assert sorted(told) == ["1.0.jsonl", "1.1.jsonl"]
    assert '"weight":1.0,"sum":4.0}' in told["1.1.jsonl"]


@pytest.mark.parametrize("size", [1, 2])
def test_lightning_saves_stops_and_goes_on(home: Home, size: int) -> None:
    def start(last: int, number: int) -> list["subprocess.Popen[str]"]:
        env = meet(number)
        if size == 1:
            return [home.start(script("saving_lightning.py"), last, env=env)]
        locals_ = [{**env, "RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank)} for rank in range(size)]
        torchrun = {"GROUP_RANK": "0", "TORCHELASTIC_RUN_ID": "mine", "LOCAL_WORLD_SIZE": str(size)}
        return [home.start(script("saving_lightning.py"), last, env={**one, **torchrun}) for one in locals_]

    ranks = start(FAR, 1)
    read_lines(ranks[-1], "training")
    ranks[-1].send_signal(signal.SIGUSR2)
    told = [end(one) for one in ranks]
    saved = {int(step) for one in told for step in re.findall(r"saved (\d+)", one.out)}
    assert [one.code for one in told] == [0] * size, [one.err for one in told]
    assert len(saved) == 1
    step = saved.pop()

    again = [end(one) for one in start(step + 4, 2)]

    assert [one.code for one in again] == [0] * size, [one.err for one in again]
    assert all(f"from step-{step:010d}\n" in one.out for one in again)
    assert all(f"saved {step + 4}\n" in one.out for one in again)


FULL = """
import sys, torch
from windlass_job import run
saves = run.checkpoint(sys.argv[1])
with saves.save(1) as folder:
    torch.save(torch.zeros(1000), folder / "model.pt")
try:
    with saves.save(2) as folder:
        torch.save(torch.zeros(10000000), folder / "model.pt")
except OSError as error:
    print(error.strerror)
print(torch.load(saves.latest() / "model.pt").shape)
"""


def test_torch_save_on_a_full_disk_is_an_error_that_says_what_was_kept(home: Home, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small disk")
    try:
        done = home.train(FULL, disk / "saves")
    finally:
        subprocess.run(["umount", "-l", disk], check=True)

    assert done.code == 0, done.err
    assert f"no space for the checkpoint of step 2 in {disk}/saves; kept: step-0000000001" in done.out
    assert "torch.Size([1000])" in done.out
