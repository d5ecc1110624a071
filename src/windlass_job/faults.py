"""Named points at which a test may kill the deputy, or a training that saves, to prove that this does no harm."""

import os

VARIABLE = "WINDLASS_TEST_DIE_AT"
HOST_VARIABLE = "WINDLASS_TEST_HOST"  # the name that a host pretends to have, for what is held between hosts
BEAT_VARIABLE = "WINDLASS_TEST_BEAT_S"  # how often a holder shows that it lives
# A farm's slots in one process, how many tasks a second are many, and after how many seconds it is tried again.
SPLIT_VARIABLE = "WINDLASS_TEST_SPLIT"  # 4,1000,30

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
SAVE_POINTS = ("save-begun", "save-written", "save-sealed", "save-published", "save-removing", "save-ended")
BUILD_POINTS = ("env-laid", "env-ran", "env-built", "env-swapped", "env-told")


def pass_point(point: str) -> None:
    """Die as by `kill -9` if a test asked for it here."""
    if os.environ.get(VARIABLE) == point:
        os.kill(os.getpid(), 9)
