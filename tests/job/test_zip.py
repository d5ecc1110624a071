"""The zip: the same bytes each time, and a program on every Python."""

import ast
import io
import os
import shutil
import subprocess
import sys
import zipfile
from importlib import resources
from pathlib import Path

import pytest

from tests.job.harness import OLDEST_AND_NEWEST, PYTHONS
from windlass.edges.job_zip import make_job_zip

PRINT = """
import sys
sys.path.insert(0, sys.argv[1])
import windlass_job
from windlass.edges.job_zip import make_job_zip
assert windlass_job.__file__.startswith(sys.argv[1])
sys.stdout.buffer.write(make_job_zip())
"""


def test_it_is_the_same_in_another_process_and_from_a_zipped_package(tmp_path: Path) -> None:
    """Zipped as in a wheel that is imported without being unpacked: resources are no files then."""
    source = Path(str(resources.files("windlass_job"))).parent
    shutil.copytree(source, tmp_path / "source", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.make_archive(str(tmp_path / "zipped"), "zip", tmp_path / "source")

    made = _print_zip(tmp_path / "source", TZ="UTC", PYTHONHASHSEED="1")
    again = _print_zip(tmp_path / "source", TZ="Asia/Tokyo", PYTHONHASHSEED="7")
    from_zipped = _print_zip(tmp_path / "zipped.zip")

    assert made == again == from_zipped


def _print_zip(path: Path, **env: str) -> bytes:
    command = [sys.executable, "-c", PRINT, str(path)]
    return subprocess.run(command, capture_output=True, check=True, env={**os.environ, **env}).stdout


def test_it_holds_every_module_and_nothing_else() -> None:
    with zipfile.ZipFile(io.BytesIO(make_job_zip())) as archive:
        names = archive.namelist()

    package = Path(str(resources.files("windlass_job")))
    sources = {str(path.relative_to(package.parent)) for path in package.rglob("*.py")}
    assert set(names) == sources | {"__main__.py"}
    assert names == sorted(names)


ONCE = """
import os, pkgutil, sys, traceback
sys.path.insert(0, sys.argv[1])
from windlass_job import once
once.install()
os.unlink(sys.argv[1])
from windlass_job.agent import agent
import windlass_job.staging.directing as directing
assert agent.__file__ == sys.argv[1] + "/windlass_job/agent/agent.py", agent.__file__
assert b"import" in pkgutil.get_data("windlass_job.working", "env_probe.py")
try:
    directing.tell_local({}, 0, 1)
except KeyError:
    assert 'tell_size(totals["read"])' in traceback.format_exc()
    print("whole")
"""


@pytest.mark.parametrize("python", list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def test_the_disk_is_asked_for_it_once(tmp_path: Path, python: str) -> None:
    """It works on after the file is gone: modules, their data, and the lines of a traceback."""
    archive = tmp_path / "windlass_job.pyz"
    archive.write_bytes(make_job_zip())

    said = subprocess.run([python, "-I", "-c", ONCE, str(archive)], capture_output=True, text=True)

    assert said.stdout == "whole\n", said.stderr


@pytest.mark.parametrize("python", list(PYTHONS.values()), ids=list(PYTHONS))
def test_every_python_runs_it(tmp_path: Path, python: str) -> None:
    archive = tmp_path / "windlass_job.pyz"
    archive.write_bytes(make_job_zip())

    done = subprocess.run([python, "-I", archive, "--version"], capture_output=True, text=True, check=True)

    assert done.stdout == "windlass_job protocol 1\n"


def test_it_needs_the_standard_library_only() -> None:
    imported = set()
    for path in Path(str(resources.files("windlass_job"))).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.split(".")[0])

    assert imported - sys.stdlib_module_names == {"windlass_job"}
