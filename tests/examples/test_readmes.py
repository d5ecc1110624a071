"""Every line that a README of examples/ shows is typed here, and shows what it says."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Places
from tests.docs.pages import ROOT, Block, load_blocks
from tests.docs.parsing import find_problem
from tests.docs.session import Reader

EXAMPLES = ROOT / "examples"
NAMES = sorted(page.parent.name for page in EXAMPLES.glob("*/README.md"))
PLAIN = ["matrix"]  # needs nothing but Python
OTHERWISE = ["fashion", "sweep"]  # have tests of their own


@pytest.fixture
def folder(places: Places) -> Iterator[Path]:
    """A checkout with all examples: git says what goes along."""
    copied = shutil.copytree(EXAMPLES, places.home / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["git", "init", "-q", copied], check=True)
    (places.pocket / "pocket.toml").write_text("cpus = 4\nidle_s = 1\nkill_wait_s = 2\n")
    yield copied
    stop = [str(Path(sys.executable).parent / "windlass"), "pocket", "scancel", "--me"]
    subprocess.run(stop, capture_output=True, timeout=60, check=True)


@pytest.mark.parametrize("name", PLAIN)
def test_the_lines_of_a_readme_do_what_they_say(name: str, folder: Path, places: Places) -> None:
    reader = Reader(places.home, folder / name, places.env)

    for block in blocks_of(name):
        reader.follow(block)


@pytest.mark.frameworks
@pytest.mark.parametrize("name", [one for one in NAMES if one not in PLAIN + OTHERWISE])
def test_the_lines_of_a_readme_do_what_they_say_with_its_framework(
    name: str, folder: Path, places: Places, programs: Path
) -> None:
    env = {**places.env, "OMP_NUM_THREADS": "1", "DS_ACCELERATOR": "cpu", "TF_CPP_MIN_LOG_LEVEL": "2"}
    # Jobs must find windlass_job by themselves; by hand it is there where Windlass is installed.
    in_jobs = Reader(places.home, folder / name, env, programs=programs)
    installed = install_job_package(places.home / "site-packages")
    by_hand = Reader(installed, folder / name, {**env, "PYTHONPATH": str(installed)}, programs=programs)

    for block in blocks_of(name):
        (in_jobs if is_windlass(block) else by_hand).follow(block)


def blocks_of(name: str) -> list[Block]:
    return [block for block in load_blocks(EXAMPLES / name / "README.md") if block.language == "console"]


def is_windlass(block: Block) -> bool:
    return block.steps[0].command.startswith("windlass ")


def install_job_package(target: Path) -> Path:
    target.mkdir()
    (target / "windlass_job").symlink_to(ROOT / "src" / "windlass_job")
    return target


@pytest.mark.parametrize("name", NAMES)
def test_every_command_of_a_readme_exists(name: str) -> None:
    text = (EXAMPLES / name / "README.md").read_text()
    commands = re.findall(r"`((?:windlass|make) [^`]+)`|^\$ (windlass .+)$", text, re.MULTILINE)

    problems = {a or b: find_problem(a or b, ROOT / "Makefile") for a, b in commands}

    assert commands
    assert {command: problem for command, problem in problems.items() if problem} == {}
