"""Names, bytes, rights and sizes that somebody chose in order to break lint."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from windlass.app.linting import Looking, lint_paths, make_mended
from windlass.cli.lint_formats import format_text, make_json

GOOD = b"#!/bin/bash\n#SBATCH --time=1:00:00\n#SBATCH --mem=4G\nhostname\n"
MENDED = b"#!/bin/bash\n#SBATCH --ntasks=1\n"
TO_MEND = b"#!/bin/bash\n#SBATCH --ntaks=1\n"
NOBODY = 65534
FORMS = ("text", "json", "sarif", "github")
SLOW: dict[str, tuple[str, str]] = {
    "spaces": ("# SBATCH", " "),
    "spaces behind another word": ("#SBATC", " "),
    "abbreviations": ("#SBATCH ", "--tim=1 "),
    "en dashes": ("#SBATCH ", "–time=1 "),
    "stray words": ("#SBATCH ", "x "),
    "unknown options": ("#SBATCH ", "--ntaks=1 "),
    "quoted words": ("#SBATCH ", "'a' "),
    "wrong values": ("#SBATCH ", "--time=x "),
    "one dash": ("#SBATCH ", "-mem=4 "),
    "options of plugins": ("#SBATCH ", "--container-image x "),
    "open variables": ("#SBATCH --account=", "${a"),
    "hosts": ("#SBATCH --nodelist=", "a,"),
    "ranges of hosts": ("#SBATCH --nodelist=", "n[1-9999],"),
    "folders": ("#SBATCH -o x/y\n", "if true; then\nmkdir x\nsbatch y\nfi\n"),
    "ends of DOS": ("", "echo\r\n"),
}


def run(*args: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "windlass", "lint", *args]
    return subprocess.run(command, cwd=cwd, capture_output=True, timeout=60, check=False)


def lint_as_nobody(folder: Path) -> list[tuple[str, str]]:
    """Names and first messages; in a process of its own, because rights are not given back."""
    program = (
        "import json, os, sys; from windlass.app.linting import Looking, lint_paths\n"
        "import windlass.lint\n"
        f"os.chdir(sys.argv[1]); os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        "found = lint_paths(sys.argv[2:], Looking(select=('S100',)))\n"
        "print(json.dumps([(one.path, one.marks[0].message if one.marks else '') for one in found]))"
    )
    command = [sys.executable, "-c", program, str(folder), "open", "shut", "shut/x.sh"]
    done = subprocess.run(command, capture_output=True, timeout=60, check=True)
    return [(path, message) for path, message in json.loads(done.stdout)]


@pytest.mark.parametrize("form", FORMS)
def test_bytes_that_are_no_utf_8_are_told_in_every_form(tmp_path: Path, form: str) -> None:
    (tmp_path / "b.sh").write_bytes(b"#!/bin/bash\n#SBATCH --\xff=3\n")
    Path(os.fsdecode(bytes(tmp_path) + b"/bad\xff.sbatch")).write_bytes(b"#!/bin/bash\n#SBATCH --\xff=3\n")

    done = run("--format", form, ".", cwd=tmp_path)

    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert b"S118" in done.stdout
    done.stdout.decode("utf-8")


def test_a_name_with_a_new_line_begins_no_line(tmp_path: Path) -> None:
    (tmp_path / "n\n::error file=x::hi.sbatch").write_bytes(TO_MEND)

    for args in (["."], ["--format", "github", "."], ["--diff", "."]):
        done = run(*args, cwd=tmp_path)
        assert b"\n::error file=x" not in b"\n" + done.stdout + done.stderr
        assert b"hi.sbatch" in done.stdout


def test_the_refusal_in_json_hides_a_secret(tmp_path: Path) -> None:
    key = "hf_" + "a1B2c3D4e5" * 4
    (tmp_path / "a.sh").write_text(f"#!/bin/bash\n#SBATCH --token={key}\n")

    done = run("--format", "json", "a.sh", cwd=tmp_path)

    assert b"unrecognized option" in done.stdout
    assert key.encode() not in done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_what_is_closed_is_told_and_the_rest_is_linted(tmp_path: Path) -> None:
    for name in ("open/a.sh", "open/b.sh", "open/sub/c.sh", "shut/x.sh"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(GOOD)
    tmp_path.chmod(0o755)
    (tmp_path / "open" / "a.sh").chmod(0)
    (tmp_path / "open" / "sub").chmod(0o700)
    (tmp_path / "shut").chmod(0o700)

    found = lint_as_nobody(tmp_path)

    denied = "this cannot be read: Permission denied"
    assert found == [
        ("open/a.sh", denied),
        ("open/b.sh", ""),
        ("open/sub", denied),
        ("shut", denied),
        ("shut/x.sh", denied),
    ]


def test_fix_goes_on_after_a_file_it_cannot_write(tmp_path: Path) -> None:
    for name in ("a.sbatch", "b.sbatch", "c.sbatch"):
        (tmp_path / name).write_bytes(TO_MEND)
    (tmp_path / "a.sbatch").chmod(0o444)
    (tmp_path / "other").hardlink_to(tmp_path / "b.sbatch")

    done = run("--fix", "--select", "S118", ".", cwd=tmp_path)

    assert done.returncode == 1
    assert b"a.sbatch was not mended: it is not writable" in done.stderr
    assert b"b.sbatch was not mended: it has 2 names" in done.stderr
    assert (tmp_path / "a.sbatch").read_bytes() == TO_MEND
    assert (tmp_path / "b.sbatch").read_bytes() == TO_MEND
    assert (tmp_path / "c.sbatch").read_bytes() == MENDED
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_fix_keeps_owner_group_and_mode(tmp_path: Path) -> None:
    path = tmp_path / "a.sh"
    path.write_bytes(TO_MEND)
    os.chown(path, NOBODY, NOBODY)
    path.chmod(0o2750)

    run("--fix", "a.sh", cwd=tmp_path)

    about = path.stat()
    assert path.read_bytes() == MENDED
    assert (about.st_uid, about.st_gid, about.st_mode & 0o7777) == (NOBODY, NOBODY, 0o2750)


def test_of_a_long_script_the_first_megabyte_is_looked_at_and_nothing_written(tmp_path: Path) -> None:
    path = tmp_path / "a.sh"
    path.write_bytes(TO_MEND + b"# data\n" * 200_000)

    (linted,) = lint_paths([str(path)], Looking())

    assert {"S100", "S118"} <= {mark.code for mark in linted.marks}
    assert not any(mark.fix for mark in linted.marks)
    assert make_mended(linted, Looking()) == linted.script.text


@pytest.mark.parametrize("name", SLOW)
def test_time_grows_with_the_size_alone(tmp_path: Path, name: str) -> None:
    small, large = (min(_measure(tmp_path, _make(name, size)) for _ in range(3)) for size in (4_000, 40_000))

    assert large < 50 * max(small, 0.01)  # ten times the size; a busy machine doubles either


def _make(name: str, size: int) -> bytes:
    begin, piece = SLOW[name]
    return f"#!/bin/bash\n{begin}{piece * (size // len(piece))}\n".encode()


def _measure(folder: Path, data: bytes) -> float:
    path = folder / "a.sh"
    path.write_bytes(data)
    begin = time.process_time()
    for linted in lint_paths([str(path)], Looking()):
        format_text(linted, lambda text, _: text)
        make_json([linted])
    return time.process_time() - begin
