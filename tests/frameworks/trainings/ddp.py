"""PyTorch's DistributedDataParallel."""

from datetime import timedelta

import problem
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main():
    problem.stand_alone()
    dist.init_process_group("gloo", timeout=timedelta(seconds=120))
    problem.tell_rank(dist.get_rank(), dist.get_world_size())
    train()
    problem.let_go()
    dist.destroy_process_group()


def train():
    model = problem.make_model()
    ddp = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=problem.LEARNING_RATE)
    for images, labels in problem.list_batches(dist.get_rank(), dist.get_world_size()):
        optimizer.zero_grad()
        problem.compute_loss(ddp, images, labels).backward()
        optimizer.step()
    if dist.get_rank() == 0:
        problem.tell_loss(model)


if __name__ == "__main__":
    main()
