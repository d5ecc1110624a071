"""For every diagnosis an end that it explains, and a near miss that it leaves to others."""

from dataclasses import replace

from tests.builders import RECORD
from tests.diagnoses import examples_of_jobs, examples_of_programs
from tests.diagnoses.ends import (
    FAILED,
    NO_FILE,
    Example,
    after,
    waits,
)
from windlass.core.ending.symptoms import JobFacts, Symptoms, WaitingKind
from windlass.core.gauges.series import NodeGauges
from windlass.core.jobs import JobState
from windlass.core.record import RunState

EXAMPLES: dict[str, Example] = {**examples_of_jobs.EXAMPLES, **examples_of_programs.EXAMPLES}

MORE: list[tuple[str, Symptoms]] = [
    ("D004", waits("AssocMaxJobsLimit", WaitingKind.LIMIT)),
    ("D201", after(replace(FAILED, reason=JobState.OUT_OF_MEMORY.value))),
    ("D201", Symptoms(record=replace(FAILED, exit_code=137), job=JobFacts(state=JobState.OUT_OF_MEMORY, signal=125))),
    (
        "D201",
        Symptoms(record=replace(FAILED, exit_code=137), job=JobFacts(used_memory_mb=64_000, asked_memory_mb=65_536)),
    ),
    ("D201", Symptoms(record=replace(FAILED, exit_code=137), gauges=(NodeGauges(node="n1", oom_kills=1),))),
    ("D201", after(replace(RECORD, state=RunState.OUT_OF_TIME), "error: Detected 1 oom-kill event(s) in step 45.0")),
    ("D201", after(FAILED, "MemoryError")),
    ("D202", after(FAILED, "jaxlib.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate")),
    ("D203", after(FAILED, "requests.ConnectionError: Max retries exceeded with url: /api/models")),
    ("D204", after(FAILED, "RuntimeError: PytorchStreamWriter: No space left on device")),
    ("D206", after(replace(FAILED, exit_code=2), NO_FILE)),
    ("D206", after(replace(FAILED, exit_code=126), "bash: line 1: ./train.sh: Permission denied")),
    ("D206", after(replace(FAILED, exit_code=127), "x.sh: line 4: ./i.sh: cannot execute: required file not found")),
    ("D208", after(replace(FAILED, exit_code=135))),
    ("D217", after(replace(FAILED, exit_code=132))),
    ("D217", after(FAILED, "Fatal Python error: Segmentation fault")),
    ("D302", Symptoms(record=FAILED, job=JobFacts(state=JobState.NODE_FAILED))),
    ("D501", after(FAILED, "slurmstepd: error: Could not open stdout file /x/y.out: No such file or directory")),
    ("D602", after(FAILED, "slurm_script: line 5: module: command not found")),
    (
        "D602",
        after(
            FAILED,
            "Lmod has detected the following error: These module(s) or extension(s) exist",
            'but cannot be loaded as requested: "PyTorch"',
            '   Try: "module spider PyTorch" to see how to load the module(s).',
        ),
    ),
    ("D602", after(FAILED, "Lmod has detected the following error: this module needs a node with a GPU")),
    ("D602", after(FAILED, "ERROR: Unable to locate a modulefile for 'PyTorch'")),
    ("D603", after(FAILED, "bash: ./x.sh: /bin/bash^M: bad interpreter: No such file or directory")),
]
