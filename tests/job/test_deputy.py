"""The deputy on every Python it may meet, and killed at every point where that could hurt."""

import contextlib
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.cluster.cluster import wait_until
from windlass.edges.bundle import BOOTSTRAP, PYTHON_FLAGS
from windlass.edges.channel import Channel, ChannelClosed
from windlass.edges.host import Json, Reply, Request, make_command, read_completed
from windlass.edges.local_host import LocalHost
from windlass.errors import ConnectionLost, SiteNotReady
from windlass_job import submission
from windlass_job.faults import FAULT_POINTS, VARIABLE

CODE = "é = 1\n".encode()
SUBMIT_POINTS = FAULT_POINTS[:6]
PREPARE_POINTS = FAULT_POINTS[6:]
# Takes a job into the queue as a controller would, and says its number.
SBATCH = "#!/bin/sh\nsleep 0.05\necho $1 >> {queue}\nwc -l < {queue}\n"


def find_pythons() -> list[str]:
    versions = [f"3.{minor}" for minor in range(6, 14)]
    pyenv = sorted((Path.home() / ".pyenv" / "versions").glob("*/bin/python"))
    found = {version: shutil.which(f"python{version}") for version in versions}
    for path in pyenv:
        version = ".".join(path.parts[-3].split(".")[:2])
        if version in found:
            found[version] = str(path)
    return [found[version] or f"python{version}" for version in versions]


@pytest.mark.parametrize("python", find_pythons())
def test_the_deputy_works_on_this_python(python: str, tmp_path: Path) -> None:
    if shutil.which(python) is None:
        pytest.skip(f"{python} is not installed")
    host = LocalHost(python=python, env={"LC_ALL": "C", "PYTHONUTF8": "0"})

    facts, prepared, submitted, echoed, listed = host.ask(
        [
            Request(operation="facts", arguments={"root": str(tmp_path)}),
            make_run(tmp_path),
            make_submit(tmp_path / "runs" / "a-11111", ["echo", "7"]),
            make_command(["printf", "%s", "é €"]),
            Request(operation="list_files", arguments={"folder": str(tmp_path), "patterns": ["runs/*/code/**"]}),
        ]
    )
    host.close()

    assert facts.ok
    assert prepared.ok, prepared.problem
    assert submitted.values["state"] == "submitted"
    assert read_completed(echoed).out == "é €"
    assert [file["path"] for file in listed.values["files"]] == ["runs/a-11111/code/é.py"]


def test_python_2_is_too_old() -> None:
    found = sorted((Path.home() / ".pyenv" / "versions").glob("2.7.*/bin/python"))
    python = str(found[0]) if found else shutil.which("python2.7")
    if python is None:
        pytest.skip("python2.7 is not installed")

    with pytest.raises(SiteNotReady, match=r"3\.6 or newer"):
        LocalHost(python=python).ask([Request(operation="facts")])


def test_a_program_that_is_no_python_is_told() -> None:
    with pytest.raises(SiteNotReady, match="does not start"):
        LocalHost(python="/bin/false").ask([Request(operation="facts")])
    with pytest.raises(SiteNotReady, match="cannot start"):
        LocalHost(python="/none/python").ask([Request(operation="facts")])


def test_the_deputy_leaves_when_its_input_ends() -> None:
    channel = Channel([sys.executable, *PYTHON_FLAGS, "-c", BOOTSTRAP])
    pid = int(channel.hello["pid"])

    channel.close()

    assert not is_running(pid)


def test_a_silent_deputy_is_given_up(tmp_path: Path) -> None:
    channel = Channel([sys.executable, *PYTHON_FLAGS, "-c", BOOTSTRAP])

    with pytest.raises(ChannelClosed) as caught:
        channel.exchange([make_command(["sleep", "3"])], patience_s=0.2)

    assert (caught.value.reason, caught.value.wrote) == ("silent", True)


def test_an_end_known_before_is_told_before_anything_is_written() -> None:
    channel = Channel([sys.executable, *PYTHON_FLAGS, "-c", BOOTSTRAP])
    os.kill(int(channel.hello["pid"]), signal.SIGKILL)
    wait_until(lambda: not is_running(int(channel.hello["pid"])), "its end", pause_s=0.01)

    with pytest.raises(ChannelClosed) as caught:
        channel.exchange([make_command(["true"])], patience_s=5)

    assert (caught.value.reason, caught.value.wrote) == ("ended", False)


def test_ctrl_c_in_the_terminal_is_not_for_the_deputy() -> None:
    channel = Channel([sys.executable, *PYTHON_FLAGS, "-c", BOOTSTRAP])

    assert os.getpgid(int(channel.hello["pid"])) != os.getpgid(0)
    channel.close()


# ---- killed -------------------------------------------------------------------------------------


@pytest.mark.parametrize("point", PREPARE_POINTS)
def test_a_run_folder_is_whole_or_not_there(point: str, tmp_path: Path) -> None:
    dying = LocalHost(env={VARIABLE: point})
    channel_died = False
    try:
        dying.ask([make_run(tmp_path), make_command(["true"])])
    except ConnectionLost:
        channel_died = True

    final = tmp_path / "runs" / "a-11111"
    assert channel_died
    assert final.exists() is (point == "after-rename")
    [reply] = LocalHost().ask([make_run(tmp_path)])
    assert reply.values["existed"] is (point == "after-rename")
    assert (final / "code" / "é.py").read_bytes() == CODE


def test_half_made_folders_of_yesterday_are_removed(tmp_path: Path) -> None:
    old, young = tmp_path / "runs" / ".new-b-22222-x", tmp_path / "runs" / ".new-c-33333-x"
    for folder in (old, young):
        folder.mkdir(parents=True)
    os.utime(old, (0, 0))

    LocalHost().ask([make_run(tmp_path)])

    assert (old.exists(), young.exists()) == (False, True)


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
        channel = Channel([sys.executable, *PYTHON_FLAGS, "-c", BOOTSTRAP])
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
    channel = Channel([sys.executable, *PYTHON_FLAGS, "-c", BOOTSTRAP])
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


@pytest.mark.skipif(os.getuid() != 0, reason="only root can mount a small file system")
def test_a_full_disk_is_told_and_leaves_nothing_half_made(tmp_path: Path) -> None:
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", tmp_path], check=False)
    if mounted.returncode:
        pytest.skip("this machine cannot mount a small file system")
    host = LocalHost()
    try:
        [whole] = host.ask([make_run(tmp_path)])
        (tmp_path / "rest").write_bytes(bytes(40 * 1024))
        large: Json = {"files": [{"path": str(tmp_path / "large"), "bytes": 50_000}]}
        full = tmp_path / "full"
        with contextlib.suppress(OSError), full.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))

        written, submitted = host.ask(
            [
                Request(operation="write", arguments=large, payload=bytes(50_000)),
                make_submit(tmp_path / "runs" / "a-11111", ["echo", "7"]),
            ]
        )
        names = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    finally:
        host.close()
        subprocess.run(["umount", tmp_path], check=True)

    assert whole.ok
    assert (written.kind, submitted.kind) == ("no-space", "no-space")
    assert not [name for name in names if "large" in name or "intent" in name]


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


def make_run(root: Path) -> Request:
    digest = hashlib.sha256(CODE).hexdigest()
    arguments: Json = {
        "root": str(root),
        "run_id": "a-11111",
        "manifest": {"files": [{"path": "é.py", "sha256": digest, "mode": 0o644, "link": None}]},
        "blobs": [{"sha256": digest, "bytes": len(CODE)}],
        "files": [{"path": "run.json", "bytes": 2, "mode": 0o644}],
    }
    return Request(operation="prepare_run", arguments=arguments, payload=CODE + b"{}")


def make_submit(folder: Path, argv: list[str], number: int = 1) -> Request:
    arguments: Json = {
        "folder": str(folder),
        "number": number,
        "token": f"windlass:a-11111:{number}",
        "argv": argv,
        "path_prefix": None,
        "timeout_s": 20,
        "cwd": str(folder),
    }
    return Request(operation="submit", arguments=arguments)


def is_running(pid: int) -> bool:
    """Not for a zombie, which some machines keep for a while."""
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return found.stdout.strip()[:1] not in ("", "Z")
