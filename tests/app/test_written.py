"""What a run wrote: told apart from what was sent."""

import hashlib
from pathlib import Path

import pytest

from windlass.app.fetching import list_files
from windlass.app.written import find_written, propose_pattern
from windlass.core.snapshot import Manifest, SnapshotFile
from windlass.edges.local_host import LocalHost


def send(folder: Path, **files: str) -> Manifest:
    for name, text in files.items():
        (folder / name).write_text(text)
    return Manifest(
        files=tuple(
            SnapshotFile(
                path=f"part/{name}", sha256=hashlib.sha256(text.encode()).hexdigest(), size=len(text), mode=0o644
            )
            for name, text in files.items()
        )
    )


def test_new_and_changed_files_are_found_below_the_working_folder(tmp_path: Path) -> None:
    folder = tmp_path / "part"
    folder.mkdir()
    sent = send(folder, same="abc", rewritten="abc", longer="abc", gone="abc")
    (folder / "rewritten").write_text("xyz")
    (folder / "longer").write_text("abcd")
    (folder / "gone").unlink()
    (folder / "out").mkdir()
    (folder / "out" / "new").write_text("1")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "task.pyc").write_text("1")

    host = LocalHost()
    there = list_files(host, str(folder), ("**",)).files
    found = find_written(host, str(folder), "part", sent, there)

    assert sorted(one.name for one in found) == ["longer", "out/new", "rewritten"]


@pytest.mark.parametrize(
    ("names", "pattern"),
    [
        (["o1.txt", "o2.txt", "log"], "*.txt"),
        (["out/a/b.pt", "out/c.pt", "x.txt"], "out/**"),
        (["result"], "result"),
        ([], None),
    ],
)
def test_a_pattern_that_would_find_something_is_proposed(names: list[str], pattern: str | None) -> None:
    assert propose_pattern(names) == pattern
