"""The digits with Lightning, one process a GPU or node: the Trainer is told how many there are.

The processes share one batch of 64, so the training is the same however many they are.
"""

import argparse
import os
from importlib.util import find_spec
from pathlib import Path

import lightning
import numpy as np
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from windlass_job import run

GLOBAL_BATCH = 64


class Digits(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        first = (nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        second = (nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.model = nn.Sequential(*first, *second, nn.Flatten(), nn.Linear(32 * 2 * 2, 10))

    def training_step(self, batch):
        images, labels = batch
        return nn.functional.cross_entropy(self.model(images), labels)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)


class Windlass(Callback):
    """Tells how far the training is, and ends it in time."""

    def on_train_epoch_end(self, trainer, module):
        run.progress(trainer.current_epoch + 1, trainer.max_epochs)
        trainer.should_stop = run.should_stop(all_ranks=True)  # the same answer on all: nobody waits for one that left


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()

    lightning.seed_everything(0)
    trainer = lightning.Trainer(
        devices=int(os.environ.get("LOCAL_WORLD_SIZE", 1)),
        num_nodes=int(os.environ.get("SLURM_NNODES", 1)),
        max_epochs=options.epochs,
        callbacks=[Windlass(), ModelCheckpoint("checkpoints", save_last=True)],
        use_distributed_sampler=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=False,
    )
    print(f"rank {trainer.global_rank} of {trainer.world_size}", flush=True)
    images, labels = load_digits()
    data = TensorDataset(images, labels)
    share = DistributedSampler(data, trainer.world_size, trainer.global_rank)  # also of one: always the same order
    loader = DataLoader(data, GLOBAL_BATCH // trainer.world_size, sampler=share, drop_last=True)
    module = Digits()
    trainer.fit(module, loader, ckpt_path="last" if Path("checkpoints/last.ckpt").exists() else None)
    if trainer.is_global_zero and trainer.current_epoch == options.epochs:
        with torch.no_grad():
            loss = nn.functional.cross_entropy(module.cpu().model(images), labels)
        print(f"loss {loss.item():.6f}", flush=True)


def load_digits():
    """The 1,797 digits that lie in scikit-learn, without its import, which takes two seconds."""
    file = Path(find_spec("sklearn").origin).parent / "datasets" / "data" / "digits.csv.gz"
    table = torch.from_numpy(np.loadtxt(file, np.float32, delimiter=","))
    return table[:, :-1].reshape(-1, 1, 8, 8) / 16, table[:, -1].long()


if __name__ == "__main__":
    main()
