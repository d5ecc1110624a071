"""What a site tells of calls: all of it, in answers of any size, and nothing of the dead that does not count."""

import os
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.farming.calls import CallFarm
from windlass.app.calls.streams import News, Streams
from windlass_job import wire
from windlass_job.farming import ledger, news, records
from windlass_job.farming.entries import DiskStore, Ledger


@pytest.fixture
def farm(tmp_path: Path) -> CallFarm:
    (tmp_path / "work.py").write_text("def halve(x):\n    assert x % 10\n    return bytes(x * 40)\n")
    made = CallFarm(folder=tmp_path)
    made.add(b"cwork\nhalve\n.", [(x,) for x in range(200)])
    made.run()
    return made


def read_all(farm: CallFarm, most: int) -> Iterator[News]:
    streams, book = Streams(), Ledger(DiskStore(farm.root + b"/log"))
    while True:
        answer = news.read_news(farm.root, book, streams.since, most)
        assert len(answer.payload) < most + (1 << 20)
        found = streams.read(answer.values, answer.payload)
        yield found
        if not found.is_more:
            return


@pytest.mark.parametrize("most", [1 << 24, 20_000])
def test_everything_is_told_once(farm: CallFarm, most: int) -> None:
    seen = list(read_all(farm, most))

    left = [one for news in seen for one in news.left]
    values = {task: pickle.loads(content[1:]) for _, task, _, content in left if content[:1] == wire.CALL_VALUE}
    failed = [ended.task for news in seen for _, ended in news.failed]
    assert values == {x: bytes(x * 40) for x in range(200) if x % 10}
    assert sorted(failed) == [x for x in range(200) if x % 10 == 0]
    assert len(left) == 200
    told = news.read_news(farm.root, Ledger(DiskStore(farm.root + b"/log")), {}, most).values
    assert (told["total"], told["alive"]) == (200, 0)


def test_a_failure_never_comes_before_what_it_left(farm: CallFarm) -> None:
    known: set[int] = set()
    for found in read_all(farm, 20_000):
        known |= {task for _, task, _, _ in found.left}
        assert {ended.task for _, ended in found.failed} <= known


def test_failures_of_a_dead_worker_count_only_as_far_as_it_was_sealed(farm: CallFarm) -> None:
    (path,) = (farm.folder / "farm" / "pilots").glob("*.rec")
    length = path.stat().st_size
    ended = records.Ended(1, 2, 1, 0.0, 0.0, 0.0, 0.0, "too late")
    path.write_bytes(path.read_bytes() + records.format_end(ended).encode())

    def seal(state: ledger.State) -> tuple[ledger.State, bytes]:
        made = ledger.seal(state, path.stem, length, [])
        return made, ledger.format_entry(ledger.SEAL, "test", made, who=path.stem, moved=[])

    Ledger(DiskStore(farm.root + b"/log")).append(seal)

    failed = [ended.task for found in read_all(farm, 1 << 24) for _, ended in found.failed]
    assert 1 not in failed


def test_functions_are_put_once_and_inside_the_farm(farm: CallFarm) -> None:
    news.put_functions(farm.root, [("a" * 32, b"one")])
    news.put_functions(farm.root, [("a" * 32, b"another")])

    assert (farm.folder / "farm" / wire.FARM_FUNCTIONS / ("a" * 32)).read_bytes() == b"one"
    with pytest.raises(Exception, match="not a path inside"):
        news.put_functions(farm.root, [("../card.json", b"")])
    assert os.path.getsize(farm.root + b"/card.json")  # noqa: PTH202
