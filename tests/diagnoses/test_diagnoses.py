"""Every diagnosis: an end that it explains, and one that it leaves to others."""

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import RECORD
from windlass.core.jobs import JobState
from windlass.core.record import RunRecord, RunState
from windlass.core.symptoms import Symptoms
from windlass.diagnoses import DIAGNOSES, diagnose

FAILED = replace(RECORD, state=RunState.FAILED, exit_code=1)
DONE = replace(RECORD, state=RunState.DONE, exit_code=0)
NO_FILE = "python: can't open file '/code/missing.py': [Errno 2] No such file or directory"


def after(record: RunRecord, *log: str) -> Symptoms:
    return Symptoms(record=record, log_tail="\n".join(("epoch 1", *log)))


@dataclass(frozen=True, kw_only=True)
class Example:
    trips: Symptoms
    passes: Symptoms
    says: str


EXAMPLES: dict[str, Example] = {
    "D001": Example(
        trips=Symptoms(
            record=replace(RECORD, state=RunState.WAITING, reason="Priority"),
            waiting_words="others first",
            waiting_hint="windlass ps",
        ),
        passes=after(replace(RECORD, state=RunState.RUNNING)),
        says="others first",
    ),
    "D101": Example(
        trips=after(replace(RECORD, state=RunState.NOT_SUBMITTED, reason="Slurm said no")),
        passes=after(replace(RECORD, state=RunState.SUBMITTING)),
        says="it never reached the queue: Slurm said no",
    ),
    "D102": Example(
        trips=after(replace(RECORD, state=RunState.LOST, reason="Slurm has no record of job 45")),
        passes=after(FAILED),
        says="Slurm has no record of job 45; nothing of it can still be running under that number",
    ),
    "D103": Example(
        trips=after(replace(RECORD, state=RunState.CANCELLED)), passes=after(FAILED), says="it was cancelled"
    ),
    "D201": Example(
        trips=after(FAILED, "slurmstepd: error: Detected 1 oom_kill event in StepId=45.batch."),
        passes=after(FAILED, "RuntimeError: CUDA out of memory. Tried to allocate 2 GiB"),
        says="it ran out of the memory it had asked for on the node",
    ),
    "D202": Example(
        trips=after(FAILED, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."),
        passes=after(FAILED, "java.lang.OutOfMemoryError: Java heap space"),
        says="the GPU's memory was too small",
    ),
    "D203": Example(
        trips=after(FAILED, "OSError: We couldn't connect to 'https://huggingface.co' to load this file"),
        passes=after(FAILED, "ConnectionRefusedError: [Errno 111] Connection refused"),
        says="the program wanted something from the internet, and the node has none",
    ),
    "D204": Example(
        trips=after(FAILED, "OSError: [Errno 122] Disk quota exceeded: 'model.pt'"),
        passes=after(FAILED, "OSError: [Errno 5] Input/output error"),
        says="a disk or your quota was full",
    ),
    "D205": Example(
        trips=after(FAILED, "ModuleNotFoundError: No module named 'torch'"),
        passes=after(FAILED, "ImportError: cannot import name 'x' from 'torch'"),
        says="the Python of the job has no package 'torch'",
    ),
    "D206": Example(
        trips=after(replace(FAILED, exit_code=127), "bash: line 1: trainer: command not found"),
        passes=after(FAILED, "bash: line 1: nvidia-smi: command not found"),  # and it went on
        says="the job does not have 'trainer'",
    ),
    "D207": Example(
        trips=after(FAILED, "RuntimeError: CUDA error: no kernel image is available for execution on the device"),
        passes=after(FAILED, "RuntimeError: CUDA error: device-side assert triggered"),
        says="this build of the framework does not fit the node's GPU or driver",
    ),
    "D208": Example(
        trips=after(FAILED, "RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error."),
        passes=after(FAILED, "RuntimeError: DataLoader worker (pid 7) exited unexpectedly"),
        says="the data loader's workers ran out of shared memory",
    ),
    "D301": Example(
        trips=after(replace(RECORD, state=RunState.OUT_OF_TIME, reason="all links are used", link=3, links=3)),
        passes=after(FAILED),
        says="all links are used",
    ),
    "D302": Example(
        trips=after(replace(FAILED, reason=JobState.NODE_FAILED.value, nodes="n7")),
        passes=after(replace(FAILED, reason=JobState.FAILED.value, nodes="n7")),
        says="a node failed (n7)",
    ),
    "D303": Example(
        trips=after(replace(FAILED, reason=JobState.PREEMPTED.value)),
        passes=after(replace(FAILED, reason="the command ended with exit code 1")),
        says="a more important job took its place",
    ),
    "D801": Example(
        trips=after(FAILED, "Traceback (most recent call last):", "NameError: name 'x' is not defined"),
        passes=after(FAILED, "NameError: said without a traceback"),
        says="the program raised NameError: name 'x' is not defined",
    ),
    "D900": Example(
        trips=after(FAILED, "ValueError: 7"),
        passes=after(FAILED, "ModuleNotFoundError: No module named 'torch'"),  # a rule knows it
        says="the command ended with exit code 1, for a reason no rule here knows",
    ),
}

MORE: list[tuple[str, Symptoms]] = [
    ("D201", after(replace(FAILED, reason=JobState.OUT_OF_MEMORY.value))),
    ("D201", after(replace(RECORD, state=RunState.OUT_OF_TIME), "error: Detected 1 oom-kill event(s) in step 45.0")),
    ("D202", after(FAILED, "jaxlib.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate")),
    ("D203", after(FAILED, "requests.ConnectionError: Max retries exceeded with url: /api/models")),
    ("D204", after(FAILED, "RuntimeError: PytorchStreamWriter: No space left on device")),
    ("D206", after(replace(FAILED, exit_code=2), NO_FILE)),
    ("D206", after(replace(FAILED, exit_code=126), "bash: line 1: ./train.sh: Permission denied")),
]


def test_every_diagnosis_has_its_examples() -> None:
    assert list(EXAMPLES) == list(DIAGNOSES)


@pytest.mark.parametrize("code", EXAMPLES)
def test_it_is_found_first(code: str) -> None:
    found = diagnose(EXAMPLES[code].trips)

    assert (found[0].code, found[0].message) == (code, EXAMPLES[code].says)
    assert found[0].hint


@pytest.mark.parametrize("code", EXAMPLES)
def test_a_near_miss_is_left_to_others(code: str) -> None:
    assert code not in [one.code for one in diagnose(EXAMPLES[code].passes)]


@pytest.mark.parametrize(("code", "symptoms"), MORE)
def test_other_words_for_it(code: str, symptoms: Symptoms) -> None:
    assert code in [one.code for one in diagnose(symptoms)]


@pytest.mark.parametrize("code", [code for code in DIAGNOSES if code not in ("D101", "D102", "D103", "D301", "D900")])
def test_words_in_the_log_of_a_run_that_is_done_mean_nothing(code: str) -> None:
    log = EXAMPLES[code].trips.log_tail

    assert list(DIAGNOSES[code](Symptoms(record=DONE, log_tail=log))) == []


def test_the_last_line_that_tells_is_the_evidence() -> None:
    (found,) = diagnose(after(FAILED, "No module named x", "ModuleNotFoundError: No module named 'a'", "bye"))

    assert found.evidence == ("ModuleNotFoundError: No module named 'a'",)


def test_a_file_that_is_missing_is_named() -> None:
    (found,) = diagnose(after(replace(FAILED, exit_code=2), NO_FILE))

    assert found.message == "the job does not have '/code/missing.py'"


def test_an_unknown_end_shows_the_last_traceback() -> None:
    log = (
        "Traceback (most recent call last):",
        "  old",
        "Traceback (most recent call last):",
        "  new",
        "ValueError: 7",
    )

    (found,) = diagnose(after(FAILED, *log))

    assert found.evidence == log[2:]


def test_an_unknown_end_without_words_is_told_all_the_same() -> None:
    (found,) = diagnose(Symptoms(record=replace(FAILED, exit_code=None)))

    assert (found.message, found.evidence) == ("the command ended, for a reason no rule here knows", ())


@given(st.sampled_from(RunState), st.text(), st.none() | st.integers())
def test_any_end_gets_a_diagnosis(state: RunState, log: str, exit_code: int | None) -> None:
    found = diagnose(Symptoms(record=replace(RECORD, state=state, exit_code=exit_code), log_tail=log))

    assert found
    assert {one.code for one in found} <= set(DIAGNOSES)
