"""A script that ends without `shutdown` or `detach`: what it submitted is at the site, or it says so."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import windlass
from windlass.app.following import wait
from windlass.app.session import Session

HERE_ONLY = pytest.mark.parametrize("session", ["here"], indirect=True)


@HERE_ONLY
def test_what_a_script_submits_last_is_at_the_site_when_it_has_ended(
    session: Session, project: Path, site_name: str
) -> None:
    script = project / "script.py"
    script.write_text(
        "import windlass, time\n"
        f"executor = windlass.Executor({site_name!r}, workers=1, linger='1m')\n"
        "executor.submit(time.sleep, 0)\n"
        "print(executor.name)\n"
        "for n in range(200):\n"
        "    executor.submit(pow, n, 2)\n"
    )

    done = subprocess.run([sys.executable, script], cwd=project, capture_output=True, text=True, timeout=120)

    assert (done.returncode, done.stderr) == (0, "")
    with windlass.Executor.attach(done.stdout.strip(), session=session) as again:
        found = [future.result(120) for future in again.futures().values()]
    wait(session, again.record)
    assert found == [None, *[n**2 for n in range(200)]]


@HERE_ONLY
def test_calls_that_do_not_get_to_the_site_before_the_script_has_ended_are_told(
    session: Session, project: Path, site_name: str
) -> None:
    script = project / "script.py"
    script.write_text(
        "import windlass, shutil\n"
        f"executor = windlass.Executor({site_name!r}, workers=1, linger='0s')\n"
        "shutil.rmtree(executor.record.folder)\n"
        "for n in range(3):\n"
        "    executor.submit(pow, n, 2)\n"
    )

    done = subprocess.run([sys.executable, script], cwd=project, capture_output=True, text=True, timeout=120)

    assert done.returncode == 0
    assert "warning: 3 calls of calls-" in done.stderr
    assert f"could not be sent to {site_name}: RunFolderGone: " in done.stderr


@HERE_ONLY
def test_a_site_that_does_not_answer_is_waited_for_until_ctrl_c(
    session: Session, project: Path, site_name: str
) -> None:
    script = project / "script.py"
    script.write_text(
        "import os, signal, subprocess, windlass\n"
        f"executor = windlass.Executor({site_name!r}, workers=1, linger='0s')\n"
        "helpers = subprocess.run(['pgrep', '-P', str(os.getpid())], capture_output=True, text=True).stdout.split()\n"
        "for helper in helpers:\n"
        "    os.kill(int(helper), signal.SIGSTOP)\n"
        "executor.submit(pow, 2, 2)\n"
        "print(*helpers, flush=True)\n"
    )

    with subprocess.Popen(
        [sys.executable, script], cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        helpers = [int(word) for word in running.stdout.readline().split()]
        told = running.stderr.readline()
        running.send_signal(signal.SIGINT)
        warned = running.stderr.readline()
        for helper in helpers:
            os.kill(helper, signal.SIGCONT)

    assert helpers
    assert told.startswith("windlass: 1 call of calls-")
    assert "on the way to here; Ctrl-C gives it up" in told
    assert warned.startswith("warning: 1 call of calls-")
