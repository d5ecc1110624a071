"""Files come out as they went in, into the target and nowhere else."""

import io
import os
import tarfile
import warnings
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.shards.sets import make_many, make_tree, pack_small, read_tree
from tests.shards.test_format import write_set
from windlass_job.shards.extracting import DIFFERS, IN_THE_WAY, extract, extract_archive
from windlass_job.shards.naming import make_stored_name
from windlass_job.shards.told import LINK_INSIDE, NOT_PLAIN, REFUSED_NAME, find_faults


@given(st.binary(max_size=30))
def test_a_stored_name_never_leads_out(name: bytes) -> None:
    stored = make_stored_name(name)

    if stored is not None:
        assert not stored.startswith(b"/")
        assert not {b"", b".", b".."} & set(stored.split(b"/"))
        assert make_stored_name(stored) == stored


def test_all_files_come_out_with_their_times_and_a_second_time_nothing_is_written(tmp_path: Path) -> None:
    top = make_many(tmp_path / "top", 50)
    make_tree(top, {b"odd\nname": b"1", b"class_1/large": os.urandom(5 << 20)})
    pack_small(top, tmp_path / "set")

    first = extract(bytes(tmp_path / "set"), bytes(tmp_path / "out"))
    second = extract(bytes(tmp_path / "set"), bytes(tmp_path / "out"))

    assert read_tree(tmp_path / "out") == read_tree(top)
    assert (first.files, first.kept, second.files, second.kept) == (52, 0, 0, 52)
    assert (tmp_path / "out" / "class_0" / "00000.bin").stat().st_mtime_ns == 10**18


def test_patterns_choose(tmp_path: Path) -> None:
    make_tree(tmp_path / "top", {b"a/1.jpg": b"", b"a/1.txt": b"", b"b/2.jpg": b""})
    pack_small(tmp_path / "top", tmp_path / "set")

    extract(bytes(tmp_path / "set"), bytes(tmp_path / "out"), patterns=(b"a/*.jpg", b"b/*"))

    assert set(read_tree(tmp_path / "out")) == {b"a/1.jpg", b"b/2.jpg"}


def test_hostile_names_stay_out(tmp_path: Path) -> None:
    names = [b"../up", b"/etc/windlass-test", b"a/../../up", b"fine", b"a//b", b"..", b"./x"]
    (tmp_path / "set").mkdir()
    write_set(tmp_path / "set", [[(name, b"x") for name in names]], {})

    done = extract(bytes(tmp_path / "set"), bytes(tmp_path / "home" / "out"))

    assert read_tree(tmp_path / "home") == {b"out/fine": b"x"}
    assert done.told.counts == {REFUSED_NAME: 6}
    assert not Path("/etc/windlass-test").exists()


@pytest.mark.parametrize("name", [b"n" * 1000, b"n" * 1000 + b"/inner"])
def test_a_name_that_no_file_system_takes_is_told_as_that(tmp_path: Path, name: bytes) -> None:
    (tmp_path / "set").mkdir()
    write_set(tmp_path / "set", [[(name, b"x"), (b"fine", b"x")]], {})

    done = extract(bytes(tmp_path / "set"), bytes(tmp_path / "out"))

    assert read_tree(tmp_path / "out") == {b"fine": b"x"}
    (line,) = done.told.make_lines()
    assert line.startswith("1 name too long for this file system, left out: 'nnn")
    assert find_faults([line]) == [line]


@pytest.mark.parametrize("force", [False, True])
def test_links_that_lie_in_the_target_are_not_followed(tmp_path: Path, force: bool) -> None:
    make_tree(tmp_path / "top", {b"dir/file": b"new", b"link": b"new"})
    make_tree(tmp_path / "victim", {b"file": b"old"})
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "dir").symlink_to(tmp_path / "victim")
    (tmp_path / "out" / "link").symlink_to(tmp_path / "victim" / "file")
    pack_small(tmp_path / "top", tmp_path / "set")

    done = extract(bytes(tmp_path / "set"), bytes(tmp_path / "out"), force=force)

    assert read_tree(tmp_path / "victim") == {b"file": b"old"}
    assert done.told.counts == {IN_THE_WAY: 1} | ({} if force else {DIFFERS: 1})
    assert (tmp_path / "out" / "link").is_symlink() != force


def test_files_of_the_user_are_not_overwritten_unless_asked(tmp_path: Path) -> None:
    make_tree(tmp_path / "top", {b"a": b"from the set", b"b": b"same"})
    pack_small(tmp_path / "top", tmp_path / "set")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a").write_bytes(b"my own text!")
    (tmp_path / "out" / "b").write_bytes(b"same")

    calm = extract(bytes(tmp_path / "set"), bytes(tmp_path / "out"))
    kept = read_tree(tmp_path / "out")
    forced = extract(bytes(tmp_path / "set"), bytes(tmp_path / "out"), force=True)

    assert (calm.files, calm.kept, calm.told.counts) == (0, 1, {DIFFERS: 1})
    assert kept == {b"a": b"my own text!", b"b": b"same"}
    assert (forced.files, read_tree(tmp_path / "out")[b"a"]) == (1, b"from the set")


def test_a_damaged_file_is_told_and_not_written(tmp_path: Path) -> None:
    make_tree(tmp_path / "top", {b"a": b"good" * 200, b"b": b"bad!" * 200})
    pack_small(tmp_path / "top", tmp_path / "set")
    shard = tmp_path / "set" / "shard-00000.tar"
    shard.write_bytes(shard.read_bytes().replace(b"bad!", b"bat!", 1))

    done = extract(bytes(tmp_path / "set"), bytes(tmp_path / "out"))

    assert set(read_tree(tmp_path / "out")) == {b"a"}
    assert "b in shard-00000.tar is damaged" in done.damaged[0]


def test_compressed_sets_come_out_as_they_were(tmp_path: Path) -> None:
    top = make_tree(tmp_path / "top", {b"%d.txt" % n: b"words " * 900 for n in range(9)})
    make_tree(top, {b"was.gz": b"\x1f\x8b already" * 50, b"0.txt.gz": b"another"})
    pack_small(top, tmp_path / "set", compress=True)

    extract(bytes(tmp_path / "set"), bytes(tmp_path / "out"))

    assert read_tree(tmp_path / "out") == read_tree(top)


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz", ".zip"])
def test_archives_of_others_are_unpacked_and_what_is_dangerous_is_told(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"archive{suffix}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile's about a name that comes twice, which is what is tested
        make_hostile_archive(path)

    done = extract_archive(bytes(path), bytes(tmp_path / "home" / "out"))

    assert read_tree(tmp_path / "home") == {b"out/a/fine": b"fine", b"out/twice": b"second"}
    assert done.told.counts[REFUSED_NAME] == 2
    assert done.told.counts[LINK_INSIDE] == (1 if suffix == ".zip" else 2)
    assert done.told.counts[NOT_PLAIN] == 1


def make_hostile_archive(path: Path) -> None:
    """Good files, a file twice, names that lead out, links and a pipe."""
    plain = [
        ("a/fine", b"fine"),
        ("twice", b"first"),
        ("../up", b"x"),
        ("/etc/windlass-test", b"x"),
        ("twice", b"second"),
    ]
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, content in plain:
                packed.writestr(name, content)
            for name, kind in (("link", 0o120777), ("pipe", 0o010644)):
                info = zipfile.ZipInfo(name)
                info.external_attr = kind << 16
                packed.writestr(info, "/etc/passwd")
        return
    with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as archive:
        for name, content in plain:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for name, type_ in (("link", tarfile.SYMTYPE), ("hard", tarfile.LNKTYPE), ("pipe", tarfile.FIFOTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = type_, "/etc/passwd"
            archive.addfile(member)
