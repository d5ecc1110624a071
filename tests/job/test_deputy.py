"""The deputy on every Python it may meet, cut off, killed while it makes a run folder, and on a full disk."""

import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.job.deputy_requests import CODE, DEPUTY, make_run, make_submit
from tests.waiting import wait_until
from windlass.edges.channel import Channel, ChannelClosed
from windlass.edges.host import Json, Request, make_command, read_completed
from windlass.edges.local_host import LocalHost
from windlass.errors import ConnectionLost, SiteNotReady
from windlass_job.faults import FAULT_POINTS, VARIABLE

PREPARE_POINTS = FAULT_POINTS[6:]
DIGEST = hashlib.sha256(CODE).hexdigest()


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


def test_the_deputy_tells_what_the_machine_is_and_whether_it_sits_in_a_job(tmp_path: Path) -> None:
    question = Request(operation="facts", arguments={"root": str(tmp_path)})
    with (
        contextlib.closing(LocalHost(env={"SLURM_JOB_ID": "77"})) as inside,
        contextlib.closing(LocalHost(env={"SLURM_JOB_ID": ""})) as outside,
    ):
        facts, elsewhere = (host.ask([question])[0].values for host in (inside, outside))

    assert (facts["inside_job"], elsewhere["inside_job"]) == ("77", None)
    assert facts["architecture"] == os.uname().machine
    assert facts["glibc"] is None or facts["glibc"][0].isdigit()
    assert facts["free_files"] is None or facts["free_files"] > 0
    assert all(isinstance(name, str) for name in facts["groups"])


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
    channel = Channel(DEPUTY)
    pid = int(channel.hello["pid"])

    channel.close()

    assert not is_running(pid)


def test_a_silent_deputy_is_given_up(tmp_path: Path) -> None:
    channel = Channel(DEPUTY)

    with pytest.raises(ChannelClosed) as caught:
        channel.exchange([make_command(["sleep", "3"])], patience_s=0.2)

    assert (caught.value.reason, caught.value.wrote) == ("silent", True)


def test_an_end_known_before_is_told_before_anything_is_written() -> None:
    channel = Channel(DEPUTY)
    os.kill(int(channel.hello["pid"]), signal.SIGKILL)
    wait_until(lambda: not is_running(int(channel.hello["pid"])), "its end", pause_s=0.01)

    with pytest.raises(ChannelClosed) as caught:
        channel.exchange([make_command(["true"])], patience_s=5)

    assert (caught.value.reason, caught.value.wrote) == ("ended", False)


def test_ctrl_c_in_the_terminal_is_not_for_the_deputy() -> None:
    channel = Channel(DEPUTY)

    assert os.getpgid(int(channel.hello["pid"])) != os.getpgid(0)
    channel.close()


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


def test_contents_nobody_asked_for_in_a_month_go_with_the_next_run(tmp_path: Path) -> None:
    host = LocalHost()
    host.ask([make_run(tmp_path)])
    used, old, young = (tmp_path / "blobs" / name[:2] / name for name in (DIGEST, "0" * 64, "f" * 64))
    for path in (old, young):
        path.parent.mkdir()
        path.touch()
    for path in (old, used):
        os.utime(path, (0, 0))

    asked = Request(operation="missing_blobs", arguments={"root": str(tmp_path)}, payload=DIGEST.encode())
    removed = Request(operation="remove_run", arguments={"root": str(tmp_path), "run_id": "a-11111"})
    replies = host.ask([asked, removed])
    host.close()

    assert [reply.ok for reply in replies] == [True, True]
    assert [path.exists() for path in (used, old, young)] == [True, False, True]


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


def is_running(pid: int) -> bool:
    """Not for a zombie, which some machines keep for a while."""
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return found.stdout.strip()[:1] not in ("", "Z")
