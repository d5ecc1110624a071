"""Streams that are closed, full or hostile: a sentence, never a traceback, and nothing done twice."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Windlass
from windlass.cli.output import make_printable


def shell(line: str, project: Path) -> subprocess.CompletedProcess[str]:
    line = line.replace("windlass", f"{sys.executable} -m windlass")
    return subprocess.run(
        ["bash", "-c", line],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.usefixtures("windlass")
@pytest.mark.parametrize("line", ["windlass sites >/dev/full", "windlass --help >/dev/full", "windlass sites >&-"])
def test_output_that_cannot_be_written_is_said(line: str, project: Path) -> None:
    done = shell(line, project)

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "E603" in done.stderr


@pytest.mark.usefixtures("windlass")
def test_nobody_listening_to_the_talk_is_no_error(project: Path) -> None:
    done = shell("windlass sites 2>&-", project)

    assert (done.returncode, "here" in done.stdout) == (0, True)


def test_a_submitted_run_is_told_even_when_stdout_is_full(windlass: Windlass, project: Path) -> None:
    done = shell("windlass run --command true -d --json >/dev/full", project)

    assert "submitted" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(json.loads(windlass("ps", "--json").stdout)["runs"]) == 1


def test_control_characters_are_shown_and_not_obeyed() -> None:
    assert make_printable("a\x1b[2J\x1b]0;x\x07\tb\nç") == "a\\x1b[2J\\x1b]0;x\\x07\tb\nç"


def test_explain_does_not_steer_the_terminal(windlass: Windlass) -> None:
    line = r"printf 'CUDA out of memory \033[2J\n' >&2; exit 1"
    windlass("run", "--command", line)

    done = windlass("explain")

    assert "CUDA out of memory" in done.stdout
    assert "\x1b" not in done.stdout


def test_json_of_a_run_tells_how_it_ended(windlass: Windlass) -> None:
    done = windlass("run", "--command", "exit 3", "--json")

    assert (done.returncode, json.loads(done.stdout)["run"]["exit_code"]) == (7, 3)


def test_json_of_a_log(windlass: Windlass) -> None:
    windlass("run", "--command", "echo said")

    assert json.loads(windlass("logs", "--json").stdout)["log"] == "said\n"


def test_cancelling_says_what_is_so(windlass: Windlass) -> None:
    run_id = windlass("run", "--command", "true", "-d").stdout.strip()
    windlass("wait", run_id)

    assert "was done already" in windlass("cancel", run_id).stderr


def test_a_note_is_kept_with_the_run_and_shown(windlass: Windlass) -> None:
    run_id = windlass("run", "--command", "true", "-d").stdout.strip()

    assert "nothing was noted yet" in windlass("note", run_id).stderr
    assert f"noted; {run_id} has 1 note" in windlass("note", run_id, "lr too high\x1b[31m").stderr
    assert windlass("note", "last").stdout.rstrip().endswith("  lr too high")
    (listed,) = json.loads(windlass("ps", "--json").stdout)["runs"]
    assert [note["text"] for note in listed["notes"]] == ["lr too high"]
    assert "a note needs a text" in windlass("note", run_id, "").stderr
