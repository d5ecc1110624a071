"""Looking at real project folders, small, hostile and huge."""

import os
from pathlib import Path

from windlass.core.toml.starter import make_starter, pick_training
from windlass.edges import project as project_module
from windlass.edges.project import look_at_project

TRAIN = """
import argparse
import numpy as np, torch.nn
from lightning.pytorch import Trainer

if __name__ == "__main__":
    argparse.ArgumentParser()
    torch.save({}, "x")
"""


def test_the_training_is_seen(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "fit_model.py").write_text(TRAIN)
    (tmp_path / "setup.py").write_text("import torch")
    (tmp_path / "requirements.txt").touch()
    (tmp_path / "data").mkdir()

    seen = look_at_project(tmp_path)
    script = pick_training(seen.scripts)

    assert script is not None
    assert script.path == "src/fit_model.py"
    assert script.frameworks == {"torch", "lightning"}
    assert (script.has_main, script.has_arguments, script.saves) == (True, True, True)
    assert seen.folders == {"src", "data"}
    assert "requirements.txt" in seen.files
    assert 'command = "python3 src/fit_model.py"' in make_starter(seen)


def test_what_is_not_the_users_is_not_looked_at(tmp_path: Path) -> None:
    for folder in (".git", "venv", "node_modules", "myenv", "__pycache__"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "train.py").write_text(TRAIN)
    (tmp_path / "myenv" / "pyvenv.cfg").touch()

    assert look_at_project(tmp_path).scripts == ()


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "train.py").symlink_to("/dev/zero")

    assert look_at_project(tmp_path).scripts == ()


def test_a_huge_folder_is_not_read_to_its_end(tmp_path: Path) -> None:
    for number in range(project_module.MAX_SCRIPTS + 50):
        (tmp_path / f"s{number}.py").touch()
    with (tmp_path / "a.py").open("wb") as file:
        file.write(b"import torch\n")
        file.truncate(10_000_000_000)

    seen = look_at_project(tmp_path)

    assert len(seen.scripts) == project_module.MAX_SCRIPTS
    assert seen.scripts[0].frameworks == {"torch"}


def test_odd_names_and_bytes_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "tra\nin.py").write_bytes(b"\xff\xfe import torch")
    (tmp_path / "train it's.py").write_text(TRAIN)
    Path(os.fsdecode(bytes(tmp_path) + b"/train\xff.py")).write_text(TRAIN)  # no UTF-8

    assert """python3 'train it'\\"'\\"'s.py'""" in make_starter(look_at_project(tmp_path))


def test_a_folder_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert look_at_project(tmp_path / "nowhere").scripts == ()
