"""A model that is cut into pieces, one on each rank: PyTorch's fully_shard (FSDP2) and its distributed checkpoints.

Every rank writes its piece. The next job may have another number of ranks: the pieces are cut anew when they are read.
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
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from windlass_job import run

GLOBAL_BATCH = 64


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()

    for name, alone in (("RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "0")):
        os.environ.setdefault(name, alone)  # `python train.py`, without a launcher
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
    dist.init_process_group("nccl" if device == "cuda" else "gloo", timeout=timedelta(minutes=5))
    print(f"rank {dist.get_rank()} of {dist.get_world_size()}", flush=True)
    train(options.epochs, device)
    gc.collect()  # the model must be gone before the group is, or gloo may abort at the very end
    dist.destroy_process_group()


def train(epochs, device):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    images, labels = (one.to(device) for one in load_digits())
    model = make_model(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.003)
    saves = run.checkpoint("checkpoints", keep=2)
    first = load(saves.latest(), model, optimizer)

    for epoch in range(first, epochs):
        order = torch.randperm(len(images), generator=torch.Generator().manual_seed(epoch))
        for batch in order.split(GLOBAL_BATCH)[:-1]:  # whole batches only: every rank has the same share
            mine = batch[rank::world_size].to(device)
            loss = nn.functional.cross_entropy(model(images[mine]), labels[mine])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with saves.save(epoch + 1, all_ranks=True) as folder:
            weights, moments = get_state_dict(model, optimizer)
            dcp.save({"model": weights, "optimizer": moments, "epoch": epoch + 1}, checkpoint_id=folder)
        run.progress(epoch + 1, epochs)
        if run.should_stop(all_ranks=True):  # the same answer on all: nobody waits for one that left
            return
    with torch.no_grad():
        loss = nn.functional.cross_entropy(model(images), labels)  # on all ranks: each holds a piece
    if rank == 0:
        print(f"loss {loss.item():.6f}", flush=True)


def make_model(device):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    mesh = init_device_mesh(device, (dist.get_world_size(),))
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    return fully_shard(model.to(device), mesh=mesh)


def load(folder, model, optimizer):
    """Each rank reads its piece, whoever wrote it; the epochs that are done."""
    if folder is None:
        return 0
    weights, moments = get_state_dict(model, optimizer)
    state = {"model": weights, "optimizer": moments, "epoch": 0}
    dcp.load(state, checkpoint_id=folder)
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    if dist.get_rank() == 0:
        print(f"going on after epoch {state['epoch']}", flush=True)
    return state["epoch"]


def load_digits():
    """The 1,797 digits that lie in scikit-learn, without its import, which takes two seconds."""
    file = Path(find_spec("sklearn").origin).parent / "datasets" / "data" / "digits.csv.gz"
    table = torch.from_numpy(np.loadtxt(file, np.float32, delimiter=","))
    return table[:, :-1] / 16, table[:, -1].long()


if __name__ == "__main__":
    main()
