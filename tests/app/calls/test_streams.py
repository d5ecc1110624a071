"""Results that come in pieces are put together, however they were cut."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from windlass.app.calls.streams import Stream, Streams
from windlass_job.farming import records

LEFT = st.lists(st.tuples(st.integers(0, 99), st.integers(1, 3), st.binary(min_size=1, max_size=30)), max_size=12)


def make_files(left: list[tuple[int, int, bytes]]) -> tuple[bytes, bytes]:
    at, places = 0, b""
    for task, attempt, content in left:
        places += b"%d %d %d %d\n" % (task, attempt, at, len(content))
        at += len(content)
    return places, b"".join(content for _, _, content in left)


@given(LEFT, st.data())
def test_each_result_is_found_once_and_in_order(left: list[tuple[int, int, bytes]], data: st.DataObject) -> None:
    places, results = make_files(left)
    stream = Stream()
    found: list[tuple[int, int, bytes]] = []

    while places or results:
        lines = data.draw(st.integers(0, places.count(b"\n")))
        some = b"".join(places.splitlines(True)[:lines])
        size = data.draw(st.integers(0, len(results)))
        if not some and not size:
            some, size = places, len(results)
        found += stream.take(some, results[:size])
        places, results = places[len(some) :], results[size:]

    assert found == left


def test_workers_are_told_apart_and_read_on_from_where_they_were() -> None:
    streams = Streams()
    ended = records.Ended(7, 1, 1, 10.0, 0.5, 0.1, 20.0, "no")
    line = records.format_end(ended).encode()
    values: dict[str, Any] = {
        "workers": [
            {"name": "a", "to": [0, 8, 2], "bytes": [0, 8, 2]},
            {"name": "b", "to": [len(line), 0, 0], "bytes": [len(line), 0, 0]},
        ],
        "running": [3],
        "more": True,
    }

    news = streams.read(values, b"5 1 0 2\n" + b"vx" + line)

    assert news.left == [("a", 5, 1, b"vx")]
    assert news.failed == [("b", ended)]
    assert (news.running, news.is_more) == (frozenset({3}), True)
    assert streams.since == {"a": [0, 8, 2], "b": [len(line), 0, 0]}
