"""Loading a project's text for the checks: what is taken, what is passed over, and that it is bounded."""

import struct
from pathlib import Path

from windlass.core.source.code import Binary, Code, Language
from windlass.edges import project_code
from windlass.edges.project_code import load_project_code
from windlass.edges.snapshot import take_snapshot


def load(project: Path, command: str = "") -> Code:
    return load_project_code(project, take_snapshot(project).manifest, command)


def test_python_shell_and_lists_of_packages_are_taken(tmp_path: Path) -> None:
    for name in ("train.py", "run.sh", "job.sbatch", "requirements.txt", "uv.lock", "notes.md", "data.csv", "x.ipynb"):
        (tmp_path / name).write_text("x")

    code = load(tmp_path)

    assert {one.path: one.language for one in code.files} == {
        "train.py": Language.PYTHON,
        "run.sh": Language.SHELL,
        "job.sbatch": Language.SHELL,
        "requirements.txt": Language.OTHER,
        "uv.lock": Language.OTHER,
    }
    assert code.paths is not None
    assert "data.csv" in code.paths


def test_so_is_whatever_the_environment_is_made_from(tmp_path: Path) -> None:
    for name in ("deps/base.in", "image.def", "pip.conf", "notes.in"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")

    code = load_project_code(tmp_path, take_snapshot(tmp_path).manifest, also=("deps/base.in", "gone.txt"))

    assert [one.path for one in code.files] == ["deps/base.in", "image.def", "pip.conf"]


def test_what_is_no_text_or_too_large_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "nul.py").write_bytes(b"x = 1\0")
    (tmp_path / "large.py").write_bytes(b"#" * (project_code.MAX_BYTES + 1))
    (tmp_path / "latin.py").write_bytes("# caf\xe9".encode("latin-1"))
    (tmp_path / "bom.py").write_bytes(b"\xef\xbb\xbfx = 1\r\n")
    (tmp_path / "empty.py").touch()

    code = load(tmp_path)

    assert {one.path: one.text for one in code.files} == {"latin.py": "# caf\xe9", "bom.py": "x = 1\n", "empty.py": ""}
    assert code.passed_over == 2


def test_a_file_that_went_away_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1")
    manifest = take_snapshot(tmp_path).manifest
    (tmp_path / "a.py").unlink()

    assert load_project_code(tmp_path, manifest).passed_over == 1


def test_of_very_many_files_those_near_the_command_are_taken(tmp_path: Path) -> None:
    for folder in range(20):
        (tmp_path / f"lib{folder:02}").mkdir()
        for number in range(90):
            (tmp_path / f"lib{folder:02}" / f"m{number}.py").write_text("x = 1\n")
    (tmp_path / "zz" / "deep" / "er").mkdir(parents=True)
    (tmp_path / "zz" / "deep" / "er" / "train.py").write_text("import x\n")

    code = load(tmp_path, "python zz/deep/er/train.py")

    assert len(code.files) == project_code.MAX_FILES
    assert code.passed_over == 20 * 90 + 1 - project_code.MAX_FILES
    assert code.named("zz/deep/er/train.py")


def test_programs_say_which_machine_they_are_for(tmp_path: Path) -> None:
    def write(name: str, head: bytes) -> None:
        (tmp_path / name).write_bytes(head.ljust(100, b"\0"))
        (tmp_path / name).chmod(0o755)

    write("intel", b"\x7fELF\x02\x01\x01".ljust(18, b"\0") + struct.pack("<H", 62))
    write("power.so", b"\x7fELF\x02\x01\x01".ljust(18, b"\0") + struct.pack("<H", 21))
    write("image.sif", b"#!/usr/bin/env run-singularity\n\0" + b"SIF_MAGIC\0" + b"01\0" + b"04\0")
    write("script", b"#!/bin/sh\necho hello")
    write("short", b"\x7fELF")

    found = set(load(tmp_path).binaries)

    assert found == {
        Binary(path="intel", architecture="x86_64"),
        Binary(path="power.so", architecture="ppc64le"),
        Binary(path="image.sif", architecture="aarch64"),
    }
