"""The real thing in a terminal of 80 by 24, here and by ssh: a run watched and cancelled, the terminal left clean."""

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Places
from tests.edges.sshd import run_sshd

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux"),
]
WINDLASS = f"{sys.executable} -m windlass"


@pytest.fixture
def tmux(places: Places, tmp_path: Path) -> Iterator[list[str]]:
    (places.pocket / "pocket.toml").write_text("idle_s = 1\nkill_wait_s = 2\ncpus = 2\nmemory_mb = 2000\n")
    called = ["tmux", "-S", str(tmp_path / "tmux"), "-f", "/dev/null"]
    env = {**os.environ, "LC_ALL": "C.UTF-8", "PS1": "ready> "}
    start = [*called, "-u", "new-session", "-d", "-x", "80", "-y", "24", "bash --norc --noprofile"]
    subprocess.run(start, check=True, env=env)
    yield called
    subprocess.run([*called, "kill-server"], check=False, capture_output=True)
    subprocess.run(f"{WINDLASS} pocket scancel --me".split(), check=False, capture_output=True)


def press(tmux: list[str], *keys: str) -> None:
    subprocess.run([*tmux, "send-keys", *keys], check=True)


def wait_for(tmux: list[str], *words: str, gone: str | None = None) -> str:
    deadline = time.monotonic() + 60
    while True:
        text = subprocess.run([*tmux, "capture-pane", "-p"], check=True, capture_output=True, text=True).stdout
        if all(word in text for word in words) and (gone is None or gone not in text):
            return text
        assert time.monotonic() < deadline, f"in vain: {words}, {gone}\n{text}"
        time.sleep(0.1)


def test_a_run_is_watched_and_cancelled_and_the_terminal_left_clean(tmux: list[str], tmp_path: Path) -> None:
    watch_and_cancel(tmux, tmp_path, f"{WINDLASS} top")


def test_the_same_through_ssh(tmux: list[str], tmp_path: Path, places: Places) -> None:
    """A real sshd with a terminal of its own, and the size of ours."""
    there = {**places.env, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    lines = [f"export {name}={shlex.quote(value)}" for name, value in there.items()]
    (tmp_path / "there.sh").write_text("\n".join([*lines, f"exec {WINDLASS} top"]) + "\n")
    with run_sshd(tmp_path / "sshd") as server:
        watch_and_cancel(tmux, tmp_path, f"ssh -tt -F {server.config} site sh {tmp_path}/there.sh")
        assert server.count_logins() == 1


def watch_and_cancel(tmux: list[str], tmp_path: Path, top: str) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "train.sh").write_text("for i in $(seq 1000); do echo step $i of many; sleep 0.5; done\n")
    (project / "windlass.toml").write_text('[run]\nname = "slow"\ncommand = "sh train.sh"\n[resources]\ntime = "10m"\n')
    subprocess.run([*WINDLASS.split(), "run", "--detach"], cwd=project, check=True, capture_output=True)

    press(tmux, f"{top}; echo left with $?", "Enter")
    wait_for(tmux, "1 running", "slow-", "step 3 of many", "following")
    press(tmux, "c")
    wait_for(tmux, "Cancel slow-", "y yes, cancel it")
    press(tmux, "y")
    wait_for(tmux, "0 running", "1 ended", "cancelled")
    press(tmux, "q")

    text = wait_for(tmux, "left with 0", gone="windlass top  ")
    assert "Traceback" not in text
    press(tmux, "clear; stty -a", "Enter")
    wait_for(tmux, " icanon ", " echo ", gone=" -icanon")
