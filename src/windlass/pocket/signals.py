"""Signals by name or number, and `--signal=[R][B]:SIG@seconds`."""

import re
import signal
from dataclasses import dataclass

DEFAULT_LEAD_S = 60


@dataclass(frozen=True, kw_only=True)
class EndSignal:
    """The signal a job wants some seconds before its time is over."""

    number: int
    lead_s: int = DEFAULT_LEAD_S
    batch_only: bool = False


def read_signal(text: str) -> int:
    """The number of TERM, SIGTERM, term or 15. Raises ValueError."""
    if text.isdigit() and 0 < int(text) < signal.NSIG:
        return int(text)
    word = text.upper()
    name = word if word.startswith("SIG") else "SIG" + word
    member = signal.Signals.__members__.get(name)
    if member is None:
        raise ValueError(text)
    return int(member)


def read_warning(text: str) -> EndSignal:
    match = re.fullmatch(r"(?:([RB]+):)?([A-Za-z0-9]+)(?:@(\d+))?", text)
    if not match or int(match[3] or 0) > 65535:
        raise ValueError(text)
    return EndSignal(
        number=read_signal(match[2]),
        lead_s=DEFAULT_LEAD_S if match[3] is None else int(match[3]),
        batch_only="B" in (match[1] or ""),
    )


def describe(number: int) -> str:
    """`Terminated`, `Killed`: what srun says about a task that a signal ended."""
    return signal.strsignal(number) or f"Signal {number}"
