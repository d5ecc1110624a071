"""Lines of one stream: the same as by reading every line, and nothing that may be of it is left out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.watching.log_search import Hits, find_hits
from windlass.core.watching.log_streams import (
    Stream,
    Streams,
    find_back_of_stream,
    find_of_stream,
    keep_lines,
    keep_of_stream,
    read_streams,
)

OUT, ERR = Stream.STDOUT, Stream.STDERR
WRITES = st.lists(
    st.tuples(st.sampled_from("oemu"), st.sampled_from([b"a\n", b"bb\nc\n", b"half", b"\n", b"\rbar", b"x\ny\nz"])),
    max_size=20,
)


def lay(writes: list[tuple[str, bytes]]) -> tuple[bytes, Streams]:
    """u: nobody saw it."""
    log, told, end = b"", "", -1
    for kind, text in writes:
        if kind != "u":
            told += ("" if end == len(log) else f"\n@{len(log)}") + f" {kind}{len(text)}"
            end = len(log) + len(text)
        log += text
    return log, read_streams((told + "\n").encode())


def list_lines(log: bytes) -> list[tuple[int, int]]:
    lines, at = [], 0
    for line in log.split(b"\n"):
        lines.append((at, min(at + len(line) + 1, len(log))))
        at += len(line) + 1
    return [(begin, end) for begin, end in lines if begin < end]


def may_be(writes: list[tuple[str, bytes]], stream: Stream, begin: int, end: int) -> bool:
    """By looking at every byte."""
    at = 0
    for kind, text in writes:
        for byte in range(max(at, begin), min(at + len(text), end)):
            if kind in ("u", "m", stream.letter):
                return True
            assert byte < end
        at += len(text)
    return False


@given(WRITES, st.sampled_from(Stream), st.integers(1, 5))
def test_it_is_as_by_reading_all(writes: list[tuple[str, bytes]], stream: Stream, most: int) -> None:
    log, streams = lay(writes)
    lines = list_lines(log)
    own = [begin for begin, end in lines if may_be(writes, stream, begin, end)]

    first, looked = find_of_stream(log, (0, len(log)), streams, stream, most=most)
    last, looked_back = find_back_of_stream(log, (0, len(log)), streams, stream, most=most)

    assert [begin for begin, end in lines if streams.may_be(stream, begin, end)] == own
    assert (first, looked) == (own[:most], own[most] if len(own) > most else len(log))
    assert (last, looked_back) == (own[-most:], last[0] if len(own) >= most else 0)
    assert keep_of_stream([begin for begin, _ in lines], log, len(log), streams, stream) == own


@given(WRITES.map(lambda writes: [(kind, text.replace(b"\r", b"-")) for kind, text in writes]), st.integers(1, 7))
def test_a_log_that_comes_piece_by_piece_is_the_same(writes: list[tuple[str, bytes]], size: int) -> None:
    log, streams = lay(writes)
    own = [(begin, end) for begin, end in list_lines(log) if streams.may_be(ERR, begin, end)]

    pieces = [log[at : at + size] for at in range(0, len(log), size)]

    kept = list(keep_lines(pieces, streams, ERR))
    assert [line for line, _ in kept] == [log[begin:end] for begin, end in own]
    assert [is_uncertain for _, is_uncertain in kept] == [streams.may_be(OUT, begin, end) for begin, end in own]


def test_a_line_of_both_is_of_both() -> None:
    log, streams = lay([("o", b"Epoch 1: "), ("e", b"warning\n"), ("o", b"done\n")])

    assert find_of_stream(log, (0, len(log)), streams, OUT, most=9)[0] == [0, 17]
    assert find_of_stream(log, (0, len(log)), streams, ERR, most=9)[0] == [0]


def test_what_both_wrote_at_once_is_of_both() -> None:
    log, streams = lay([("m", b"print\nTraceback\n"), ("o", b"next\n")])

    assert find_of_stream(log, (0, len(log)), streams, ERR, most=9)[0] == [0, 6]
    assert find_of_stream(log, (0, len(log)), streams, OUT, most=9)[0] == [0, 6, 16]


def test_one_line_of_many_pieces_is_read_in_one_go() -> None:
    """A progress bar that never ends its line."""
    pieces = [b"x" * 1000] * 20_000

    [(line, is_uncertain)] = keep_lines(pieces, Streams(), ERR)

    assert (len(line), is_uncertain) == (20_000_000, True)


def test_a_log_that_was_emptied_begins_anew() -> None:
    streams = read_streams(b"@0 o100 e50\n@120 e30\n@0 e10\n")

    assert streams.may_be(OUT, 0, 5) is False
    assert streams.may_be(OUT, 50, 60) is True, "nobody saw it since"


@pytest.mark.parametrize(
    "content",
    [b"", b"@", b"@x o5\n", b"\xff\x00\n", b"@0 o5 q9 e", b"@5 o0\n", b"@-3 o5\n", b"@1 o" + b"9" * 40],
)
def test_what_is_damaged_hides_nothing(content: bytes) -> None:
    streams = read_streams(content)

    assert streams.may_be(OUT, 0, 10)
    assert streams.may_be(ERR, 0, 10)


def test_a_search_keeps_to_the_stream() -> None:
    log, streams = lay([("o", b"loss 1\n"), ("e", b"loss is nan\n"), ("o", b"loss 2\n")])

    def keep(stream: Stream) -> Hits:
        return find_hits(
            log, "loss", spans=[(0, len(log))], keep=lambda hit: streams.may_be(stream, hit.begin, hit.end + 1)
        )

    assert [hit.number for hit in keep(ERR).hits] == [2]
    assert [hit.number for hit in keep(OUT).hits] == [1, 3]
