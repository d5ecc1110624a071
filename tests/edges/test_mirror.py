"""The mirror: bytes of run folders at their places here, only what the index names, nothing outside of it."""

import os
import stat
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.edges.host import Reply, Request
from windlass.edges.local_host import LocalHost
from windlass.edges.mirror import Change, Mirror, is_ours, join
from windlass.edges.run_lock import HeldAlready
from windlass.errors import UsageError

RUN = "digits-k3f9w"
KNOWN = ("size", "mtime", "end", "mark")


class Place:
    """A run folder and its mirror, with the real deputy between them."""

    def __init__(self, tmp_path: Path, host: LocalHost) -> None:
        self.folder = tmp_path / "run"
        (self.folder / "logs").mkdir(parents=True)
        self.mirror = Mirror(tmp_path / "mirror")
        self._host = host

    @property
    def log(self) -> Path:
        return self.folder / "logs" / "45_1.out"

    def bring(self, *, most: int = 1 << 20, limit: int = 1 << 24) -> Reply:
        with self.mirror.change(RUN) as change:
            held = change.index.files
            known = {path: {name: getattr(one, name) for name in KNOWN} for path, one in held.items()}
            runs = [{"folder": str(self.folder), "known": known, "most": most}]
            reply = self._host.ask([Request(operation="read_new", arguments={"runs": runs, "limit": limit})])[0]
            at = 0
            for file in reply.values["runs"][0]["files"]:
                count = sum(count for _, count in file.get("pieces", ()))
                change.take(file, reply.payload[at : at + count])
                at += count
        return reply

    def read(self, path: str = "logs/45_1.out") -> bytes:
        return self.mirror.read(RUN, path)


@pytest.fixture(scope="module")
def host() -> Any:
    host = LocalHost()
    yield host
    host.close()


@pytest.fixture
def place(tmp_path: Path, host: LocalHost) -> Place:
    return Place(tmp_path, host)


def test_only_what_is_new_is_read(place: Place) -> None:
    place.log.write_bytes(b"one\n")
    place.bring()
    with open(place.log, "ab") as log:
        log.write(b"two\n")

    reply = place.bring()

    assert reply.payload == b"two\n"
    assert place.read() == b"one\ntwo\n"
    assert place.bring().values["runs"][0]["files"] == []


def test_a_file_that_was_written_anew_is_read_anew(place: Place) -> None:
    place.log.write_bytes(b"the first attempt\n")
    place.bring()
    place.log.write_bytes(b"the second attempt, longer\n")

    place.bring()

    assert place.read() == b"the second attempt, longer\n"


def test_a_file_that_is_replaced_is_taken_whole(place: Place) -> None:
    status = place.folder / "status.json"
    status.write_text('{"state": "running"}')
    place.bring()
    os.utime(status, (1, 1))
    status.write_text('{"state": "done"}')

    place.bring()

    assert place.read("status.json") == b'{"state": "done"}'


def test_of_a_huge_log_come_the_beginning_and_the_end(place: Place) -> None:
    place.log.write_bytes(b"begin " + bytes(2_000_000) + b" end")

    place.bring(most=1000)

    held = place.mirror.load(RUN).files["logs/45_1.out"]
    assert held.size == 2_000_010
    assert held.spans == ((0, 65536), (1_999_010, 2_000_010))
    assert place.read().endswith(b" end")


def test_what_does_not_fit_into_an_answer_comes_with_the_next(place: Place) -> None:
    metrics = place.folder / "metrics" / "1.0.jsonl"
    metrics.parent.mkdir()
    metrics.write_bytes(b"0123456789")

    assert place.bring(limit=4).values["runs"][0]["is_cut"]
    place.bring(limit=4)
    place.bring(limit=4)

    assert place.read("metrics/1.0.jsonl") == b"0123456789"


def test_a_long_log_does_not_fill_the_laptop(place: Place) -> None:
    place.log.write_bytes(b"")
    place.bring()
    for _ in range(5):
        with open(place.log, "ab") as log:
            log.write(b"x" * (16 << 20))
        place.bring(most=16 << 20, limit=32 << 20)

    held = place.mirror.load(RUN).files["logs/45_1.out"]

    assert held.here <= 64 << 20
    assert held.spans[-1][1] == 80 << 20
    assert (place.mirror.folder / RUN / "logs" / "45_1.out").stat().st_blocks * 512 <= 65 << 20


def test_neither_secrets_nor_code_nor_links_are_read(place: Place) -> None:
    (place.folder / "secrets.env").write_text("TOKEN=1")
    (place.folder / "code").mkdir()
    (place.folder / "code" / "train.py").write_text("pass")
    (place.folder / "logs" / "shadow").symlink_to("/etc/passwd")

    assert place.bring().values["runs"][0]["files"] == []


def test_a_folder_that_is_gone_is_told(tmp_path: Path, host: LocalHost) -> None:
    runs = [{"folder": str(tmp_path / "nowhere"), "known": {}}]

    reply = host.ask([Request(operation="read_new", arguments={"runs": runs})])[0]

    assert reply.values["runs"] == [{"gone": True, "files": []}]


def test_files_and_folders_are_for_the_user_alone(place: Place) -> None:
    place.log.write_bytes(b"one\n")
    (place.folder / "status.json").write_text("{}")

    place.bring()

    for path in place.mirror.folder.rglob("*"):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


@pytest.mark.parametrize(
    "path",
    ["../x", "logs/../../x", "logs/..", "/etc/passwd", "logs/.hidden", "logs/a/b", "secrets.env", "code/x", "logs/\0"],
)
def test_a_name_that_leads_elsewhere_is_refused(path: str, tmp_path: Path) -> None:
    mirror = Mirror(tmp_path / "mirror")
    with mirror.change(RUN) as change:
        told = {"path": path, "size": 3, "mtime": 1.0, "is_anew": True, "pieces": [[0, 3]], "end": 3, "mark": 0}
        change.take(told, b"bad")

    assert not is_ours(path)
    assert [one.name for one in (tmp_path / "mirror").rglob("*")] == [RUN, "index.json"]


@pytest.mark.parametrize("run_id", ["..", "a/b", "", ".hidden", "a\0b"])
def test_a_run_that_is_no_name_is_refused(run_id: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        Mirror(tmp_path).load(run_id)


def test_two_processes_do_not_bring_the_same_run(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path / "mirror")

    with mirror.change(RUN), pytest.raises(HeldAlready), mirror.change(RUN):
        pass


def test_what_was_looked_at_longest_ago_goes_first(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path / "mirror")
    for at, run_id in enumerate(("old", "kept", "new")):
        with mirror.change(run_id) as change:
            _fill(change, 100_000)
        os.utime(tmp_path / "mirror" / run_id / "index.json", (at, at))

    assert mirror.shrink(most=250_000, spared=frozenset({"kept"})) == ("old",)
    assert mirror.load("new").files


def _fill(change: Change, count: int) -> None:
    told = {"path": "logs/1.out", "size": count, "mtime": 1.0, "pieces": [[0, count]], "end": count, "mark": 0}
    change.take(told, b"x" * count)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=20))
def test_joined_spans_hold_the_same_bytes(spans: list[tuple[int, int]]) -> None:
    joined = join(spans)

    assert {at for begin, end in joined for at in range(begin, end)} == {
        at for begin, end in spans for at in range(begin, end)
    }
    assert all(one[1] < other[0] for one, other in pairwise(joined))
