"""Run records to store; imported by child processes, so it imports little."""

from dataclasses import replace

from windlass.core.record import RunRecord, RunState

RECORD = RunRecord(
    run_id="digits-k3f9w",
    name="digits",
    site="narval",
    folder="/scratch/runs/digits-k3f9w",
    command="python train.py",
    state=RunState.RUNNING,
    created=1000.0,
    updated=1000.0,
)


def make_record(run_id: str, **changes: object) -> RunRecord:
    return replace(RECORD, run_id=run_id, **changes)  # type: ignore[arg-type]  # replace() checks the names
