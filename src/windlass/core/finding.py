"""What a check says before submission, what a diagnosis says after, and what would use less next time."""

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
    fact: str | None = None  # what it rests on: "scontrol show partition gpu", "rules.compute_internet of narval"
    refusal: str | None = None  # what Slurm says to such a job, word for word; a reason in brackets: it never starts
    where: str | None = None  # "train.py:12", where it is about a line of the project


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One value of windlass.toml that would mend it, as TOML writes it: key "resources.memory", value `"96G"`."""

    key: str
    value: str


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """Why a run waits or ended, the most likely first."""

    code: str
    message: str
    evidence: tuple[str, ...] = ()
    hint: str | None = None
    patch: tuple[Setting, ...] = ()  # to windlass.toml


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What a run asked for and did not use, or could use better: in numbers, with what to change."""

    code: str
    message: str
    evidence: tuple[str, ...] = ()
    saves: str | None = None  # what the change would bring
    hint: str | None = None  # what to do where no line of windlass.toml does it, or besides
    patch: tuple[Setting, ...] = ()  # to windlass.toml
    is_early: bool = False  # the run goes on: it is so up to now
