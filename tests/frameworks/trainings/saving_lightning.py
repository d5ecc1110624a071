"""Lightning on one or more ranks: its own checkpoint file, in a folder of ours; it stops when it is time."""

import os
import sys

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset

from windlass_job import run


class Model(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch):
        return self.layer(batch[0]).square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Saves(lightning.Callback):
    def __init__(self, saves) -> None:
        self.saves = saves

    def on_train_batch_end(self, trainer, *_) -> None:
        if trainer.global_step == 3:
            print("training", flush=True)
        if run.should_stop(all_ranks=True):
            trainer.should_stop = True

    def on_train_end(self, trainer, *_) -> None:
        with self.saves.save(trainer.global_step, all_ranks=True) as folder:
            trainer.save_checkpoint(folder / "last.ckpt")
        print("saved", trainer.global_step, flush=True)


def main(last: int) -> None:
    saves = run.checkpoint("checkpoints")
    newest = saves.latest()
    print("from", newest.name if newest else None, flush=True)
    data = DataLoader(TensorDataset(torch.randn(8, 4)), batch_size=4)
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=int(os.environ.get("WORLD_SIZE", "1")),
        strategy="ddp" if "WORLD_SIZE" in os.environ else "auto",
        max_steps=last,
        callbacks=[Saves(saves)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Model(), data, ckpt_path=str(newest / "last.ckpt") if newest else None)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(int(sys.argv[1]))
