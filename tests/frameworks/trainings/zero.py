"""DeepSpeed with ZeRO 1."""

import argparse
import os

import deepspeed
import problem
import torch
import torch.distributed as dist


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)
    options = parser.parse_args()
    problem.stand_alone()
    assert options.local_rank in (-1, int(os.environ["LOCAL_RANK"]))
    deepspeed.init_distributed("gloo")
    problem.tell_rank(dist.get_rank(), dist.get_world_size())
    train()
    problem.let_go()
    dist.destroy_process_group()


def train():
    model = problem.make_model()
    config = {
        "train_batch_size": problem.GLOBAL_BATCH,
        "train_micro_batch_size_per_gpu": problem.GLOBAL_BATCH // dist.get_world_size(),
        "zero_optimization": {"stage": 1},
        "zero_allow_untested_optimizer": True,
        "steps_per_print": 1000,
    }
    optimizer = torch.optim.SGD(model.parameters(), lr=problem.LEARNING_RATE)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
    for images, labels in problem.list_batches(dist.get_rank(), dist.get_world_size()):
        engine.backward(problem.compute_loss(engine, images, labels))
        engine.step()
    if dist.get_rank() == 0:
        problem.tell_loss(model)


if __name__ == "__main__":
    main()
