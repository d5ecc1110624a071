"""Has this node the GPUs that were planned?"""

from typing import Mapping, Optional


def tell_missing(env: Mapping[str, str], planned: int) -> Optional[str]:
    """A sentence when Slurm gave this node fewer GPUs than planned. Unset says nothing: not every site sets it."""
    shown = env.get("CUDA_VISIBLE_DEVICES")
    if not planned or shown is None:
        return None
    count = 0 if shown.strip() in ("", "NoDevFiles", "-1") else len(shown.split(","))
    if count >= planned:
        return None
    return "CUDA_VISIBLE_DEVICES={} names {} GPUs, {} were planned".format(shown, count, planned)
