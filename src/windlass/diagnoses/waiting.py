"""What the batch system says about a run that has not started."""

from collections.abc import Iterator

from windlass.core.finding import Diagnosis
from windlass.core.record import RunState
from windlass.core.symptoms import Symptoms


def waits_in_the_queue(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The job waits in the queue.

    Slurm gives one word as the reason; it is told in a sentence, with what would help.
    """
    record = symptoms.record
    if record.state is RunState.WAITING:
        yield Diagnosis(
            code="D001",
            message=symptoms.waiting_words or "it waits in the queue",
            evidence=(f"Slurm's reason: {record.reason}",) if record.reason else (),
            hint=symptoms.waiting_hint,
        )
