"""Where this process stands in the training's world: its rank, how many there are, and which start of it this is.

Nothing is imported for it: a library that the training has not imported cannot know more than the environment.
"""

import os
import sys

from windlass_job import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Mapping, Optional, Tuple

# In this order: torchrun's workers, started by a task of srun, have both theirs and Slurm's.
VARIABLES = (
    ("RANK", "WORLD_SIZE"),
    ("HOROVOD_RANK", "HOROVOD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),  # without the second this is the batch script, and no task
)
# What is the same on all ranks of one start of the world, and another for the next start.
OF_ONE_START = ("WINDLASS_TRY", "SLURM_STEP_ID", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_PORT")


def find_place(env: "Mapping[str, str]") -> "Tuple[int, int]":
    """This rank and the number of ranks; 0 and 1 for a process on its own."""
    torch = _find_torch()
    if torch is not None:
        return torch.get_rank(), torch.get_world_size()
    for rank, size in VARIABLES:
        if rank == "SLURM_PROCID" and wire.ENV_TASK in env:
            break  # the pilot's own
        if env.get(rank, "").isdigit() and env.get(size, "").isdigit():
            return int(env[rank]), int(env[size])
    return 0, 1


def read_order(env: "Mapping[str, str]") -> "Tuple[int, int, int]":
    """Submission, link and attempt: of two attempts of a run, the greater is the newer."""

    def read(name: str) -> int:
        text = env.get(name, "")
        return int(text) if text.isdigit() else 1

    return read(wire.ENV_NUMBER), read(wire.ENV_LINK), read(wire.ENV_ATTEMPT)


def name_start(env: "Mapping[str, str]") -> str:
    """One word for this start of the world: by it ranks find each other's files, and nobody else's."""
    import zlib

    words = "\n".join(env.get(name, "") for name in OF_ONE_START)
    return "{:08x}".format(zlib.crc32(os.fsencode(words)))


def find_least() -> "Optional[Callable[[int], int]]":
    """A function that gives every rank the least of all ranks' numbers, by what the training itself talks with."""
    torch = _find_torch()
    if torch is not None:
        return lambda number: _least_by_torch(torch, number)
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is not None:
        # By name: the type of a module knows nothing of what is in it.
        world = getattr(mpi, "COMM_WORLD")  # noqa: B009
        return lambda number: int(world.allreduce(number, getattr(mpi, "MIN")))  # noqa: B009
    return None


def _find_torch() -> "Any":
    """torch.distributed where it is in use, else None."""
    module: Any = sys.modules.get("torch.distributed")
    is_ready = getattr(module, "is_initialized", None)  # not there while it is being imported, or was built without
    return module if is_ready is not None and is_ready() else None


def _least_by_torch(torch_distributed: "Any", number: int) -> int:
    torch: Any = sys.modules["torch"]
    # NCCL moves nothing but what lies on a GPU.
    device = "cpu" if "gloo" in torch_distributed.get_backend() else torch.device("cuda", torch.cuda.current_device())
    told = torch.tensor([number], dtype=torch.int64, device=device)
    torch_distributed.all_reduce(told, op=torch_distributed.ReduceOp.MIN)
    return int(told.item())
