"""Submission is exactly-once: the deputy is killed at every point where that could hurt."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.job.deputy_requests import DEPUTY, make_run, make_submit
from tests.waiting import wait_until
from windlass.edges.channel import Channel, ChannelClosed
from windlass.edges.host import Json, Reply, Request
from windlass.edges.local_host import LocalHost
from windlass.errors import ConnectionLost
from windlass_job import submission
from windlass_job.faults import FAULT_POINTS, VARIABLE

SUBMIT_POINTS = FAULT_POINTS[:6]
# Takes a job into the queue as a controller would, and says its number.
SBATCH = "#!/bin/sh\nsleep 0.05\necho $1 >> {queue}\nwc -l < {queue}\n"


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    (tmp_path / "sbatch").write_text(SBATCH.format(queue=tmp_path / "queue"))
    (tmp_path / "sbatch").chmod(0o755)
    (tmp_path / "queue").touch()
    host = LocalHost()
    [reply] = host.ask([make_run(tmp_path)])
    host.close()
    return Path(reply.values["folder"])


@pytest.mark.parametrize("point", SUBMIT_POINTS)
def test_death_at_any_point_submits_once(point: str, run_folder: Path) -> None:
    dying = LocalHost(env={VARIABLE: point})

    with pytest.raises(ConnectionLost, match="broke") as caught:
        dying.ask([make_submit(run_folder, sbatch_of(run_folder))])
    values = bring_to_an_end(run_folder)

    assert "submit" in (caught.value.done or "")
    assert values["job_id"] == "1"
    assert queue_of(run_folder) == ["token-1"]


@pytest.mark.slow
def test_death_at_any_instant_submits_once(run_folder: Path) -> None:
    rounds = 25
    for number in range(1, rounds + 1):
        channel = Channel(DEPUTY)
        pid = int(channel.hello["pid"])
        killer = threading.Timer(random.uniform(0, 0.12), os.kill, (pid, signal.SIGKILL))
        killer.start()
        with contextlib.suppress(ChannelClosed):
            channel.exchange([make_submit(run_folder, sbatch_of(run_folder, number), number)], patience_s=20)
        killer.cancel()
        channel.close()
        bring_to_an_end(run_folder, number)

    assert sorted(queue_of(run_folder)) == sorted(f"token-{number}" for number in range(1, rounds + 1))


def test_many_deputies_that_submit_at_once_submit_once(run_folder: Path) -> None:
    states: list[str] = []

    def ask() -> None:
        host = LocalHost()
        [reply] = host.ask([make_submit(run_folder, sbatch_of(run_folder))])
        states.append(reply.values["state"])
        host.close()

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert queue_of(run_folder) == ["token-1"]
    assert "submitted" in states
    assert set(states) <= {"submitted", "unclear"}


def test_a_submission_goes_on_when_the_laptop_is_gone(run_folder: Path) -> None:
    slow = ["sh", "-c", 'sleep 0.5; exec "$@"', "-", *sbatch_of(run_folder)]
    channel = Channel(DEPUTY)
    with pytest.raises(ChannelClosed):
        channel.exchange([make_submit(run_folder, slow)], patience_s=0.2)

    receipt = run_folder / "submissions" / "1" / "receipt.json"

    wait_until(receipt.exists, "the receipt", pause_s=0.05)
    assert queue_of(run_folder) == ["token-1"]


def test_what_is_under_way_cannot_be_forgotten_nor_called_refused(run_folder: Path) -> None:
    gate = run_folder / "gate"
    script = f"while ! test -e {gate}; do sleep 0.02; done; echo 5"
    dying = LocalHost(env={VARIABLE: "after-spawn"})
    with pytest.raises(ConnectionLost):
        dying.ask([make_submit(run_folder, ["sh", "-c", script])])
    place: Json = {"folder": str(run_folder), "number": 1}
    host = LocalHost()

    looked, forgotten, settled = host.ask(
        [
            Request(operation="submission", arguments=place),
            Request(operation="forget_intent", arguments=place),
            Request(operation="settle", arguments={**place, "job_id": None, "refused": True}),
        ]
    )
    gate.touch()

    assert looked.values["in_flight"] is True
    assert (forgotten.kind, settled.kind) == ("in-flight", "in-flight")
    wait_until(
        lambda: not host.ask([Request(operation="submission", arguments=place)])[0].values["in_flight"],
        "the child's end",
        pause_s=0.02,
    )
    host.close()


def test_a_child_that_was_slow_to_start_finds_the_seal(run_folder: Path) -> None:
    """The deputy died after fork; the laptop looked before the child had written itself down."""
    with pytest.raises(ConnectionLost):
        LocalHost(env={VARIABLE: "after-intent"}).ask([make_submit(run_folder, sbatch_of(run_folder))])
    host = LocalHost()
    place: Json = {"folder": str(run_folder), "number": 1}
    [looked] = host.ask([Request(operation="submission", arguments=place)])
    host.close()

    # In a process of its own, as the child would be: it sets an alarm clock and changes signal handlers.
    script = (
        "import sys, json, time; from windlass_job import submission as s; p = sys.argv[1].encode(); "
        "s._prepare_child(p, json.load(open(p + b'/intent.json')), time.monotonic() + 30)"
    )
    place_path = run_folder / "submissions" / "1"
    late = subprocess.run(
        [sys.executable, "-c", script, str(place_path)],
        env={**os.environ, "PYTHONPATH": str(Path(submission.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )

    assert looked.values["in_flight"] is False
    assert "RuntimeError: sealed" in late.stderr


def test_an_intent_of_another_host_is_in_flight_until_its_time_is_up(run_folder: Path) -> None:
    place = run_folder / "submissions" / "1"
    place.mkdir(parents=True)
    intent = place / "intent.json"
    arguments: Json = {"folder": str(run_folder), "number": 1}
    host = LocalHost()

    def is_in_flight(age_s: float, timeout_s: float) -> bool:
        written = time.time() - age_s
        intent.write_text(f'{{"host": "elsewhere", "time": {written}, "timeout_s": {timeout_s}}}')
        os.utime(intent, (written, written))
        [reply] = host.ask([Request(operation="submission", arguments=arguments)])
        return bool(reply.values["in_flight"])

    assert [is_in_flight(age_s, 60) for age_s in (5, 100, 140)] == [True, True, False]
    assert [is_in_flight(age_s, 300) for age_s in (140, 320, 340)] == [True, True, False]
    host.close()


def test_the_receipt_of_a_forgotten_intent_does_not_count_for_the_next(run_folder: Path) -> None:
    """A deputy that slept writes its refusal while the next submission is under way."""
    receipt = run_folder / "submissions" / "1" / "receipt.json"
    script = f'echo \'{{"refused": true, "nonce": "old"}}\' > {receipt}; exec "$@"'
    host = LocalHost()

    first, again = (
        host.ask([make_submit(run_folder, ["sh", "-c", script, "-", *sbatch_of(run_folder)])])[0] for _ in range(2)
    )
    host.close()

    assert (first.values["state"], again.values["state"]) == ("submitted", "submitted")
    assert queue_of(run_folder) == ["token-1"]


def test_a_deputy_left_behind_does_not_keep_its_submission_in_flight(run_folder: Path) -> None:
    """Its connection is dead without either end having noticed."""
    left_behind, other = LocalHost(), LocalHost()
    [unclear] = left_behind.ask([make_submit(run_folder, ["sh", "-c", "kill -9 $$"])])

    [looked] = other.ask([Request(operation="submission", arguments={"folder": str(run_folder), "number": 1})])

    assert unclear.values["state"] == "unclear"
    assert looked.values["in_flight"] is False
    left_behind.close()
    other.close()


def test_an_intent_cut_short_counts_as_one(run_folder: Path) -> None:
    place = run_folder / "submissions" / "1"
    place.mkdir(parents=True)
    (place / "intent.json").touch()

    [reply] = LocalHost().ask([make_submit(run_folder, sbatch_of(run_folder))])

    assert (reply.values["state"], reply.values["in_flight"]) == ("unclear", True)
    assert queue_of(run_folder) == []


# ---- the laptop's side of the protocol ----------------------------------------------------------


def bring_to_an_end(run_folder: Path, number: int = 1) -> Json:
    """What the laptop does after a lost connection: look, ask the queue for the token, settle or forget, submit."""
    host = LocalHost()
    place: Json = {"folder": str(run_folder), "number": number}

    def ask(operation: str, **more: object) -> Reply:
        [reply] = host.ask([Request(operation=operation, arguments={**place, **more})])
        assert reply.ok, reply.problem
        return reply

    wait_until(lambda: not ask("submission").values["in_flight"], "the end of what is under way", pause_s=0.01)
    found = ask("submission").values
    if found["intent"] is not None and found["receipt"] is None:
        queue = queue_of(run_folder)
        if f"token-{number}" in queue:
            ask("settle", job_id=str(queue.index(f"token-{number}") + 1), out=None, refused=False)
        else:
            ask("forget_intent")
    [reply] = host.ask([make_submit(run_folder, sbatch_of(run_folder, number), number)])
    host.close()
    assert reply.values["state"] == "submitted"
    return reply.values


def queue_of(run_folder: Path) -> list[str]:
    return (run_folder.parents[1] / "queue").read_text().split()


def sbatch_of(run_folder: Path, number: int = 1) -> list[str]:
    return [str(run_folder.parents[1] / "sbatch"), f"token-{number}"]
