"""Logs as bytes: searched, cut into lines, folded; whatever stands in them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.watching.ansi import Piece, read_pieces, strip
from windlass.core.watching.log_lines import LONGEST, Line, find_back, fold, number_of, read_lines
from windlass.core.watching.log_search import count_lines, find_first, find_hits

LOG = b"one\nTwo two\nthree\n\nfive two\n"


def whole(log: bytes) -> list[tuple[int, int]]:
    return [(0, len(log))]


def test_a_line_is_found_once_with_its_number() -> None:
    hits = find_hits(LOG, "two", spans=whole(LOG)).hits

    assert [(hit.number, LOG[hit.begin : hit.end]) for hit in hits] == [(2, b"Two two"), (5, b"five two")]


def test_capitals_are_meant_as_they_are_typed() -> None:
    assert [hit.number for hit in find_hits(LOG, "Two", spans=whole(LOG)).hits] == [2]


@pytest.mark.parametrize("query", [".*", "(", "[", "\\"])
def test_what_is_looked_for_is_no_pattern(query: str) -> None:
    log = LOG + query.encode() + b"\n"

    assert [hit.number for hit in find_hits(log, query, spans=whole(log)).hits] == [6]


def test_behind_a_hole_lines_have_no_number() -> None:
    hits = find_hits(LOG, "two", spans=[(0, 8), (13, len(LOG))]).hits

    assert [hit.number for hit in hits] == [2, None]


def test_words_across_two_blocks_are_found() -> None:
    log = b"x" * ((4 << 20) - 3) + b"needle\nneedle\n"

    assert len(find_hits(log, "needle", spans=whole(log)).hits) == 2


def test_a_line_without_end_does_not_hurt() -> None:
    log = b"\xff" * 3_000_000 + b"needle" + b"\xfe" * 3_000_000

    (hit,) = find_hits(log, "needle", spans=whole(log)).hits
    lines = read_lines(log, 0, len(log), most=500)

    assert hit.end - hit.begin < 200_000
    assert all(len(line.text) <= LONGEST for line in lines)
    assert lines[0].left_out > 0


def test_more_than_anybody_reads_is_cut() -> None:
    log = b"again\n" * 500

    hits = find_hits(log, "again", spans=whole(log), most=100)

    assert (len(hits.hits), hits.is_cut) == (100, True)


@given(st.binary(max_size=300).map(lambda log: re.sub(rb"[^a\n\r]", b"ab", log)))
def test_search_agrees_with_a_simple_one(log: bytes) -> None:
    expected = [at for at, line in enumerate(log.split(b"\n"), 1) if b"ab" in line]

    assert [hit.number for hit in find_hits(log, "ab", spans=whole(log)).hits] == expected


@given(st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"")), min_size=1, max_size=20))
def test_lines_are_those_of_the_file(lines: list[bytes]) -> None:
    log = b"\n".join(lines) + b"\n"

    read = read_lines(log, 0, len(log), most=1000, number=1)

    assert len(read) == len(lines)
    assert [line.number for line in read] == list(range(1, len(lines) + 1))
    assert all(log[line.begin - 1 : line.begin] in (b"", b"\n") for line in read)


def test_the_last_lines_are_found_from_the_end() -> None:
    begin = find_back(LOG, len(LOG), 0, 2)

    assert [line.text for line in read_lines(LOG, begin, len(LOG), most=10)] == ["", "five two"]
    assert number_of(LOG, begin, is_from_start=True) == 4
    assert number_of(LOG, begin, is_from_start=False) is None
    assert find_back(LOG, len(LOG), 0, 100) == 0
    assert count_lines(LOG, 0, len(LOG)) == 5


def test_a_progress_bar_shows_its_last_state() -> None:
    (line,) = read_lines(b"10 %\r20 %\r100 %\n", 0, 16, most=1)

    assert (line.text, line.overwrites) == ("100 %", 2)


def test_the_same_words_again_and_again_become_one_line() -> None:
    texts = ["a", *(f"[rank{rank}]: 2026-01-01 10:00:0{rank} warning" for rank in range(4)), "b", "b"]

    folded = fold([Line(begin=at, text=text) for at, text in enumerate(texts)])

    assert [(line.text[-7:], line.times) for line in folded] == [("a", 1), ("warning", 4), ("b", 1), ("b", 1)]


def test_numbers_that_change_are_not_folded() -> None:
    lines = [Line(begin=at, text=f"epoch {at} loss 0.{at}") for at in range(5)]

    assert fold(lines) == lines


@pytest.mark.parametrize(
    ("text", "rank"), [("[rank3]: x", "3"), ("[default12]:x", "12"), ("7: x", "7"), ("x", None), ("3 of 4", None)]
)
def test_the_rank_that_wrote_a_line_is_read(text: str, rank: str | None) -> None:
    assert Line(begin=0, text=text).rank == rank


def test_the_first_traceback_is_found() -> None:
    log = b"fine\nTraceback (most recent call last):\n  x\n"

    assert find_first(log, b"Traceback (most recent call last)", spans=whole(log)) == 5
    assert find_first(log, b"Traceback", spans=[(10, len(log))]) is None


def test_colours_become_styles_and_all_else_is_dropped() -> None:
    text = "\x1b[1;31mred\x1b[0m plain \x1b[38;5;200mmany\x1b[39m\x1b]0;title\x07\x1b[2J\x1b[?25l<b>"

    assert read_pieces(text) == (
        Piece(text="red", styles=("red", "bold")),
        Piece(text=" plain many<b>"),
    )


@pytest.mark.parametrize(
    "text", ["\x1b", "\x1b[", "\x1b[999999999999m", "\x1b]8;;http://x\x1b\\link", "\x9b31m", "\u202eevil"]
)
def test_no_control_survives(text: str) -> None:
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", strip(text))


@given(st.text(max_size=200))
def test_pieces_hold_what_strip_leaves(text: str) -> None:
    assert "".join(piece.text for piece in read_pieces(text)) == strip(text)
