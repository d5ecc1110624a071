"""Notices on this machine: programs that are really called, with words from anywhere."""

import json
import os
from pathlib import Path

import pytest

from windlass.core.notices import Event, EventKind
from windlass.edges.notifying import call_program, make_desktop_argv, make_terminal_text, show_on_desktop

EVIL = 'x"; touch oops; $(touch oops) `touch oops` <b>bold</b> & \x1b]0;title\x07\nline two'
EVENT = Event(
    kind=EventKind.FAILED,
    key="failed:end:1",
    run_id="digits-k3f9w",
    name="digits",
    site="alpha",
    state="failed",
    text=EVIL,
    at=1.0,
)


def make_program(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)
    return path


def test_the_users_program_gets_the_event_as_json_and_in_variables(tmp_path: Path) -> None:
    program = make_program(
        tmp_path,
        "tell me",
        f'cat > {tmp_path}/told; printf %s "$WINDLASS_EVENT_TEXT" > {tmp_path}/text; echo "$1" > {tmp_path}/word',
    )

    problem = call_program(EVENT, f"'{program}' 'two words'", {**os.environ})

    assert problem is None
    assert json.loads((tmp_path / "told").read_text())["event"]["text"] == EVIL
    assert (tmp_path / "text").read_text() == EVIL
    assert (tmp_path / "word").read_text() == "two words\n"
    assert not (Path.cwd() / "oops").exists()


def test_a_program_that_fails_is_told_with_its_last_word(tmp_path: Path) -> None:
    program = make_program(tmp_path, "fails", "echo one >&2; echo two >&2; exit 3")

    assert call_program(EVENT, str(program), {**os.environ}) == f"{program} ended with 3: two"
    assert call_program(EVENT, f"{tmp_path}/nosuch", {**os.environ}) == f"{tmp_path}/nosuch: No such file or directory"


def test_a_program_that_reads_nothing_is_fine(tmp_path: Path) -> None:
    assert call_program(EVENT, str(make_program(tmp_path, "deaf", "exec 0<&-; exit 0")), {**os.environ}) is None


def test_on_linux_the_text_is_an_argument_without_markup(tmp_path: Path) -> None:
    make_program(tmp_path, "notify-send", f'printf "%s\\n" "$@" > {tmp_path}/told')

    problem = show_on_desktop(EVENT, {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}, platform="linux")

    assert problem is None
    told = (tmp_path / "told").read_text().splitlines()
    assert told[:3] == ["--app-name=Windlass", "--", "Windlass"]
    assert "&lt;b&gt;bold&lt;/b&gt; &amp;" in told[3]
    assert len(told) == 4


def test_on_a_mac_the_text_is_an_argument_of_the_script() -> None:
    argv = make_desktop_argv(EVENT, platform="darwin")

    assert argv[0] == "osascript"
    assert argv[-2] == "Windlass"
    assert "touch oops" in argv[-1]
    assert not any("touch" in word for word in argv[:-1])


def test_without_a_desktop_it_is_said(tmp_path: Path) -> None:
    assert show_on_desktop(EVENT, {"PATH": str(tmp_path)}, platform="linux") == "notify-send is not installed here"


@pytest.mark.parametrize("sign", ["\x1b", "\n", "\x07", "\u202e"])
def test_nothing_in_a_name_steers_the_terminal(sign: str) -> None:
    inner = make_terminal_text(EVENT).removeprefix("\x1b]9;").removesuffix("\x07\x07")

    assert sign not in inner
