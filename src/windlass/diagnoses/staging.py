"""Data that was to lie on the nodes as plain files, and could not."""

from collections.abc import Iterator

from windlass.core.ending.symptoms import Symptoms
from windlass.core.finding import Diagnosis
from windlass_job import wire


def data_was_not_extracted(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """`extract = true` promises plain files on the node's own disk or in its memory, and there was no room or no data.

    The command was not started: it would have looked for files that are not there. Packed data needs no extracting
    where the training reads it with `windlass_job.data`.
    """
    reason = symptoms.record.reason or ""
    if symptoms.record.exit_code == wire.EXIT_DATA and reason.startswith("data."):
        yield Diagnosis(
            code="D218",
            message=reason,
            evidence=(f"the agent left with {wire.EXIT_DATA} before the command started",),
            hint="nodes with a larger disk, or a training that reads packed data (windlass_job.data) without extract",
        )
