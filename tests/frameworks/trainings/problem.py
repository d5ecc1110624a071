"""What every training here solves: the digits of scikit-learn by one hidden layer, one batch of 64 over all ranks."""

import gc
import os
import socket
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from torch import nn

GLOBAL_BATCH = 64
STEPS = 12
LEARNING_RATE = 0.1
EXAMPLES = GLOBAL_BATCH * STEPS


def make_model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10))


def load_digits():
    """Without the import of scikit-learn, which takes two seconds of every rank."""
    file = Path(find_spec("sklearn").origin).parent / "datasets" / "data" / "digits.csv.gz"
    table = torch.from_numpy(np.loadtxt(file, np.float32, delimiter=",", max_rows=EXAMPLES))
    return table[:, :-1] / 16, table[:, -1].long()


def list_batches(rank, world_size):
    """This rank's share of each batch."""
    images, labels = load_digits()
    for batch in torch.arange(EXAMPLES).split(GLOBAL_BATCH):
        mine = batch[rank::world_size]
        yield images[mine], labels[mine]


def compute_loss(model, images, labels):
    return nn.functional.cross_entropy(model(images), labels)


def stand_alone():
    """Without a launcher."""
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "1"), ("LOCAL_RANK", "0"), ("MASTER_ADDR", "127.0.0.1")):
        os.environ.setdefault(name, value)


def let_go():
    """Once the training's function has ended: a model in DDP is a cycle, and one that lives on while Python ends lets
    threads of Gloo abort the process.
    """
    gc.collect()


def tell_rank(rank, world_size):
    # In one piece, with its end: ranks of a node share a log.
    sys.stdout.write(f"rank {rank} of {world_size} on {socket.gethostname()}\n")
    sys.stdout.flush()


def tell_loss(model):
    with torch.no_grad():
        print(f"loss {compute_loss(model, *load_digits()).item():.9f}", flush=True)
