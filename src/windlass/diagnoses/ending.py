"""What Slurm and the agent say about the end of a run."""

from collections.abc import Iterator

from windlass.core.finding import Diagnosis
from windlass.core.jobs import JobState
from windlass.core.record import RunState
from windlass.core.symptoms import Symptoms

_TRACEBACK = "Traceback (most recent call last)"


def not_submitted(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The submission was interrupted or refused, and it is certain that Slurm has no job of it."""
    record = symptoms.record
    if record.state is RunState.NOT_SUBMITTED:
        yield Diagnosis(
            code="D101",
            message=f"it never reached the queue: {record.reason or 'the submission was interrupted'}",
            hint=f"windlass resume {record.run_id}",
        )


def forgotten(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """Slurm no longer knows the job and it left no last word.

    A controller that crashes within seconds of taking a job can forget it; an old job ages out of accounting;
    somebody may have removed the run folder.
    """
    record = symptoms.record
    if record.state is RunState.LOST:
        yield Diagnosis(
            code="D102",
            message=f"{record.reason or 'Slurm has no record of it'}; "
            "nothing of it can still be running under that number",
            hint=f"windlass resume {record.run_id}",
        )


def cancelled(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """Somebody cancelled the job: you, or an operator of the site."""
    record = symptoms.record
    if record.state is RunState.CANCELLED:
        yield Diagnosis(code="D103", message="it was cancelled", hint=f"windlass resume {record.run_id}")


def host_memory(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The job used more memory of the node (not of the GPU) than it asked for, and was killed.

    Ask for more, or use fewer data-loading workers: each holds a copy of what it loads.
    """
    words = ("oom-kill", "oom_kill", "Out Of Memory", "OOM Killed")
    if symptoms.record.state is RunState.DONE:
        return  # a worker was killed, and the training went on without it
    evidence = _lines_with(symptoms.log_tail, words)
    if evidence or symptoms.record.reason == JobState.OUT_OF_MEMORY.value:
        yield Diagnosis(
            code="D201",
            message="it ran out of the memory it had asked for on the node",
            evidence=evidence,
            hint='[resources] memory = "64G"   # more than before',
        )


def out_of_time(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """All the time that was asked for is used and the training was not finished.

    It goes on from its last checkpoint with `windlass resume`, for as long again or for `--time`.
    """
    record = symptoms.record
    if record.state is RunState.OUT_OF_TIME:
        yield Diagnosis(
            code="D301",
            message=record.reason or "its time was used up",
            evidence=(f"link {record.link} of {record.links}",) if record.link else (),
            hint=f"windlass resume {record.run_id}",
        )


def node_failed(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """A node of the job died or lost its network. Nothing is wrong with the training."""
    record = symptoms.record
    if record.reason == JobState.NODE_FAILED.value:
        where = f" ({record.nodes})" if record.nodes else ""
        yield Diagnosis(code="D302", message=f"a node failed{where}", hint=f"windlass resume {record.run_id}")


def preempted(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """A job of higher priority took the nodes. That is the bargain of such partitions."""
    record = symptoms.record
    if record.reason == JobState.PREEMPTED.value:
        yield Diagnosis(
            code="D303", message="a more important job took its place", hint=f"windlass resume {record.run_id}"
        )


def unknown_failure(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """No rule knows this end. What it said last is shown, from the last traceback where there is one."""
    record = symptoms.record
    lines = symptoms.log_tail.splitlines()
    start = max((i for i, line in enumerate(lines) if _TRACEBACK in line), default=None)
    shown = lines[start:] if start is not None else lines[-15:]
    code = f" with exit code {record.exit_code}" if record.exit_code is not None else ""
    yield Diagnosis(
        code="D900",
        message=f"the command ended{code}, for a reason no rule here knows",
        evidence=tuple(shown[-25:]),
        hint=f"windlass logs {record.run_id}",
    )


def _lines_with(text: str, words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(line for line in text.splitlines() if any(word in line for word in words))[-3:]
