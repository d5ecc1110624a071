"""MPI: ranks are counted by MPI itself. Where mpirun started us instead of srun, its variables say which this is."""

from typing import Dict, Mapping

# Who counts, and under which names: rank, size, rank on the node, ranks on the node.
COUNTED_BY = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
)
OURS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")


def make_mpi(env: Mapping[str, str]) -> Dict[str, str]:
    for names in COUNTED_BY:
        if all(name in env for name in names):
            return {ours: env[name] for ours, name in zip(OURS, names)}
    return {}
