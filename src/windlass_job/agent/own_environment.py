"""A venv that the nodes made for this job alone (`build = "node"`) is gone when the job ends.

Not every centre cleans the disks of its nodes, and a venv with PyTorch has six gigabytes.
"""

import os
import subprocess
from typing import Mapping, Optional

from windlass_job import wire
from windlass_job.staging.crew import list_hosts, make_argv

_LIMIT_S = 60.0
_HURRIED_S = 10.0  # when the job was told to end: Slurm mostly kills after 30
_NOT_OURS = ("SLURM_MEM_PER_CPU", "SLURM_MEM_PER_GPU")  # srun takes only one word about memory


def remove_own_environment(env: Mapping[str, str], *, is_hurried: bool) -> Optional[str]:
    """On all nodes of the job. What went wrong, or None."""
    folder = env.get(wire.ENV_OWN_ENV, "")
    # Named after the job, and so of no other: nothing else is ever removed.
    if os.path.basename(folder) != "windlass-" + (env.get("SLURM_JOB_ID") or "0"):
        return None
    argv = make_argv(["rm", "-rf", "--", folder], len(list_hosts(env)))
    clean = {name: value for name, value in env.items() if name not in _NOT_OURS}
    limit_s = _HURRIED_S if is_hurried else _LIMIT_S
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=clean,
            timeout=limit_s,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stderr.decode("utf-8", "replace").strip()[:300] if done.returncode else None
