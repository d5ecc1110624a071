"""Every file in the order of its name, whatever lies beside it, and memory that does not grow."""

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shards.sets import make_tree, plain_user
from windlass_job.shards import told as words
from windlass_job.shards.litter import is_litter_file, is_litter_folder
from windlass_job.shards.sorting import Sorter
from windlass_job.shards.told import Told
from windlass_job.shards.walking import NoFolder, walk

PARTS = st.binary(min_size=1, max_size=40).filter(lambda part: not set(part) & {0, 47} and part not in (b".", b".."))
PARTS = PARTS.filter(lambda part: not is_litter_file(part) and not is_litter_folder(part))  # of which nothing is packed
NAMES = st.lists(PARTS, min_size=1, max_size=4).map(b"/".join)


def list_names(top: Path, told: Told | None = None, **options: bool | int) -> list[bytes]:
    return [name for names, _, _ in walk(bytes(top), told or Told(), **options) for name in names]  # type: ignore[arg-type]


@settings(max_examples=40, deadline=None)
@given(st.lists(NAMES, max_size=25, unique=True), st.sampled_from([3, 100_000]))
def test_all_names_come_once_and_in_the_order_of_their_bytes(names: list[bytes], largest_run: int) -> None:
    made = []
    with tempfile.TemporaryDirectory() as top:
        for name in names:
            try:
                make_tree(Path(top), {name: b"x"})
            except OSError:  # one name is the folder of another
                continue
            made.append(name)

        assert list_names(Path(top), largest_run=largest_run) == sorted(made)


@given(st.lists(st.tuples(st.binary(max_size=5), st.binary(max_size=5))), st.integers(2, 9))
def test_sorting_in_runs_is_sorting(records: list[tuple[bytes, bytes]], largest_run: int) -> None:
    sorter = Sorter(largest_run=largest_run)
    for key, value in records:
        sorter.add(key, value)

    assert list(sorter.iterate()) == sorted(records, key=lambda record: record[0])


def test_links_devices_pipes_and_sockets_are_followed_or_told(tmp_path: Path) -> None:
    top = make_tree(tmp_path / "top", {b"a": b"1", b"sub/b": b"2"})
    make_tree(tmp_path / "other", {b"c": b"3"})
    (top / "to-a").symlink_to("a")
    (top / "outside").symlink_to(tmp_path / "other" / "c")
    (top / "nowhere").symlink_to("missing")
    (top / "itself").symlink_to("itself")
    (top / "folder").symlink_to("sub")
    os.mkfifo(top / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(top / "socket"))
    (top / "null").symlink_to("/dev/null")

    told = Told()
    names = list_names(top, told)

    assert names == [b"a", b"outside", b"sub/b", b"to-a"]
    assert told.counts == {words.BROKEN_LINK: 2, words.FOLDER_LINK: 1, words.DEVICE: 3}
    assert any("nowhere" in line for line in told.make_lines())


def test_links_to_folders_are_followed_when_asked_and_loops_end(tmp_path: Path) -> None:
    top = make_tree(tmp_path, {b"sub/b": b"2"})
    (top / "again").symlink_to("sub")
    (top / "sub" / "up").symlink_to("..")

    told = Told()
    names = list_names(top, told, follow_folders=True)

    assert names == [b"again/b", b"sub/b"]
    assert told.counts == {words.FOLDER_LINK: 2}


def test_folders_that_cannot_be_read_are_told() -> None:
    told = Told()
    with plain_user() as home:
        make_tree(home, {b"open/a": b"1", b"closed/b": b"2"})
        (home / "closed").chmod(0)
        names = list_names(home, told)
        (home / "closed").chmod(0o755)

    assert names == [b"open/a"]
    assert told.counts == {words.UNREADABLE: 1}


def test_a_tree_deeper_than_pythons_stack_is_walked(tmp_path: Path) -> None:
    deep = b"/".join([b"d"] * 1500) + b"/file"
    make_tree(tmp_path, {deep: b"x"})

    names = list_names(tmp_path)

    subprocess.run(["rm", "-rf", tmp_path / "d"], check=True)  # pytest's own removal is not up to it
    assert names == [deep]


def test_where_no_folder_is_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(NoFolder, match="is no folder"):
        list_names(tmp_path / "missing")


def test_memory_does_not_grow_with_the_number_of_files(tmp_path: Path) -> None:
    few, many = tmp_path / "few", tmp_path / "many"
    for folder, count in ((few, 3_000), (many, 30_000)):
        folder.mkdir()
        for number in range(count):
            os.close(os.open(folder / f"a-rather-long-name-{number:06}", os.O_CREAT | os.O_WRONLY))
    program = (
        "import resource, sys; from windlass_job.shards.walking import walk; from windlass_job.shards.told import Told;"
        "n = sum(len(names) for names, _, _ in walk(sys.argv[1].encode(), Told(), largest_run=3000));"
        "print(n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )

    (count_few, memory_few), (count_many, memory_many) = (
        map(int, subprocess.run([sys.executable, "-c", program, top], capture_output=True, check=True).stdout.split())
        for top in (few, many)
    )

    assert (count_few, count_many) == (3_000, 30_000)
    assert memory_many < 2 * memory_few
