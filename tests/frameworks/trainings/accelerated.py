"""Hugging Face Accelerate."""

import problem
import torch
from accelerate import Accelerator


def main():
    accelerator = Accelerator(cpu=True)
    problem.tell_rank(accelerator.process_index, accelerator.num_processes)
    train(accelerator)
    accelerator.free_memory()
    problem.let_go()
    accelerator.end_training()


def train(accelerator):
    model = problem.make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=problem.LEARNING_RATE)
    wrapped, optimizer = accelerator.prepare(model, optimizer)
    for images, labels in problem.list_batches(accelerator.process_index, accelerator.num_processes):
        optimizer.zero_grad()
        accelerator.backward(problem.compute_loss(wrapped, images, labels))
        optimizer.step()
    if accelerator.is_main_process:
        problem.tell_loss(model)


if __name__ == "__main__":
    main()
