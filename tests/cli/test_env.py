"""`windlass env` as a user types it."""

from pathlib import Path

from tests.cli.conftest import Windlass

_RUN_FILE = '[run]\ncommand = "python train.py"\n[environment]\nvenv = "requirements.txt"\n'


def test_the_project_is_found_from_a_folder_inside_of_it(windlass: Windlass, project: Path) -> None:
    (project / "windlass.toml").write_text(_RUN_FILE)
    (project / "requirements.txt").write_text("net\n")
    (project / "deep" / "inside").mkdir(parents=True)

    shown, packed = (windlass("env", verb, cwd=project / "deep" / "inside") for verb in ("show", "pack"))

    assert "here has no environment 'venv-" in shown.stderr
    assert packed.stderr == shown.stderr


def test_what_nodes_make_themselves_is_not_packed_and_it_says_so(windlass: Windlass, project: Path) -> None:
    (project / "windlass.toml").write_text(f'{_RUN_FILE}build = "node"\n')
    (project / "requirements.txt").write_text("net\n")

    packed = windlass("env", "pack")

    assert packed.returncode == 2
    assert 'build = "node" in [environment] makes it on every node: there is nothing to pack' in packed.stderr
    assert 'build = "login" and pack = true' in packed.stderr
