"""Lines of one rank: the same as by reading every line, however they lie between those of others and blocks."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.watching.log_lines import read_lines
from windlass.core.watching.log_ranks import find_back_marked, find_marked, make_rank_marks, search_marked
from windlass.core.watching.log_search import Hit

MARKS = make_rank_marks(3)
STARTS = ("[rank3]: ", "[default3]:", "3: ", "[rank33]: ", "13: ", " 3: ", "[rank1]: ", "", "x [rank3]: ")
WORDS = ("loss", "Loss 3: ", "", "lo", "[rank3]: ", "loss loss")
LOGS = st.lists(st.tuples(st.sampled_from(STARTS), st.sampled_from(WORDS)), max_size=30).map(
    lambda lines: "\n".join(start + word for start, word in lines).encode()
)


def list_own(log: bytes) -> list[tuple[int, int, bytes]]:
    """By reading all: the number, the first byte and the words of each."""
    own, begin = [], 0
    for number, line in enumerate(log.split(b"\n"), 1):
        if line.startswith(MARKS):
            own.append((number, begin, line))
        begin += len(line) + 1
    return own


def search(log: bytes, word: bytes) -> list[Hit]:
    return list(search_marked(log, word, (0, len(log)), MARKS, ignores_case=True))


@given(LOGS, st.integers(1, 5))
def test_it_is_as_by_reading_all(log: bytes, most: int) -> None:
    own = list_own(log)
    begins = [begin for _, begin, _ in own]

    hits = search(log, b"loss")
    last, looked_back = find_back_marked(log, (0, len(log)), MARKS, most=most)
    first, looked = find_marked(log, (0, len(log)), MARKS, most=most)

    assert [(hit.number, hit.begin) for hit in hits] == [
        (number, begin) for number, begin, line in own if b"loss" in line.lower()
    ]
    assert last == begins[-most:]
    assert looked_back == (last[0] if len(begins) >= most else 0)
    assert first == begins[:most]
    assert looked == (begins[most] if len(begins) > most else len(log))


@given(LOGS, st.integers(0, 60))
def test_it_is_the_same_across_blocks(log: bytes, room: int) -> None:
    """A long line before it moves all of it over the end of a block."""
    pad = b"y" * ((4 << 20) - room) + b"\n"
    log = pad + log
    own = list_own(log)

    assert [hit.begin for hit in search(log, b"loss")] == [begin for _, begin, line in own if b"loss" in line.lower()]
    assert find_back_marked(log, (0, len(log)), MARKS, most=100)[0] == [begin for _, begin, _ in own]
    assert find_marked(log, (0, len(log)), MARKS, most=100)[0] == [begin for _, begin, _ in own]


def test_not_all_of_a_huge_log_is_looked_at_for_a_page() -> None:
    log = b"[rank3]: old\n" + b"[rank1]: loss\n" * 1_000_000

    found, looked = find_back_marked(log, (0, len(log)), MARKS, most=300, far=1 << 20)
    again = find_back_marked(log, (0, looked), MARKS, most=300)

    assert found == []
    assert log[looked - 1 : looked + 8] == b"\n[rank1]:" or looked == len(log) - (1 << 20)
    assert again == ([0], 0)


@pytest.mark.parametrize("asked", [3, 0])
def test_a_million_lines_of_many_ranks_take_well_under_a_second(asked: int) -> None:
    """Every line holds the word, and every line one of the marks."""
    ranks = 64 if asked else 1
    log = b"".join(b"[rank%d]: step %d loss 0.1\n" % (at % ranks, at) for at in range(1_000_000))
    begin = time.process_time()

    hits = list(search_marked(log, b"step 999", (0, len(log)), make_rank_marks(asked), ignores_case=True))

    assert time.process_time() - begin < 2  # here 0.2
    assert all(log[hit.begin :].startswith(b"[rank%d]: step 999" % asked) for hit in hits)
    assert len(read_lines(log, hits[0].begin, len(log), most=1)) == 1
