"""Slurm as one value: which fields this Slurm understands, and every command beside the reader of its answer."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from windlass.core.jobs import JobSeen
from windlass.schedulers.slurm.fields import Fields, drop_refused
from windlass.schedulers.slurm.history import (
    HISTORY_FIELDS,
    make_history_by_name_command,
    make_history_command,
    read_history,
)
from windlass.schedulers.slurm.queue import QUEUE_FIELDS, make_queue_command, read_queue


@dataclass(frozen=True, kw_only=True)
class Slurm:
    """What depends on the version is a field here; the rest are the plain functions of this package."""

    queue_fields: Fields = QUEUE_FIELDS
    history_fields: Fields = HISTORY_FIELDS

    def make_queue_command(self) -> list[str]:
        return make_queue_command(self.queue_fields)

    def read_queue(self, text: str) -> list[JobSeen]:
        return read_queue(text, self.queue_fields)

    def make_history_command(self, job_ids: Iterable[str]) -> list[str]:
        return make_history_command(job_ids, self.history_fields)

    def make_history_by_name_command(self, name: str, since: float) -> list[str]:
        return make_history_by_name_command(name, since, self.history_fields)

    def read_history(self, text: str) -> list[JobSeen]:
        return read_history(text, self.history_fields)

    def without_refused(self, *, queue_err: str = "", history_err: str = "") -> "Slurm":
        """The same dialect without the fields that were just refused; itself when none was."""
        queue = drop_refused(self.queue_fields, queue_err)
        history = drop_refused(self.history_fields, history_err)
        return replace(self, queue_fields=queue or self.queue_fields, history_fields=history or self.history_fields)

    @property
    def refused(self) -> tuple[str, ...]:
        """Slurm's names of the fields given up, to be kept with the site's facts."""
        asked = {field.asked for field in (*self.queue_fields, *self.history_fields)}
        return tuple(field.asked for field in (*QUEUE_FIELDS, *HISTORY_FIELDS) if field.asked not in asked)

    def without(self, refused: Iterable[str]) -> "Slurm":
        """From what `refused` told an earlier time."""
        known = frozenset(refused)
        return Slurm(
            queue_fields=tuple(field for field in self.queue_fields if field.asked not in known),
            history_fields=tuple(field for field in self.history_fields if field.asked not in known),
        )


SLURM = Slurm()
