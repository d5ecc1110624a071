"""The ways to start a training's processes, by the word used in windlass.toml.

Where the run file names none, they are asked in this order, and the first that recognises the code is taken: whoever
starts the processes himself, then the frameworks from the most special to the most general (a Lightning module may
use torch.distributed too, but not the other way round), and srun, which needs no framework.
"""

from windlass.core.launch import Launcher
from windlass.launchers.accelerate import ACCELERATE
from windlass.launchers.deepspeed import DEEPSPEED
from windlass.launchers.horovod import HOROVOD
from windlass.launchers.lightning import LIGHTNING
from windlass.launchers.mpi import MPI
from windlass.launchers.mps import MPS
from windlass.launchers.single import SINGLE
from windlass.launchers.spark import SPARK
from windlass.launchers.srun import SRUN
from windlass.launchers.tensorflow import TENSORFLOW
from windlass.launchers.torchrun import TORCHRUN

_IN_ORDER = (
    *(SINGLE, LIGHTNING, DEEPSPEED, ACCELERATE, HOROVOD, TENSORFLOW, SPARK, MPI, TORCHRUN, SRUN),
    MPS,  # never recognised
)
LAUNCHERS: dict[str, Launcher] = {one.name: one for one in _IN_ORDER}
