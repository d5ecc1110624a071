"""Horovod: over Gloo, or over MPI where that started it."""

import horovod.torch as hvd
import problem
import torch


def main():
    hvd.init()
    problem.tell_rank(hvd.rank(), hvd.size())
    model = problem.make_model()
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=problem.LEARNING_RATE), named_parameters=model.named_parameters()
    )
    for images, labels in problem.list_batches(hvd.rank(), hvd.size()):
        optimizer.zero_grad()
        problem.compute_loss(model, images, labels).backward()
        optimizer.step()
    if hvd.rank() == 0:
        problem.tell_loss(model)
    hvd.shutdown()


if __name__ == "__main__":
    main()
