"""What a check says before submission, and what a diagnosis says after."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    ERROR = "error"  # would fail: nothing is submitted
    WARNING = "warning"
    ADVICE = "advice"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """`code` is explained offline by `windlass explain CODE`."""

    code: str
    severity: Severity
    message: str  # with the user's number and the limit
    hint: str | None = None  # a fix to paste


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """Why a run waits or ended, the most likely first."""

    code: str
    message: str
    evidence: tuple[str, ...] = ()
    hint: str | None = None
