"""Which jobs a user means: `7`, `7_3`, `7_[1-3]`, `7.batch`, `7,8`. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from windlass.pocket.model import SHORT_STATES, Job, State


@dataclass(frozen=True, kw_only=True)
class JobName:
    """One job, one task of an array, or one step, as typed."""

    job_id: int
    indices: frozenset[int] | None = None
    step: str | None = None

    def fits(self, job: Job) -> bool:
        if self.indices is not None:
            return job.array_id == self.job_id and job.array_index in self.indices
        # The array's own id is also the raw id of its last task; it means the whole array.
        return job.id == self.job_id if job.array_id is None else self.job_id in (job.array_id, job.id)


def read_job_names(text: str) -> list[JobName]:
    """Raises ValueError with the word that is none."""
    return [_read_one(word) for word in re.split(r",(?![^\[]*\])", text) if word]


def select(jobs: Iterable[Job], names: Iterable[JobName]) -> list[Job]:
    names = list(names)
    return [job for job in jobs if any(name.fits(job) for name in names)]


def read_states(text: str) -> set[State] | None:
    """States by long or short name; None is all. Raises ValueError."""
    found: set[State] = set()
    for word in text.upper().split(","):
        if word == "ALL":
            return None
        state = next((one for one, short in SHORT_STATES.items() if word in (short, one.value)), None)
        if state is not None:
            found.add(state)
        elif word not in ("CG", "COMPLETING", "CF", "CONFIGURING", "S", "SUSPENDED", "PR", "PREEMPTED", "BF", "DL"):
            raise ValueError(word)
    return found


def _read_one(word: str) -> JobName:
    match = re.fullmatch(r"(\d+)(?:_(\d+|\*|\[[\d,:%-]+\]))?(?:\.(\w+))?", word)
    if not match:
        raise ValueError(word)
    indices: frozenset[int] | None = None
    if match[2] and match[2] != "*":
        indices = frozenset(_read_indices(match[2].strip("[]").partition("%")[0]))
    return JobName(job_id=int(match[1]), indices=indices, step=match[3])


def _read_indices(text: str) -> Iterable[int]:
    for piece in text.split(","):
        first, _, rest = piece.partition("-")
        last, _, step = rest.partition(":")
        yield from range(int(first), int(last or first) + 1, int(step or 1))
