"""A long log is searched where it lies: the same lines as by reading it, and only what stands around them travels."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.job.harness import OLDEST_AND_NEWEST
from windlass.edges.host import Reply, Request
from windlass.edges.local_host import LocalHost

NOISE = b"step of many, with nothing to see\n"


@pytest.fixture(params=list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def host(request: pytest.FixtureRequest) -> Iterator[LocalHost]:
    made = LocalHost(python=request.param, env={})
    yield made
    made.close()


def find(host: LocalHost, path: Path, words: str, **more: object) -> Reply:
    asked = {"path": os.fspath(path), "words": words, "ignores_case": words == words.lower()}
    asked |= {"limit": 200, "around": 100, "seconds": 60.0, **more}
    return host.ask([Request(operation="find_in_file", arguments=asked)])[0]


def test_places_are_found_across_blocks_and_once_a_line(host: LocalHost, tmp_path: Path) -> None:
    path = tmp_path / "log"
    block = 4 << 20
    content = bytearray(NOISE * (3 * block // len(NOISE)))
    places = [0, 1000, block - 3, 2 * block - 6, 2 * block + 100, len(content) - 7]
    for place in places:
        content[place : place + 6] = b"NeedLe"
    content[1010:1016] = b"needle"  # in the same line
    path.write_bytes(content)

    reply = find(host, path, "needle")

    lines = sum(b"needle" in line.lower() for line in bytes(content).split(b"\n"))
    assert (reply.values["found"], reply.values["looked"], reply.values["size"]) == (lines, len(content), len(content))
    assert lines >= 5
    at = 0
    for begin, count in reply.values["spans"]:
        assert reply.payload[at : at + count] == content[begin : begin + count]
        at += count
    assert at == len(reply.payload) < 1500
    spans = reply.values["spans"]
    assert all(any(b <= place and place + 6 <= b + n for b, n in spans) for place in places)
    assert find(host, path, "Needle").values["found"] == 0, "capitals are meant"


def test_a_search_ends_when_it_has_enough_or_no_more_time(host: LocalHost, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"again\n" * 3_000_000)

    some, none = find(host, path, "again", limit=50), find(host, path, "again", seconds=0.0)

    assert (some.values["found"], some.values["looked"]) == (50, 49 * 6)
    assert (none.values["found"], none.values["looked"]) == (0, 0)


def test_an_answer_stays_small_whatever_stands_there(host: LocalHost, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x" * 20_000_000 + b"\n")

    reply = find(host, path, "x", around=10_000_000)

    assert len(reply.payload) <= 28 << 20
    assert 1 <= reply.values["found"] <= 200


@pytest.mark.parametrize("words", ["é🙂", "\udcff"])
def test_words_of_all_kinds(host: LocalHost, tmp_path: Path, words: str) -> None:
    path = tmp_path / "log"
    path.write_bytes(NOISE + words.encode("utf-8", "surrogatepass") + b"\n" + NOISE)

    assert find(host, path, words).values["found"] == 1


def test_what_cannot_be_searched_is_told(host: LocalHost, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "fifo")

    assert find(host, tmp_path / "nothing", "x").kind == "not-found"
    assert not find(host, tmp_path, "x").ok
    assert not find(host, tmp_path / "fifo", "x").ok
    assert not find(host, tmp_path / "empty", "").ok
    assert find(host, tmp_path / "empty", "x").values["found"] == 0
