"""What a framework reads beside RANK and its kin, by the word of `rank-env --world`.

Each is a function: the variables so far (with RANK, MASTER_ADDR and their kin) in, more of them out.
"""

from typing import Callable, Dict, Mapping, Optional

from windlass_job.starting.worlds_horovod import find_store, make_horovod
from windlass_job.starting.worlds_lightning import make_lightning
from windlass_job.starting.worlds_mpi import make_mpi
from windlass_job.starting.worlds_tensorflow import make_tensorflow

World = Callable[[Mapping[str, str]], Dict[str, str]]

WORLDS: Dict[str, World] = {
    "horovod": make_horovod,
    "lightning": make_lightning,
    "mpi": make_mpi,
    "tensorflow": make_tensorflow,
}

# What a rank must do before any command starts: what went wrong, in words, or None.
BEFORE_THE_START: Dict[str, Callable[[Mapping[str, str]], Optional[str]]] = {"horovod": find_store}
