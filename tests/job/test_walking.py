"""The walk through storage, on a real file system: what is large, what will be purged, going on where it stopped."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from windlass_job.working import walking

DAY = 86_400.0


def ignore(done: int, total: int, words: str = "") -> None:
    """Nobody looks."""


def walk(folder: Path, *places: dict[str, Any], **more: Any) -> dict[str, Any]:
    request = {"places": list(places), "max_s": 60, "max_entries": 10**6, "within_s": 14 * DAY, "folder": str(folder)}
    return walking.VERBS["walk"]({**request, **more}, ignore)


def place(path: Path, **more: Any) -> dict[str, Any]:
    return {"name": "scratch", "path": str(path), "depth": 3, **more}


def put(path: Path, size: int = 4096, *, days_ago: float = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    then = time.time() - days_ago * DAY
    os.utime(path, (then, then))
    return path


@pytest.fixture
def area(tmp_path: Path) -> Path:
    folder = tmp_path / "area"
    folder.mkdir()
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def test_folders_are_summed_up_with_all_below_them(area: Path, work: Path) -> None:
    put(area / "a" / "b" / "c" / "d" / "e", 40960)
    put(area / "a" / "f")
    put(area / "g")

    (seen,) = walk(work, place(area))["places"]

    assert seen["whole"][:2] == [3, 40960 + 2 * 4096]
    assert [row[:3] for row in seen["biggest"]] == [
        ["a", 2, 40960 + 4096],
        ["a/b", 1, 40960],
        ["a/b/c", 1, 40960],
    ]
    assert seen["is_whole"]


def test_files_of_mine_that_are_too_old_soon_are_listed_the_soonest_first(area: Path, work: Path) -> None:
    put(area / "old" / "gone soon", days_ago=59)
    put(area / "old" / "gone already", days_ago=61)
    put(area / "new" / "safe", days_ago=1)

    (seen,) = walk(work, place(area, purge_s=60 * DAY, by=["atime", "mtime"]))["places"]

    assert [Path(path).name for _, path, _ in seen["soonest"]] == ["gone already", "gone soon"]
    assert seen["whole"][2:4] == [2, 2 * 4096]
    ((name, _, _, doomed, _, first),) = seen["doomed"]
    assert (name, doomed) == ("old", 2)
    assert first == pytest.approx(time.time() - DAY, abs=3600)


@pytest.mark.parametrize(("by", "is_doomed"), [("mtime", True), ("atime", False), ("ctime", False)])
def test_the_sites_own_rule_says_which_time_counts(area: Path, work: Path, by: str, is_doomed: bool) -> None:
    file = put(area / "x")
    os.utime(file, (time.time(), time.time() - 90 * DAY))  # read just now, written long ago

    (seen,) = walk(work, place(area, purge_s=60 * DAY, by=[by]))["places"]

    assert bool(seen["soonest"]) == is_doomed


def test_a_walk_that_ran_out_of_time_goes_on_where_it_stopped(area: Path, work: Path) -> None:
    for number in range(30):
        put(area / str(number) / "file")

    rounds: list[dict[str, Any]] = []
    while not rounds or not rounds[-1]["is_whole"]:
        rounds.append(walk(work, place(area), max_entries=20))
        assert len(rounds) < 20

    first, last = rounds[0]["places"][0], rounds[-1]["places"][0]
    assert len(rounds) > 2
    assert (first["is_whole"], first["waiting"] > 0, len(first["next"]) > 0) == (False, True, True)
    assert last["whole"][:2] == [30, 30 * 4096]
    assert rounds[-1]["went_on"]
    assert not walk(work, place(area))["went_on"]  # the next one begins anew


def test_an_old_half_walk_is_not_gone_on_with(area: Path, work: Path) -> None:
    for number in range(5):
        put(area / str(number) / "file")
    walk(work, place(area), max_entries=2)
    state = work / "state.json"

    state.write_text(json.dumps({**json.loads(state.read_text()), "time": time.time() - DAY}))
    again = walk(work, place(area))

    assert again["places"][0]["whole"][0] == 5
    assert not again["went_on"]


def test_another_name_of_a_file_counts_once_and_links_are_not_followed(area: Path, work: Path) -> None:
    put(area / "a", 8192)
    os.link(area / "a", area / "b")
    (area / "loop").symlink_to(area)

    (seen,) = walk(work, place(area))["places"]

    assert seen["whole"][0] == 2  # the file, and the link by its own name
    assert 8192 <= seen["whole"][1] <= 8192 + 4096


def test_other_parts_are_skipped_where_another_place_has_them(area: Path, work: Path) -> None:
    put(area / "ours" / "x")
    put(area / "y")

    (seen,) = walk(work, place(area), skip=[str(area / "ours")])["places"]

    assert seen["whole"][0] == 1


def test_what_is_not_there_or_not_ours_is_told(area: Path, work: Path) -> None:
    missing, unset = walk(work, place(area / "nosuch"), {"name": "x", "path": "$NOSUCH_VARIABLE/y"})["places"]

    assert missing["problem"] == "no such file or directory"
    assert "is a variable in it not set" in unset["problem"]


def test_odd_names_survive(area: Path, work: Path) -> None:
    put(area / os.fsdecode(b"a\xff b\n") / "x")

    for _ in range(2):
        result = walk(work, place(area), max_entries=1)
    (seen,) = walk(work, place(area))["places"]

    assert result["places"][0]["name"] == "scratch"
    assert seen["whole"][0] == 1
