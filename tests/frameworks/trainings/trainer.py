"""Lightning's Trainer."""

import sys

import lightning
import problem
import torch
import torch.distributed as dist


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = problem.make_model()

    def on_fit_start(self):
        problem.tell_rank(self.trainer.global_rank, self.trainer.world_size)

    def training_step(self, batch):
        return problem.compute_loss(self.model, *batch)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=problem.LEARNING_RATE)


class Batches(torch.utils.data.IterableDataset):
    def __init__(self, trainer):
        self.trainer = trainer

    def __iter__(self):
        return problem.list_batches(self.trainer.global_rank, self.trainer.world_size)


def main(devices, nodes):
    train(devices, nodes)
    problem.let_go()
    dist.destroy_process_group()


def train(devices, nodes):
    trainer = lightning.Trainer(
        devices=devices,
        num_nodes=nodes,
        accelerator="cpu",
        strategy="ddp",
        max_epochs=1,
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    module = Module()
    trainer.fit(module, torch.utils.data.DataLoader(Batches(trainer), batch_size=None))
    if trainer.is_global_zero:
        problem.tell_loss(module.model)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
