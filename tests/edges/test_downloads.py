"""Files from a site that is not trusted: whole, verified and inside their folder, or not at all."""

from pathlib import Path

import pytest

from windlass.edges.downloads import PARTS, Target, Wanted
from windlass.errors import StoreError, UsageError, WindlassError

FILE = Wanted(name="out/model.pt", size=10, mtime=1000.0)


def write(target: Target, wanted: Wanted, content: bytes) -> None:
    part = target.open_part(wanted)
    part.write(content)
    part.close()


@pytest.fixture
def target(tmp_path: Path) -> Target:
    made = Target(tmp_path / "results")
    made.prepare()
    return made


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "..", "", "a/\0b"])
def test_a_name_never_leads_out_of_the_folder(target: Target, name: str) -> None:
    with pytest.raises(UsageError):
        target.find(name)


def test_nothing_is_written_through_a_link(target: Target, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (target.folder / "out").symlink_to(tmp_path / "elsewhere")

    write(target, FILE, b"0123456789")

    with pytest.raises(UsageError, match="is a link"):
        target.finish(FILE)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_link_in_the_place_of_a_file_is_replaced_not_followed(target: Target, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (target.folder / "out").mkdir()
    (target.folder / "out/model.pt").symlink_to(tmp_path / "precious")

    write(target, FILE, b"0123456789")
    target.finish(FILE)

    assert (tmp_path / "precious").read_text() == "mine"
    assert (target.folder / "out/model.pt").read_bytes() == b"0123456789"


def test_a_part_of_another_version_is_not_gone_on_with(target: Target) -> None:
    write(target, FILE, b"01234")

    again = target.open_part(FILE)
    newer = target.open_part(Wanted(name=FILE.name, size=10, mtime=2000.0))

    assert (again.written, newer.written) == (5, 0)


def test_a_finished_file_is_known_by_size_and_time(target: Target) -> None:
    write(target, FILE, b"0123456789")
    target.finish(FILE)

    assert target.has(FILE)
    assert not target.has(Wanted(name=FILE.name, size=10, mtime=5000.0))
    assert not target.has(Wanted(name=FILE.name, size=11, mtime=1000.0))


@pytest.mark.parametrize("name", ["x" * 300, "out/" + "y" * 255])
def test_a_name_that_is_too_long_is_said(target: Target, name: str) -> None:
    wanted = Wanted(name=name, size=1, mtime=1.0)
    write(target, wanted, b"1")

    if len(name.rsplit("/", 1)[-1]) > 255:
        with pytest.raises(WindlassError):
            target.finish(wanted)
    else:
        target.finish(wanted)


def test_a_folder_where_a_file_belongs_is_said(target: Target) -> None:
    (target.folder / "out/model.pt/inner").mkdir(parents=True)
    write(target, FILE, b"0123456789")

    with pytest.raises(StoreError, match=r"model\.pt"):
        target.finish(FILE)


@pytest.mark.parametrize("place", ["/dev/null/x", "/proc/nothing/x"])
def test_a_folder_that_cannot_be_made_is_said(place: str) -> None:
    with pytest.raises(StoreError, match="could not be written"):
        Target(Path(place)).prepare()


def test_cleaning_up_leaves_only_results(target: Target) -> None:
    write(target, FILE, b"0123456789")
    target.finish(FILE)
    write(target, Wanted(name="old", size=3, mtime=1.0), b"1")

    target.clean_up()

    assert not (target.folder / PARTS).exists()
    assert (target.folder / "out/model.pt").exists()
