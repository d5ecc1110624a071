"""Whatever lies there is told, and the other files are looked at all the same."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from windlass.app.linting import Linted, Looking, lint_paths
from windlass.core.sbatch.script import read_script
from windlass.edges.script_files import LARGEST
from windlass.lint import lint_script

GOOD = b"#!/bin/bash\n#SBATCH --time=1:00:00\n#SBATCH --mem=4G\nhostname\n"


def lint(*paths: Path) -> list[Linted]:
    return list(lint_paths([str(path) for path in paths], Looking()))


def run(*args: str, stdin: bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "windlass", "lint", *args]
    return subprocess.run(command, input=stdin, cwd=cwd, capture_output=True, timeout=60, check=False)


def make_bad(folder: Path, kind: str) -> Path:
    path = folder / "bad.sh"
    match kind:
        case "missing":
            pass
        case "dangling link":
            path.symlink_to(folder / "nowhere")
        case "link to itself":
            path.symlink_to(path)
        case "pipe":
            os.mkfifo(path)
        case "program":
            path.write_bytes(Path(sys.executable).read_bytes()[:200_000])
        case "zeros":
            path.write_bytes(b"\0" * 10_000)
        case "huge":
            with path.open("wb") as file:
                file.write(b"#!/bin/bash\n")
                file.truncate(100 * 1024 * 1024)
        case "just too large":
            path.write_bytes(b"#!/bin/bash\n" + b"#" * LARGEST)
        case "closed":
            path.write_bytes(GOOD)
            path.chmod(0)
    return path


@pytest.mark.parametrize(
    "kind", ["missing", "dangling link", "link to itself", "pipe", "program", "zeros", "huge", "just too large"]
)
def test_what_is_no_script_is_told_and_the_next_is_looked_at(tmp_path: Path, kind: str) -> None:
    bad, good = make_bad(tmp_path, kind), tmp_path / "good.sh"
    good.write_bytes(GOOD)

    first, second = lint(bad, good)

    assert [mark.code for mark in first.marks] == ["S100"]
    assert first.errors
    assert second.is_readable
    assert not second.errors


def test_a_file_that_is_closed_is_told(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")

    (linted,) = lint(make_bad(tmp_path, "closed"))

    assert "Permission denied" in linted.marks[0].message


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"\r\n",
        b"\xff\xfe#\0!\0",
        b"#!/bin/bash\n\xff\xfe\x00 caf\xe9\n#SBATCH --job-name=\xe9\n",
        b"#!/bin/bash\n#SBATCH --job-name='\nif then ((\n$( ` \" '",
        b"\xef\xbb\xbf#!/bin/bash\r\n<<<<<<< HEAD\r\n",
        b"#!/bin/bash\ncat <<EOF\nnever ends",
        b"#!/bin/bash\n" + b"#SBATCH --nodes=1 " * 5000,
        b"#!/bin/bash\n#SBATCH --nodes=" + b"9" * 5000 + b"\n",
        b"#!/bin/bash\n#SBATCH --nodelist=n[1-99999999999]\n#SBATCH -N 1\n",
        b"#!/bin/bash\n" + b"((((" * 5000,
        "#!/bin/bash\n#SBATCH --mem=٣G\n#SBATCH --time=٣\n#SBATCH -n ²\n".encode(),
    ],
)
def test_no_text_is_a_traceback(data: bytes) -> None:
    script = read_script(data)

    for mark in lint_script(script):
        assert mark.line <= len(script.lines)


def test_the_program_tells_of_each_and_ends_with_1(tmp_path: Path) -> None:
    (tmp_path / "good.sh").write_bytes(GOOD)
    (tmp_path / "binary.sbatch").write_bytes(b"\x7fELF\0\0\0")

    done = run("good.sh", "binary.sbatch", "missing.sh", cwd=tmp_path)

    assert done.returncode == 1
    assert b"binary.sbatch:1:1: error[S100]: this is no text" in done.stdout
    assert b"missing.sh:1:1: error[S100]: there is no such file" in done.stdout
    assert b"Traceback" not in done.stderr
    assert b"3 scripts" in done.stderr


def test_a_folder_is_searched_for_scripts(tmp_path: Path) -> None:
    for name in ("a.sbatch", "b.srm", "c.slurm", "sub/d.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(GOOD)
    (tmp_path / "plain.sh").write_text("#!/bin/sh\necho no directives\n")
    (tmp_path / "notes.txt").write_bytes(GOOD)
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "e.sbatch").write_bytes(GOOD)
    (tmp_path / "loop").symlink_to(tmp_path)

    found = [Path(one.path).relative_to(tmp_path).as_posix() for one in lint(tmp_path)]

    assert found == ["a.sbatch", "b.srm", "c.slurm", "sub/d.sh"]


def test_standard_input_is_read(tmp_path: Path) -> None:
    done = run("-", stdin=b"#!/bin/bash\n#SBATCH -p=gpu\n", cwd=tmp_path)

    assert done.returncode == 1
    assert b"<stdin>:2:9: error[S127]" in done.stdout


@pytest.mark.parametrize(
    "args", [(), ("--fix", "-"), ("--live", "x.sh"), ("--select", "nonsense", "x.sh"), ("--format", "xml", "x.sh")]
)
def test_a_wrong_command_line_ends_with_2(tmp_path: Path, args: tuple[str, ...]) -> None:
    assert run(*args, cwd=tmp_path).returncode == 2


def test_an_unknown_site_ends_with_6(tmp_path: Path) -> None:
    (tmp_path / "x.sh").write_bytes(GOOD)

    assert run("--site", "nowhere", "x.sh", cwd=tmp_path).returncode == 6


def test_numbers_of_absurd_length(tmp_path: Path) -> None:
    """Python itself refuses to read more than 4300 digits."""
    options = ("ntasks=", "gres=gpu:", "nodes=", "mem=", "time=", "array=1-", "cpus-per-task=", "signal=B:USR1@")
    lines = [f"#SBATCH --{option}{'9' * 5000}" for option in options]
    path = tmp_path / "a.sh"
    path.write_text("\n".join(["#!/bin/bash", *lines, "hostname", ""]))

    (linted,) = lint(path)

    assert linted.is_readable
    assert linted.errors
