"""The lines of examples/sweep do what they say; it needs numpy and scikit-learn, and no framework."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Places
from tests.docs.pages import ROOT, load_blocks
from tests.docs.session import Reader

EXAMPLE = ROOT / "examples" / "sweep"


def test_the_lines_of_its_readme_do_what_they_say(places: Places) -> None:
    pytest.importorskip("numpy")
    pytest.importorskip("sklearn")
    folder = Path(shutil.copytree(EXAMPLE, places.home / "sweep", ignore=shutil.ignore_patterns("__pycache__")))
    (places.pocket / "pocket.toml").write_text("cpus = 4\nidle_s = 1\nkill_wait_s = 2\n")
    reader = Reader(places.home, folder, places.env)

    for block in load_blocks(EXAMPLE / "README.md"):
        if block.mark != "skip":
            reader.follow(block)

    stop = [str(Path(sys.executable).parent / "windlass"), "pocket", "scancel", "--me"]
    subprocess.run(stop, capture_output=True, timeout=60, check=True)
