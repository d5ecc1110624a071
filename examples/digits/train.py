"""Teach a small network to read handwritten digits: one process, on a GPU where there is one.

It saves after every epoch and goes on from the newest save, so it may be cut into as many jobs as it takes.
"""

import argparse
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from torch import nn

from windlass_job import run

BATCH = 64


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()

    device = "cuda" if torch.cuda.is_available() else "cpu"
    images, labels = load_digits()
    images, labels, test_images, test_labels = images[:1400], labels[:1400], images[1400:], labels[1400:]
    model, optimizer, first, saves = start(device)
    for epoch in range(first, options.epochs):
        # The order follows from the epoch alone: a resumed training sees what an unbroken one would have seen.
        order = torch.randperm(len(images), generator=torch.Generator().manual_seed(epoch))
        for chosen in order.split(BATCH):
            loss = nn.functional.cross_entropy(model(images[chosen].to(device)), labels[chosen].to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch + 1}: loss {loss.item():.4f}", flush=True)
        run.log(epoch + 1, loss=loss.item())
        with saves.save(epoch + 1) as folder:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1}
            torch.save(state, folder / "state.pt")
        run.progress(epoch + 1, options.epochs)
        if run.should_stop():
            return
    with torch.no_grad():
        loss = nn.functional.cross_entropy(model(images.to(device)), labels.to(device))
        right = (model(test_images.to(device)).argmax(1).cpu() == test_labels).float().mean()
    print(f"loss {loss.item():.6f}, {right.item():.1%} of new digits read right")


def start(device):
    """A fresh model, or the newest one that was saved."""
    torch.manual_seed(0)
    model = make_model().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    saves = run.checkpoint("checkpoints", keep=2)
    newest = saves.latest()
    if newest is None:
        return model, optimizer, 0, saves
    state = torch.load(newest / "state.pt", map_location="cpu")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    print(f"going on after epoch {state['epoch']}", flush=True)
    return model, optimizer, state["epoch"], saves


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
