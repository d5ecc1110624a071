"""The digits on several GPUs or nodes: PyTorch's DistributedDataParallel, started by torchrun or srun.

The processes share one batch of 64, so the training is the same however many they are.
"""

import argparse
import gc
import os
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from windlass_job import run

GLOBAL_BATCH = 64


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()

    for name, alone in (("RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "0")):
        os.environ.setdefault(name, alone)  # `python train.py`, without a launcher
    device = choose_device()
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=timedelta(minutes=5))
    print(f"rank {dist.get_rank()} of {dist.get_world_size()}", flush=True)
    train(options.epochs, device)
    gc.collect()  # the model must be gone before the group is, or gloo may abort at the very end
    dist.destroy_process_group()


def choose_device():
    if not torch.cuda.is_available():
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
    torch.cuda.set_device(device)
    return device


def train(epochs, device):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    images, labels = (one.to(device) for one in load_digits())
    torch.manual_seed(0)
    model = make_model().to(device)
    ddp = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    saves = run.checkpoint("checkpoints", keep=2)
    newest, first = saves.latest(), 0
    if newest:
        state = torch.load(newest / "state.pt", map_location="cpu")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["epoch"]

    for epoch in range(first, epochs):
        order = torch.randperm(len(images), generator=torch.Generator().manual_seed(epoch))
        for batch in order.split(GLOBAL_BATCH)[:-1]:  # whole batches only: every rank has the same share
            mine = batch[rank::world_size].to(device)
            loss = nn.functional.cross_entropy(ddp(images[mine]), labels[mine])
            optimizer.zero_grad()
            loss.backward()  # averages the gradients over all ranks
            optimizer.step()
        if rank == 0:
            with saves.save(epoch + 1) as folder:
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1}
                torch.save(state, folder / "state.pt")
            run.log(epoch + 1, loss=loss.item())
            run.progress(epoch + 1, epochs)
        if run.should_stop(all_ranks=True):  # the same answer on all: nobody waits for one that left
            return
    if rank == 0:
        with torch.no_grad():
            print(f"loss {nn.functional.cross_entropy(model(images), labels).item():.6f}", flush=True)


def make_model():
    first = (nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
    second = (nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
    return nn.Sequential(*first, *second, nn.Flatten(), nn.Linear(32 * 2 * 2, 10))


def load_digits():
    """The 1,797 digits that lie in scikit-learn, without its import, which takes two seconds."""
    file = Path(find_spec("sklearn").origin).parent / "datasets" / "data" / "digits.csv.gz"
    table = torch.from_numpy(np.loadtxt(file, np.float32, delimiter=","))
    return table[:, :-1].reshape(-1, 1, 8, 8) / 16, table[:, -1].long()


if __name__ == "__main__":
    main()
