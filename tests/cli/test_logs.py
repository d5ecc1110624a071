"""`windlass logs` and `windlass run`: what a job prints must not steer the terminal of who reads it."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Windlass

EVIL = r"printf '\033]52;c;cm0gLXJmIH4=\007\033]0;title\007\033[2Ja \033[31mred\033[0m word\n'"
RAW = b"\x1b]52;c;cm0gLXJmIH4=\x07\x1b]0;title\x07\x1b[2Ja \x1b[31mred\x1b[0m word\n"
SAFE = b"a \x1b[31mred\x1b[0m word\r\n"


def show_on_a_terminal(project: Path, *args: str) -> bytes:
    """What comes on standard output, which is a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "windlass", *args]
    with subprocess.Popen(
        command, cwd=project, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 65536):
                shown += piece
        except OSError:  # the other side is closed
            pass
        assert process.wait(60) == 0
    os.close(ours)
    return shown


def test_only_colours_of_a_log_reach_the_terminal(windlass: Windlass, project: Path) -> None:
    assert show_on_a_terminal(project, "run", "--command", EVIL, "--name", "evil") == SAFE

    assert show_on_a_terminal(project, "logs") == SAFE
    assert show_on_a_terminal(project, "logs", "--tail", "1") == SAFE
    assert show_on_a_terminal(project, "logs", "--raw") == RAW.replace(b"\n", b"\r\n")
    assert windlass("logs").stdout.encode() == RAW


def test_one_stream_is_shown_alone(windlass: Windlass) -> None:
    windlass("run", "--command", "for i in 1 2 3; do echo step $i; sleep 0.3; echo warning $i >&2; sleep 0.3; done")

    assert windlass("logs", "--stream", "stdout").stdout == "step 1\nstep 2\nstep 3\n"
    assert windlass("logs", "--stream", "stderr", "--tail", "1").stdout == "warning 3\n"
    told = windlass("logs", "--stream", "stderr", "--json")
    assert json.loads(told.stdout)["log"] == "warning 1\nwarning 2\nwarning 3\n"
    for more in (["--follow"], ["--task", "1"]):
        refused = windlass("logs", "--stream", "stderr", *more)
        assert refused.returncode == 2
        assert "--stream" in refused.stderr
    assert windlass("logs", "--follow", "--json").returncode == 2
    unknown = windlass("logs", "--link", "9")
    assert (unknown.returncode, "has no link 9: it has one" in unknown.stderr) == (2, True)


def test_lines_that_may_be_of_either_stream_are_counted(windlass: Windlass) -> None:
    burst = "import os; [os.write(1 + n % 2, b'%d\\n' % n) for n in range(4000)]"
    windlass("run", "--command", f'python3 -c "{burst}"')

    shown = windlass("logs", "--stream", "stderr")

    assert set(shown.stdout.split()) >= {str(n) for n in range(1, 4000, 2)}
    found = re.search(r"([\d,]+) of these lines may be of the other stream", shown.stderr)
    assert found is not None
    assert int(found[1].replace(",", "")) >= len(shown.stdout.split()) - 2000
