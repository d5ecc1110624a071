"""A group of processes that holds its port until another run has its own: both name it."""

import os
import sys
import time
from datetime import timedelta
from pathlib import Path

import problem
import torch.distributed as dist

PATIENCE_S = 120


def main(runs):
    folder = Path(os.environ["WINDLASS_RUN_DIR"]).parents[1] / "meeting"  # all nodes and runs see it
    folder.mkdir(exist_ok=True)
    dist.init_process_group("gloo", timeout=timedelta(seconds=PATIENCE_S))
    problem.tell_rank(dist.get_rank(), dist.get_world_size())
    (folder / f"{os.environ['WINDLASS_RUN_ID']}.{dist.get_rank()}").touch()
    deadline = time.monotonic() + PATIENCE_S
    while len(list(folder.iterdir())) < runs * dist.get_world_size():
        assert time.monotonic() < deadline, "the other run did not come"
        time.sleep(0.1)
    dist.barrier()
    sys.stdout.write(f"port {os.environ['MASTER_PORT']}\n")  # in one piece: both ranks share a log
    sys.stdout.flush()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]))
