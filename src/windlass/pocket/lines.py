"""Lines of squeue and sacct: one job each, or all waiting tasks of an array together. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from windlass.pocket.arrays import format_pending
from windlass.pocket.model import Job, State


@dataclass(frozen=True, kw_only=True)
class Line:
    job: Job
    indices: tuple[int, ...] = ()  # of the tasks that wait, when the line stands for several
    start_at: float | None = None  # expected, of a job that waits

    @property
    def display_id(self) -> str:
        return f"{self.job.array_id}_{self.pending_tasks}" if self.indices else self.job.display_id

    @property
    def pending_tasks(self) -> str:
        return format_pending(list(self.indices), self.job.array_limit)


def make_lines(jobs: Iterable[Job], *, folds: bool) -> list[Line]:
    """Waiting tasks of an array share a line where they wait for the same reason."""
    lines: list[Line] = []
    groups: dict[tuple[int, str], list[Job]] = {}
    for job in jobs:
        if folds and job.array_id is not None and job.state is State.PENDING and not job.restarts:
            groups.setdefault((job.array_id, job.reason), []).append(job)
        else:
            lines.append(Line(job=job))
    for (array_id, _), tasks in groups.items():
        first = next((task for task in tasks if task.id == array_id), tasks[0])
        indices = tuple(sorted(task.array_index or 0 for task in tasks))
        lines.append(Line(job=first, indices=indices))
    return lines
