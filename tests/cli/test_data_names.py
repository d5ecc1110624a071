"""Names that make trouble: `windlass data` with paths that are too long, are not there, look like an option, or hold
a line's end."""

from pathlib import Path

import pytest

from tests.app.transfers import make_files
from tests.cli.conftest import Windlass
from tests.cli.test_data import flip_a_bit

LONG = "x" * 1000


@pytest.fixture
def pets(project: Path) -> Path:
    make_files(project / "pets", count=8, size=1000)
    return project / "pets"


@pytest.mark.parametrize(
    "args",
    [
        ("pack", "pets", LONG),
        ("pack", LONG, "x"),
        ("sample", "./packed", LONG),
        ("verify", LONG),
        ("advise", LONG),
        ("get", "pets", LONG),
        ("send", f"/{LONG}", "--name", "x"),
        ("extract", LONG, "x"),
        ("convert", LONG, "x"),
    ],
)
def test_a_path_that_is_too_long_is_told_as_that(windlass: Windlass, pets: Path, args: tuple[str, ...]) -> None:
    windlass("data", "pack", "pets", "packed")
    if args[0] == "get":
        windlass("data", "send", "packed", "--name", "pets")

    done = windlass("data", *args)

    assert "Traceback" not in done.stderr
    assert done.returncode == 2, done.stderr
    assert "characters is too long here: " in done.stderr
    assert len(done.stderr) < 300


def test_labels_that_are_not_there_are_named(windlass: Windlass, pets: Path) -> None:
    done = windlass("data", "send", "pets", "--labels", "nix.csv")

    assert done.returncode == 2
    assert f"pets cannot be packed: {pets.parent}/nix.csv: no such file or directory" in done.stderr


def test_names_of_classes_keep_to_their_line(windlass: Windlass, project: Path) -> None:
    for name in ("old\ncats", "old\tdogs"):
        (project / "pets" / name).mkdir(parents=True)
        (project / "pets" / name / "1.txt").write_text("1")
    windlass("data", "pack", "pets", "packed")

    told = windlass("data", "info", "./packed", "--classes").stdout

    assert "classes  2: old\\tdogs, old\\ncats\n" in told
    assert told.endswith("0\told\\tdogs\n1\told\\ncats\n")


def test_a_damaged_folder_that_looks_like_an_option_is_mended_as_told(
    windlass: Windlass, pets: Path, project: Path
) -> None:
    windlass("data", "pack", "pets", "./-n")
    flip_a_bit(project / "-n")

    told = windlass("data", "verify", "--", "-n")
    mended = windlass("data", "pack", "pets", "./-n", "--anew")

    assert "windlass data pack SOURCE ./-n --anew\n" in told.stderr
    assert mended.returncode == 0, mended.stderr
    assert windlass("data", "verify", "--", "-n").returncode == 0
