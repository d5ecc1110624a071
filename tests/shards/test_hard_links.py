"""Hard links in a tar: packed and unpacked as what they are, second names of a file."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from tests.shards.sets import make_tree, pack_small, read_set, read_tree
from windlass_job.shards import told as words
from windlass_job.shards.extracting import extract_archive
from windlass_job.shards.packing import Settings, pack, plan_packing
from windlass_job.shards.sources import choose_source

SUFFIXES = pytest.mark.parametrize("suffix", [".tar", ".tar.gz"])
Entry = tuple[str, bytes | str]  # a name, and its content or whose further name it is


@SUFFIXES
def test_a_tar_gives_what_its_folder_gives(tmp_path: Path, suffix: str) -> None:
    top = make_tree(tmp_path / "top", {b"cat/%03d.jpg" % n: b"%d" % n * 3000 for n in range(40)})
    (top / "dog").mkdir()
    for number in range(0, 40, 3):
        os.link(top / f"cat/{number:03}.jpg", top / f"dog/{number:03}.jpg")
    with open_to_write(tmp_path / f"a{suffix}") as archive:
        archive.add(top, ".")

    packed = pack_small(tmp_path / f"a{suffix}", tmp_path / "set")
    done = extract_archive(bytes(tmp_path / f"a{suffix}"), bytes(tmp_path / "out"))
    some = extract_archive(bytes(tmp_path / f"a{suffix}"), bytes(tmp_path / "some"), (b"dog/*",))

    assert read_set(tmp_path / "set") == read_tree(top) == read_tree(tmp_path / "out")
    assert packed.card.classes == ("cat", "dog")
    assert packed.told.counts == done.told.counts == {}
    assert len(packed.card.shards) > 2
    assert some.files == 14


@SUFFIXES
def test_a_link_is_what_stood_before_it(tmp_path: Path, suffix: str) -> None:
    entries: list[Entry] = [("a", b"old"), ("b", "./a"), ("a", b"newer"), ("c", "a"), ("b2", b"x"), ("b2", "a")]

    told = make_archive(tmp_path / f"a{suffix}", entries)

    assert read_set(tmp_path / "set") == {b"a": b"newer", b"b": b"old", b"b2": b"newer", b"c": b"newer"}
    assert told == {words.TWICE: 2}


@SUFFIXES
def test_a_link_to_nothing_before_it_is_a_fault(tmp_path: Path, suffix: str) -> None:
    told = make_archive(tmp_path / f"a{suffix}", [("b", "a"), ("a", b"1"), ("c", "gone"), ("d", "zzz")])

    assert read_set(tmp_path / "set") == {b"a": b"1"}
    assert told == {words.LOST_LINK: 3}
    assert words.find_faults([f"3 {words.LOST_LINK}: 'b'"])


@SUFFIXES
def test_a_plan_counts_links_with_their_bytes(tmp_path: Path, suffix: str) -> None:
    make_archive(tmp_path / f"a{suffix}", [("a", b"12345"), ("b", "a")])

    plan = plan_packing(choose_source(bytes(tmp_path / f"a{suffix}")), Settings("set"))

    assert (plan.files, plan.plan.bytes) == (2, 10)


def test_a_large_member_is_read_again_for_each_of_its_names(tmp_path: Path) -> None:
    content = bytes(33 << 20)

    told = make_archive(tmp_path / "a.tar.gz", [("a", content), ("b", "a"), ("c", b"x"), ("d", "a"), ("e", "c")])

    assert read_set(tmp_path / "set") == {b"a": content, b"b": content, b"c": b"x", b"d": content, b"e": b"x"}
    assert told == {}


def open_to_write(path: Path) -> tarfile.TarFile:
    return tarfile.open(path, "w:gz") if path.suffix == ".gz" else tarfile.open(path, "w")


def make_archive(path: Path, entries: list[Entry]) -> dict[str, int]:
    """Packed, beside it; what was told."""
    with open_to_write(path) as archive:
        for name, content in entries:
            member = tarfile.TarInfo(name)
            if isinstance(content, str):
                member.type, member.linkname = tarfile.LNKTYPE, content
                archive.addfile(member)
            else:
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    packed = pack(choose_source(bytes(path)), bytes(path.parent / "set"), Settings("set"))
    return packed.told.counts
