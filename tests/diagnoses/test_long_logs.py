"""Logs that no rule was made for: one line without end, and the words of every rule again and again."""

import re
import time
from dataclasses import replace

import pytest

from tests.diagnoses.ends import FAILED
from windlass.core.ending.symptoms import RankLog, Symptoms
from windlass.core.record import RunState
from windlass.diagnoses import (
    diagnose,
    distributed,
    environment,
    files,
    gpu,
    memory,
    software,
    submission,
    trouble,
)

ROOMS = (distributed, environment, files, gpu, memory, software, submission, trouble)
PATTERNS = {
    f"{room.__name__.rpartition('.')[2]}.{name}": value
    for room in ROOMS
    for name, value in vars(room).items()
    if isinstance(value, re.Pattern)
}
SMALL, LARGE = 20_000, 200_000
# What makes a pattern begin: its own words, up to where it waits for more.
STARTS = {name: re.findall(r"[A-Za-z][A-Za-z_ :]{2,}", pattern.pattern) for name, pattern in PATTERNS.items()}


def measure_s(pattern: re.Pattern[str], text: str) -> float:
    begun = time.process_time()
    pattern.search(text)
    return time.process_time() - begun


@pytest.mark.parametrize("name", PATTERNS)
def test_ten_times_the_line_takes_ten_times_as_long(name: str) -> None:
    """Not a hundred times, as it would with what is tried again from every place up to the end."""
    for start in STARTS[name]:
        unit = f"{start} "
        small, large = (unit * (size // len(unit)) for size in (SMALL, LARGE))
        if PATTERNS[name].search(small):
            continue
        slow_s = min(measure_s(PATTERNS[name], large) for _ in range(2))

        assert slow_s < 0.05 or slow_s < 40 * min(measure_s(PATTERNS[name], small) for _ in range(3)), start


def test_what_is_shown_of_a_line_without_end_fits_on_a_screen() -> None:
    for text in (
        "x" * 300_000,
        "NCCL WARN " * 30_000,
        "epoch\r" * 50_000 + "Traceback (most recent call last):\n  x\n",
    ):
        tail = f"ValueError: {'y' * 100_000}"
        log = RankLog(text=f"{text}{tail}\n")

        found = diagnose(Symptoms(record=FAILED, logs=(log,)))

        assert found
        assert all(len(line) <= 400 for one in found for line in (one.message, *one.evidence))


@pytest.mark.parametrize("state", [RunState.FAILED, RunState.RUNNING])
def test_the_end_of_a_long_line_still_tells(state: RunState) -> None:
    line = "step 1 " * 20_000 + "wandb: Network error (ConnectTimeout), entering retry loop."

    found = diagnose(Symptoms(record=replace(FAILED, state=state), logs=(RankLog(text=line),)))

    assert found[0].code == "D606"


def test_what_a_bar_wrote_over_is_a_line_of_its_own() -> None:
    log = RankLog(text="\r".join(["10%", "20%", "torch.OutOfMemoryError: CUDA out of memory.", "bye"]))

    found = diagnose(Symptoms(record=FAILED, logs=(log,)))

    assert (found[0].code, found[0].evidence) == ("D202", ("torch.OutOfMemoryError: CUDA out of memory.",))
