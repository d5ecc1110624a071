"""Named points at which a test may kill the deputy, to prove that death there does no harm."""

import os

VARIABLE = "WINDLASS_TEST_DIE_AT"

FAULT_POINTS = (
    "before-intent",
    "after-intent",
    "after-spawn",
    "after-sbatch",
    "before-receipt",
    "after-receipt",
    "after-blobs",
    "before-rename",
    "after-rename",
)


def pass_point(point: str) -> None:
    """Die as by `kill -9` if a test asked for it here."""
    if os.environ.get(VARIABLE) == point:
        os.kill(os.getpid(), 9)
