"""Durations, memory and sizes: what is read, what is refused, and that formats read back."""

from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.units import (
    MAX_DURATION,
    Unreadable,
    format_bytes,
    format_duration,
    format_human_duration,
    format_memory,
    format_slurm_duration,
    read_duration,
    read_memory,
    read_slurm_duration,
)

whole_seconds = st.integers(0, int(MAX_DURATION.total_seconds())).map(lambda seconds: timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3d", timedelta(days=3)),
        ("1h30m", timedelta(hours=1, minutes=30)),
        ("90m", timedelta(minutes=90)),
        ("36h", timedelta(hours=36)),
        ("1.5h", timedelta(minutes=90)),
        ("45s", timedelta(seconds=45)),
        ("1d 12h", timedelta(hours=36)),
        ("2 h 10 min", timedelta(hours=2, minutes=10)),
        (" 2 Hours ", timedelta(hours=2)),
        ("2-12:00:00", timedelta(days=2, hours=12)),
        ("2-12", timedelta(days=2, hours=12)),
        ("12:00:00", timedelta(hours=12)),
        ("744:00:00", timedelta(days=31)),
        ("00:20:00", timedelta(minutes=20)),
    ],
)
def test_reads_the_durations_people_write(text: str, expected: timedelta) -> None:
    assert read_duration(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("90", '"90m" for minutes'),
        ("12:00", "two ways"),
        ("", "empty"),
        ("soon", "36h"),
        ("3d3d", "36h"),
        ("3m1h", "36h"),
        ("-5m", "36h"),
        ("1-24:00:00", "36h"),
        ("12:61:00", "36h"),
        ("1e5h", "36h"),
        ("1..5h", "36h"),
        ("٣d", "not a duration"),
        ("9" * 5000 + "h", "not a duration"),
        ("99999d", "ten years"),
    ],
)
def test_a_duration_that_can_be_misread_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(Unreadable, match=words):
        read_duration(text)


@given(whole_seconds)
def test_a_formatted_duration_reads_back(duration: timedelta) -> None:
    assert read_duration(format_duration(duration)) == duration


@given(whole_seconds)
def test_a_duration_formatted_for_slurm_reads_back_in_both_readers(duration: timedelta) -> None:
    text = format_slurm_duration(duration)

    assert read_slurm_duration(text) == duration
    assert read_duration(text) == duration


@given(whole_seconds)
def test_what_people_are_shown_is_at_most_two_units_short(duration: timedelta) -> None:
    shown = read_duration(format_human_duration(duration))

    assert timedelta(0) <= duration - shown < max(timedelta(seconds=1), duration / 12)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30", timedelta(minutes=30)),
        ("30:10", timedelta(minutes=30, seconds=10)),
        ("01:30:10", timedelta(hours=1, minutes=30, seconds=10)),
        ("2-12", timedelta(hours=60)),
        ("2-12:30", timedelta(hours=60, minutes=30)),
        ("31-00:00:00", timedelta(days=31)),
        ("00:01.234", timedelta(seconds=1, milliseconds=234)),
        ("UNLIMITED", None),
        ("infinite", None),
        ("Partition_Limit", None),
        ("INVALID", None),
        ("", None),
    ],
)
def test_reads_the_durations_slurm_writes(text: str, expected: timedelta | None) -> None:
    assert read_slurm_duration(text) == expected


@pytest.mark.parametrize("text", ["x", "1:2:3:4", "1-", "-1", "1--2", ":", "1-2-3", "9" * 30])
def test_what_slurm_never_writes_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        read_slurm_duration(text)


def test_no_limit_reads_back() -> None:
    assert read_slurm_duration(format_slurm_duration(None)) is None


@pytest.mark.parametrize(
    ("text", "megabytes"),
    [
        ("64G", 65536),
        ("64GB", 65536),
        ("64GiB", 65536),
        ("64 gb", 65536),
        ("1500M", 1500),
        ("1.5G", 1536),
        ("1T", 1024**2),
        ("1500.2M", 1501),
        ("1K", 1),
    ],
)
def test_reads_memory_in_mb(text: str, megabytes: int) -> None:
    assert read_memory(text) == megabytes


@pytest.mark.parametrize("text", ["64", "", "G", "64X", "-1G", "64Gx", "1G2M", "9999999T", "1e3G", "64G" * 50])
def test_memory_without_sense_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        read_memory(text)


@given(st.integers(1, 1024**3))
def test_formatted_memory_reads_back(megabytes: int) -> None:
    assert read_memory(format_memory(megabytes)) == megabytes


@given(st.text())
def test_no_text_breaks_a_reader(text: str) -> None:
    for read in (read_duration, read_slurm_duration, read_memory):
        with suppress(Unreadable):
            read(text)


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (4_100_000, "4.1 MB"),
        (999_999, "1.0 MB"),
        (123_456_789, "123 MB"),
        (8_400_000_000, "8.4 GB"),
        (10**21, "1000000 PB"),
    ],
)
def test_sizes_are_shown_in_powers_of_ten(count: int, shown: str) -> None:
    assert format_bytes(count) == shown


def test_durations_are_shown_in_two_units() -> None:
    assert format_human_duration(timedelta(hours=2, minutes=10, seconds=5)) == "2 h 10 min"
    assert format_human_duration(timedelta(days=3, minutes=5)) == "3 d"
    assert format_human_duration(timedelta(0)) == "0 s"
    assert format_human_duration(-timedelta(minutes=20)) == "-20 min"
