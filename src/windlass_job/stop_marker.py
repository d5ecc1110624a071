"""Whether this job's run was cancelled, whose signal may come later, or never."""

from typing import Mapping

from windlass_job import slurm, wire
from windlass_job.bounded import within
from windlass_job.claims import has_stop

_LOOK_S = 10.0


def is_told_to_stop(env: Mapping[str, str]) -> bool:
    """No also where that cannot be seen."""
    folder = env.get(wire.ENV_RUN_DIR)
    try:
        return bool(folder and within(_LOOK_S, has_stop, folder, slurm.read_number(env, wire.ENV_NUMBER, 1)))
    except OSError:
        return False
