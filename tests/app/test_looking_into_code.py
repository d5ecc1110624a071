"""`plan` looks into the code of a real project on disk, and bears whatever lies there."""

from pathlib import Path

import pytest

from windlass.app.planning import Wanted, plan_run
from windlass.app.session import Session

RUN_FILE = '[run]\ncommand = "python train.py"\n[resources]\ntime = "1h"\n'
ODD: dict[str, bytes] = {
    "two.py": b"print 'hello'\n",
    "nul.py": b"x = 1\0\n",
    "latin.py": "x = 'caf\xe9'".encode("latin-1"),
    "deep.py": b"x = " + b"(" * 3000 + b")" * 3000,
    "long.py": b"x = [" + b"1," * 400_000 + b"]",
    "large.py": b"#" * 2_000_000,
    "requirements.txt": b"torch==9999999999999999.1\n\xff\xfe==\n==\n[[\n",
    "pyproject.toml": b"[project\n",
    "uv.lock": b"[[" * 1000,
    "run.sh": b"#!/bin/bash\r\npython 'unclosed $(\r\n",
}


def plan(session: Session, project: Path) -> list[tuple[str, str | None]]:
    planned = plan_run(session, Wanted(project=project, site="here"))
    return [(one.code, one.where) for one in planned.findings if one.code[1] == "5"]


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_what_the_code_does_is_told_with_its_line(session: Session, tmp_path: Path) -> None:
    (tmp_path / "windlass.toml").write_text(RUN_FILE)
    (tmp_path / "train.py").write_text("import data\n\ninput('go on?')\n")
    (tmp_path / "data.py").write_text("import cv2\n\n\ndef show():\n    cv2.imshow('x', y)\n")  # nothing calls it

    assert plan(session, tmp_path) == [("C505", "train.py:3")]


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_a_script_that_is_not_sent_is_told(session: Session, tmp_path: Path) -> None:
    (tmp_path / "windlass.toml").write_text(RUN_FILE)
    (tmp_path / "trian.py").touch()

    assert plan(session, tmp_path) == [("C519", None)]


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_odd_files_are_borne(session: Session, tmp_path: Path) -> None:
    (tmp_path / "windlass.toml").write_text(RUN_FILE.replace("python train.py", "bash run.sh; python train.py"))
    modules = [name.removesuffix(".py") for name in ODD if name.endswith(".py")]
    (tmp_path / "train.py").write_text(f"import {', '.join(modules)}\n")
    for name, content in ODD.items():
        (tmp_path / name).write_bytes(content)

    assert ("C518", "two.py:1") in plan(session, tmp_path)
