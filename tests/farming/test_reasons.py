"""The line by which a task that failed is known."""

import pytest

from windlass_job.farming.outputs import find_reason

FAULT = b"step 3\nFatal Python error: Segmentation fault\n\nCurrent thread 0x7f (most recent call first):\n"
WHERE = b'  File "/runs/a/code/task.py", line 6 in <module>\n'


@pytest.mark.parametrize(
    ("output", "code", "reason"),
    [
        (FAULT + WHERE, 139, "Fatal Python error: Segmentation fault"),
        (b"step 3\n", 139, "killed by SIGSEGV"),
        (b"", 137, "killed by SIGKILL"),
        (FAULT + WHERE, 1, 'File "/runs/a/code/task.py", line 6 in <module>'),
        (b"free(): invalid pointer\n", 134, "free(): invalid pointer"),
        (b"bad value\n\n", 200, "bad value"),
        (b"step 3\n", -3, "step 3"),
    ],
)
def test_who_was_killed_is_known_by_that_and_others_by_what_they_said_last(
    output: bytes, code: int, reason: str
) -> None:
    assert find_reason(output, code) == reason
