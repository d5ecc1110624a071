"""Which link of a chain wrote a log, by the file's name: logs/JOB.out, or logs/ARRAY_TASK.out."""

from collections.abc import Iterable
from dataclasses import dataclass

from windlass.core.record import Submission

_COMPLAINTS = (".err", ".stderr")


@dataclass(frozen=True, kw_only=True)
class LogName:
    name: str
    link: int | None  # None: of a job that is not known here
    links: int = 1  # so many, from that one on: where they are starts of one job

    @property
    def is_complaints(self) -> bool:
        """What programs write to stderr, where a script keeps it apart; Windlass's own jobs do not."""
        return self.name.endswith(_COMPLAINTS)

    def is_of(self, link: int | None) -> bool:
        return link is None or (self.link is not None and self.link <= link < self.link + self.links)


def read_log_name(name: str, submissions: Iterable[Submission]) -> LogName:
    numbers = read_numbers(name)
    known = {one.job_id: one for one in submissions if one.job_id}
    submission = known.get(str(numbers[0])) if numbers else None
    if submission is None:
        return LogName(name=name, link=None)
    is_task = len(numbers) > 1
    link = submission.first_link + (numbers[1] - 1 if is_task else 0)
    return LogName(name=name, link=link, links=1 if is_task else submission.links)


def read_numbers(name: str) -> tuple[int, ...]:
    """By which logs are in order: of the job, and of the task."""
    return tuple(int(part) for part in name.split(".")[0].split("_") if part.isdecimal())
