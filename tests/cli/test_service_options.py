"""Flags of `shell`, `jupyter` and `notebook run`: what would not be used is not taken."""

import pytest

from tests.cli.conftest import Windlass

SERVICES = [("shell",), ("jupyter",), ("notebook", "run", "x.ipynb")]


@pytest.mark.parametrize("words", SERVICES)
@pytest.mark.parametrize("flag", ["--command", "--launcher"])
def test_what_a_training_runs_is_no_option_of_a_service(windlass: Windlass, words: tuple[str, ...], flag: str) -> None:
    done = windlass(*words, flag, "echo hi")

    assert done.returncode == 2
    assert f"No such option '{flag}'" in done.stderr
    assert flag not in windlass(*words[:2], "--help").stdout


@pytest.mark.parametrize("words", SERVICES)
@pytest.mark.parametrize("key", ["run.command", "run.launcher"])
def test_nor_is_it_taken_by_set(windlass: Windlass, words: tuple[str, ...], key: str) -> None:
    done = windlass(*words, "--set", f"{key}=single")

    assert done.returncode == 2
    assert f"--set {key} is not used here" in done.stderr


def test_what_a_shell_runs_stands_behind_two_dashes(windlass: Windlass) -> None:
    assert windlass("shell", "--", "echo", "hi").stdout.splitlines()[-1] == "hi"
    assert "windlass shell -- COMMAND" in windlass("shell", "--set", "run.command=echo hi").stderr
