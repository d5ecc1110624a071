"""The digits with Horovod on PyTorch: one process a GPU or node, gradients averaged by Horovod.

The processes share one batch of 64, so the training is the same however many they are.
"""

import argparse
from importlib.util import find_spec
from pathlib import Path

import horovod.torch as hvd
import numpy as np
import torch
from torch import nn

from windlass_job import run

GLOBAL_BATCH = 64


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()

    hvd.init()
    print(f"rank {hvd.rank()} of {hvd.size()}", flush=True)
    device = "cpu"
    if torch.cuda.is_available():
        device = "cuda"
        torch.cuda.set_device(hvd.local_rank())
    images, labels = (one.to(device) for one in load_digits())
    model = make_model().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    # Before anything is loaded: the new optimizer has the old one's settings, and not its momentum.
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    saves = run.checkpoint("checkpoints", keep=2)
    first = load(saves.latest(), model, optimizer, device)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)

    for epoch in range(first, options.epochs):
        order = torch.randperm(len(images), generator=torch.Generator().manual_seed(epoch))
        for batch in order.split(GLOBAL_BATCH)[:-1]:  # whole batches only: every rank has the same share
            mine = batch[hvd.rank() :: hvd.size()].to(device)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images[mine]), labels[mine])
            loss.backward()
            optimizer.step()
        if hvd.rank() == 0:
            with saves.save(epoch + 1) as folder:
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1}
                torch.save(state, folder / "state.pt")
            run.log(epoch + 1, loss=loss.item())
            run.progress(epoch + 1, options.epochs)
        # The same answer for all: a rank that left alone would leave the others waiting.
        if hvd.allreduce(torch.tensor(float(run.should_stop()))) > 0:
            return
    if hvd.rank() == 0:
        with torch.no_grad():
            print(f"loss {nn.functional.cross_entropy(model(images), labels).item():.6f}", flush=True)


def load(folder, model, optimizer, device):
    """The epochs that are done."""
    if folder is None:
        return 0
    state = torch.load(folder / "state.pt", map_location="cpu")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"]


def make_model():
    torch.manual_seed(0)
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
