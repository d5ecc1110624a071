"""Programs that start the processes of a training, by the names they have in commands."""

# PyTorch's own: a program, and two modules of Python.
TORCHRUN = ("torchrun", "torch.distributed.run", "torch.distributed.launch")
