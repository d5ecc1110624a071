"""What passes through a node: every reader has all of it, and never more than a window lies in memory."""

import random

from windlass_job.staging.window import HANDING_ON, SIZE, UNPACKING, Window

PIECE = 1 << 20


def make_content(size: int) -> bytes:
    return random.Random(1).randbytes(size)


def fill(window: Window, content: bytes, begin: int) -> int:
    """As much as there is room for; up to where it goes."""
    while begin < len(content) and window.has_room(min(PIECE, len(content) - begin)):
        window.append(memoryview(content)[begin : begin + PIECE])
        begin += PIECE
    return min(begin, len(content))


def read(window: Window, reader: str, offset: int, most: int) -> bytes:
    found = bytes(window.view(offset, most))
    window.advance(reader, offset + len(found))
    return found


def test_a_fast_and_a_slow_reader_have_the_same_bytes() -> None:
    content = make_content(2 * SIZE + 12_345)
    window, read_here, handed_on, end = Window(), b"", b"", 0
    for reader in (UNPACKING, HANDING_ON):
        window.join(reader)

    while len(handed_on) < len(content):
        end = fill(window, content, end)
        assert end - len(handed_on) <= SIZE
        read_here += read(window, UNPACKING, len(read_here), 5 * PIECE)
        handed_on += read(window, HANDING_ON, len(handed_on), PIECE + 17)

    assert (read_here, handed_on) == (content, content)


def test_what_comes_anew_is_unpacked_anew_and_handed_on_once() -> None:
    content = make_content(2 * SIZE)
    window = Window()
    for reader in (UNPACKING, HANDING_ON):
        window.join(reader)
    end = fill(window, content, 0)
    being_sent = window.view(0, PIECE)
    sent = len(read(window, HANDING_ON, 0, SIZE))
    read(window, UNPACKING, 0, SIZE)

    window.begin_anew()
    end, again = fill(window, content[::-1], 0), b""  # others, to tell them apart
    while len(again) < sent:
        again += read(window, UNPACKING, len(again), PIECE)
        end = fill(window, content[::-1], end)

    assert bytes(being_sent) == content[:PIECE]  # what was on its way stays as it was
    assert again == content[::-1][: len(again)]
    assert bytes(window.view(sent, PIECE)) == content[::-1][sent : sent + PIECE]


def test_where_nobody_reads_any_more_nothing_is_kept_and_nobody_waits() -> None:
    window = Window()
    window.join(UNPACKING)
    window.append(memoryview(bytes(SIZE)))
    assert not window.has_room(1)

    window.leave(UNPACKING)

    assert window.has_room(SIZE)
    window.append(memoryview(bytes(PIECE)))
    assert len(window.view(SIZE, PIECE)) == 0
