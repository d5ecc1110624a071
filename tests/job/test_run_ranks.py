"""Several ranks: they save into one folder, find the same checkpoint, and stop at the same step."""

import json
import os
import random
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.job.harness import OLDEST_AND_NEWEST, PYTHONS
from tests.job.trainings import Home, end

RANKS = 4
TOGETHER = """
import random, sys, time
from windlass_job import run
saves = run.checkpoint("checkpoints", keep=2, patience_s=float(sys.argv[2]))
chance = random.Random(run.rank)
print("from", saves.latest(), flush=True)
for step in range(1, int(sys.argv[1]) + 1):
    with saves.save(step, all_ranks=True) as folder:
        time.sleep(chance.uniform(0, 0.05))
        (folder / "part-{}".format(run.rank)).write_text("{} of {}".format(run.rank, step))
print("now", saves.latest(), flush=True)
"""


@pytest.mark.parametrize("python", list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def test_all_ranks_write_into_one_checkpoint(home: Home, python: str) -> None:
    home.python = python

    done = [end(rank) for rank in home.start_ranks(RANKS, TOGETHER, 5, 60)]
    again = [end(rank) for rank in home.start_ranks(RANKS, TOGETHER, 1, 60, env={"WINDLASS_TRY": "2"})]

    assert [one.code for one in (*done, *again)] == [0] * 2 * RANKS, [one.err for one in (*done, *again)]
    assert {one.out for one in done} == {f"from None\nnow {home.saves}/step-0000000005\n"}
    # Step 1 is saved once more; its older namesake is long gone.
    assert {one.out for one in again} == {f"from {home.saves}/step-0000000005\nnow {home.saves}/step-0000000001\n"}
    parts = {path.name: path.read_text() for path in (home.saves / "step-0000000005").glob("part-*")}
    assert parts == {f"part-{rank}": f"{rank} of 5" for rank in range(RANKS)}


def test_a_rank_that_does_not_come_is_named(home: Home) -> None:
    ranks = home.start_ranks(RANKS, TOGETHER, 1, 3)
    ranks[2].kill()

    done = end(ranks[0])

    assert done.code == 1
    assert "SaveFailed: ranks 2 have not finished their part within 3 s" in done.err
    assert home.list_saves() == []


FAILING = """
from windlass_job import run
saves = run.checkpoint("checkpoints", patience_s=60)
with saves.save(1, all_ranks=True) as folder:
    (folder / str(run.rank)).touch()
    if run.rank == 3:
        raise OSError(5, "mine")
"""


def test_a_rank_that_fails_ends_the_save_at_once_for_rank_0_too(home: Home) -> None:
    done = [end(rank) for rank in home.start_ranks(RANKS, FAILING)]

    assert (done[0].code, done[3].code) == (1, 1)
    assert "rank 3 could not save its part: OSError: [Errno 5] mine" in done[0].err
    assert home.list_saves() == []


AFTER_A_FAILURE = """
import pathlib, time
from windlass_job import run
saves = run.checkpoint("checkpoints", patience_s=60)
if run.rank == 2:
    while not list(pathlib.Path("checkpoints").glob(".windlass-*/*/*.given-up")):
        time.sleep(0.05)
with saves.save(1, all_ranks=True):
    if run.rank == WHO:
        raise OSError(5, "mine")
"""


@pytest.mark.parametrize("who", [0, 3])
def test_a_rank_that_comes_after_the_failure_of_another_need_not_wait(home: Home, who: int) -> None:
    done = [end(rank) for rank in home.start_ranks(RANKS, AFTER_A_FAILURE.replace("WHO", str(who)))]

    assert "SaveFailed: rank 0 has given this checkpoint up: " in done[2].err
    assert "mine" in done[2].err


CARELESS = """
from windlass_job import run
saves = run.checkpoint("checkpoints", patience_s=60)
for step in range(3):
    with saves.save(step) as folder:
        (folder / "model.pt").write_text("rank {}".format(run.rank))
print(run.rank, run.world_size, saves.latest())
"""


def test_code_that_saves_on_every_rank_does_no_harm(home: Home) -> None:
    done = [end(rank) for rank in home.start_ranks(RANKS, CARELESS)]

    assert [one.code for one in done] == [0] * RANKS, [one.err for one in done]
    assert {one.out.split(" ", 2)[2] for one in done} == {f"{home.saves}/step-0000000002\n"}
    assert (home.saves / "step-0000000002" / "model.pt").read_text() == "rank 0"
    assert list(home.saves.glob(".windlass-*/*/step-*")) == []


LATEST = """
from windlass_job import run
print(run.checkpoint("checkpoints", patience_s=60).latest())
"""
SAVE = """
from windlass_job import run
for step in (1, 2):
    with run.checkpoint("checkpoints").save(step) as folder:
        (folder / "model.pt").write_text("x" * 100000)
"""


@pytest.mark.parametrize("what", ["truncated", "one bit"])
def test_all_ranks_pass_over_the_same_damaged_one(home: Home, what: str) -> None:
    """A bit that has changed leaves the size as it was: only who reads all of it can see that."""
    home.train(SAVE)
    weights = home.saves / "step-0000000002" / "model.pt"
    if what == "truncated":
        os.truncate(weights, 10)
    else:
        weights.write_text("x" * 99999 + "y")

    done = [end(rank) for rank in home.start_ranks(RANKS, LATEST, attempt=(1, 2, 1))]

    assert {one.out for one in done} == {f"{home.saves}/step-0000000001\n"}, [one.err for one in done]


def test_ranks_do_not_believe_what_rank_0_said_in_an_earlier_try(home: Home) -> None:
    env = {"RANK": "1", "WORLD_SIZE": "2", "WINDLASS_TRY": "2"}
    first = [end(rank) for rank in home.start_ranks(2, LATEST)]
    home.train(SAVE)

    early = home.start(LATEST, env=env)
    late = home.start(LATEST, env={**env, "RANK": "0"})

    assert {one.out for one in first} == {"None\n"}
    assert {end(early).out, end(late).out} == {f"{home.saves}/step-0000000002\n"}


LATE = """
import sys, time
from windlass_job import run
step = int(sys.argv[1])
time.sleep(step - 1 if run.rank == 0 else 0)
saves = run.checkpoint("checkpoints", patience_s=60)
print(saves.latest(), flush=True)
with saves.save(step, all_ranks=True) as folder:
    (folder / str(run.rank)).touch()
"""


@pytest.mark.parametrize("attempt", [(1, 1, 1), None], ids=["in Windlass", "outside"])
def test_ranks_do_not_believe_what_rank_0_said_in_an_earlier_start_of_the_same_try(
    home: Home, attempt: tuple[int, int, int] | None
) -> None:
    """Two trainings one after the other in one step, where nothing in the environment tells them apart."""
    ranks = [{"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_PORT": "29500"} for rank in (0, 1)]
    first = [end(one) for one in [home.start(LATE, 1, attempt=attempt, env=env) for env in ranks]]

    second = [end(one) for one in [home.start(LATE, 2, attempt=attempt, env=env) for env in ranks]]

    assert {one.out for one in first} == {"None\n"}, [one.err for one in first]
    assert {one.out for one in second} == {f"{home.saves}/step-0000000001\n"}, [one.err for one in second]
    assert home.list_saves() == ["step-0000000001", "step-0000000002"]


# A barrier for each step, as the gradients of DDP are one: nobody begins a step that another has not.
STEPS = """
import os, random, socket, struct, sys, time
from windlass_job import run

place, size = sys.argv[1], int(os.environ["WORLD_SIZE"])

def connect():
    if run.rank == 0:
        server = socket.socket(socket.AF_UNIX)
        server.bind(place)
        server.listen(size)
        return [server.accept()[0] for _ in range(size - 1)]
    while True:
        client = socket.socket(socket.AF_UNIX)
        try:
            client.connect(place)
            return [client]
        except OSError:
            client.close()
            time.sleep(0.01)

def receive(other):
    data = b""
    while len(data) < 8:
        more = other.recv(8 - len(data))
        if not more:
            sys.exit("another rank has left: it stopped at another step")
        data += more
    return struct.unpack("q", data)[0]

def least(number):
    others = connections
    if run.rank != 0:
        others[0].sendall(struct.pack("q", number))
        return receive(others[0])
    found = min([number] + [receive(one) for one in others])
    for one in others:
        one.sendall(struct.pack("q", found))
    return found

connections = connect()
chance = random.Random(int(sys.argv[2]) * 100 + run.rank)
slow = chance.choice([0, 0, 0.0005, 0.002])
step = 0
while True:
    step += 1
    time.sleep(chance.uniform(0, slow))
    least(0)
    if step == 20:
        print("ready", flush=True)
    if run.should_stop(all_ranks=True, least=least):
        break
print("stopped", step, flush=True)
"""


@pytest.mark.parametrize("seed", range(4))
def test_ranks_of_different_speed_stop_at_the_same_step_whoever_is_told(home: Home, seed: int) -> None:
    """One rank gets the signal at a random moment; a rank that stops alone makes the others fail."""
    chance = random.Random(seed)
    home.python = chance.choice(list(PYTHONS.values()))
    ranks = home.start_ranks(RANKS, STEPS, home.path / "meet", seed)
    for rank in ranks:
        assert rank.stdout is not None
        assert rank.stdout.readline() == "ready\n", rank.stderr and rank.stderr.read()

    ranks[chance.randrange(RANKS)].send_signal(signal.SIGTERM)
    done = [end(rank) for rank in ranks]

    assert [one.code for one in done] == [0] * RANKS, [one.err for one in done]
    assert len({one.out for one in done}) == 1, [one.out for one in done]


def test_ranks_of_different_clocks_stop_at_the_same_step_when_time_is_short(home: Home) -> None:
    now = int(time.time())
    ranks = []
    for rank in range(RANKS):
        env = {"RANK": str(rank), "WORLD_SIZE": str(RANKS), "SLURM_JOB_END_TIME": str(now + 4 + 3 * rank)}
        ranks.append(home.start(STEPS, home.path / "meet", 7, env=env))

    done = [end(rank) for rank in ranks]

    assert [one.code for one in done] == [0] * RANKS, [one.err for one in done]
    assert len({one.out for one in done}) == 1, [one.out for one in done]
    told = json.loads((home.run / "progress.json").read_text())
    assert told["stopping"] is True


def test_without_a_way_to_agree_it_says_what_to_give(home: Home) -> None:
    done = home.train(
        "from windlass_job import run; run.should_stop(all_ranks=True)", env={"RANK": "0", "WORLD_SIZE": "2"}
    )

    assert re.search("RuntimeError: .* finds neither torch.distributed .* give it least=FUNCTION", done.err)


@pytest.mark.parametrize(
    ("env", "place"),
    [
        ({}, "0 1"),
        ({"RANK": "3", "WORLD_SIZE": "8", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}, "3 8"),
        ({"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}, "1 2"),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, "0 1"),  # the batch script itself
        ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}, "2 4"),
        ({"RANK": "", "WORLD_SIZE": "what"}, "0 1"),
    ],
)
def test_a_rank_is_what_the_launcher_says(tmp_path: Path, env: dict[str, str], place: str) -> None:
    home = Home(tmp_path, sys.executable)

    done = home.train("from windlass_job import run; print(run.rank, run.world_size)", env=env)

    assert done.out.strip() == place
