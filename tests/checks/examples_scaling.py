"""C530 to C532: what several processes change for the training itself."""

from tests.checks.cases import Example
from tests.checks.code_cases import DDP, FOUR_GPUS, LOADER, code_case, run

SAMPLER = "from torch.utils.data import DistributedSampler\nsampler = DistributedSampler(data)"
SAMPLED = "loader = DataLoader(data, batch_size=64, sampler=sampler)"
SHUFFLED = "loader = DataLoader(data, batch_size=64, shuffle=True)"
OPTIONS = (
    "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--batch-size', type=int, default=32)\n"
    "parser.add_argument('--lr', type=float, default=0.1)\nargs = parser.parse_args()\n"
    "loader = DataLoader(data, batch_size=args.batch_size, sampler=sampler)"
)
EPOCHS = "for epoch in range(10):\n    train(loader)"
TRAINING = "from transformers import Trainer, TrainingArguments\nTrainer(model, TrainingArguments({}))"
LIGHTNING = "import lightning\ntrainer = lightning.Trainer(devices=4)"
SIZE = "import torch.distributed as dist\nworld_size = dist.get_world_size()"
EXAMPLES = {
    "C530": Example(
        trips=code_case(DDP, LOADER, SAMPLER, SAMPLED, plan=FOUR_GPUS),
        passes=code_case(DDP, LOADER, SAMPLER, SAMPLED),
        says="a batch of 64 a process on 4 processes is a global batch of 256",
        also_trips=(
            code_case(DDP, LOADER, SAMPLER, OPTIONS, plan=FOUR_GPUS),
            code_case(DDP, LOADER, SAMPLER, OPTIONS, plan=FOUR_GPUS, spec=run("python train.py --batch-size=64")),
            code_case(DDP, LOADER, SAMPLER, "DataLoader(data, 64, sampler=sampler)", SIZE, plan=FOUR_GPUS),
            code_case(LIGHTNING, LOADER, SHUFFLED, plan=FOUR_GPUS),
            code_case(TRAINING.format("per_device_train_batch_size=8"), plan=FOUR_GPUS),
            code_case(
                "from transformers import HfArgumentParser, TrainingArguments\nHfArgumentParser(TrainingArguments)",
                plan=FOUR_GPUS,
                spec=run("python train.py --per_device_train_batch_size 8"),
            ),
        ),
        also_passes=(
            code_case(DDP, LOADER, SAMPLER, SAMPLED, "if step % args.accumulate == 0: pass", plan=FOUR_GPUS),
            code_case(DDP, LOADER, "DataLoader(d, batch_size=64, sampler=val_sampler)", plan=FOUR_GPUS),
            code_case("from transformers import HfArgumentParser\nHfArgumentParser(Mine)", plan=FOUR_GPUS),
            code_case(LOADER, SHUFFLED, plan=FOUR_GPUS),  # who averages the gradients is not seen
            code_case(DDP, LOADER, SAMPLER, SAMPLED, SIZE, "lr = 0.1 * world_size", plan=FOUR_GPUS),
            code_case(DDP, LOADER, SAMPLER, OPTIONS, SIZE, "args.batch_size //= world_size", plan=FOUR_GPUS),
            code_case(DDP, LOADER, SAMPLER, "DataLoader(d, batch_size=size, sampler=sampler)", plan=FOUR_GPUS),
            code_case(DDP, LOADER, SAMPLER, "DataLoader(d, sampler=sampler, **options)", plan=FOUR_GPUS),
            code_case(DDP, LOADER, "DataLoader(d, batch_size=64)", plan=FOUR_GPUS),  # for tests only
            code_case(DDP, LOADER, "DataLoader(d, batch_sampler=mine)", plan=FOUR_GPUS),
            code_case(LIGHTNING, LOADER, "DataLoader(d, 64 // trainer.world_size, shuffle=True)", plan=FOUR_GPUS),
            code_case(
                "from accelerate import Accelerator\nAccelerator(split_batches=True)",
                *(LOADER, SHUFFLED),
                plan=FOUR_GPUS,
            ),
            code_case(
                "import horovod.torch as hvd\nhvd.DistributedOptimizer(torch.optim.SGD(p, lr=0.1 * hvd.size()))",
                *(LOADER, SAMPLER, SAMPLED),
                plan=FOUR_GPUS,
            ),
            code_case(
                TRAINING.format("per_device_train_batch_size=8, gradient_accumulation_steps=steps"), plan=FOUR_GPUS
            ),
            code_case(
                "import tensorflow as tf\ns = tf.distribute.MultiWorkerMirroredStrategy()\ndata.batch(64)",
                plan=FOUR_GPUS,
            ),
        ),
    ),
    "C531": Example(
        trips=code_case(DDP, LOADER, SHUFFLED, plan=FOUR_GPUS),
        passes=code_case(DDP, LOADER, SAMPLER, SAMPLED, plan=FOUR_GPUS),
        says="DataLoader without DistributedSampler: each of the 4 processes goes through all of the data",
        also_trips=(
            code_case(DDP, LOADER, SHUFFLED, SIZE, "print(world_size)", plan=FOUR_GPUS),
            code_case(DDP, "import torch", "torch.utils.data.DataLoader(data, 8, True)", plan=FOUR_GPUS),
        ),
        also_passes=(
            code_case(DDP, LOADER, SHUFFLED),
            code_case(LOADER, SHUFFLED, plan=FOUR_GPUS),
            code_case(DDP, LOADER, "DataLoader(data, batch_size=8)", plan=FOUR_GPUS),  # perhaps for tests
            code_case(DDP, LOADER, SHUFFLED, SIZE, "data = data[rank::world_size]", plan=FOUR_GPUS),
            code_case(DDP, LOADER, SHUFFLED, "data = Digits(world_size=args.world_size)", plan=FOUR_GPUS),
            code_case(DDP, LOADER, "DataLoader(data, shuffle=True, sampler=mine)", plan=FOUR_GPUS),
            code_case(DDP, LOADER, "DataLoader(data, shuffle=sampler is None)", plan=FOUR_GPUS),
            code_case(DDP, LOADER, SHUFFLED, "import webdataset", plan=FOUR_GPUS),
            code_case(DDP, LOADER, SHUFFLED, "import accelerate", plan=FOUR_GPUS),
            code_case(DDP, LOADER, SHUFFLED, SAMPLER, plan=FOUR_GPUS),
            code_case(LIGHTNING, LOADER, SHUFFLED, plan=FOUR_GPUS),
            code_case(DDP, LOADER, SHUFFLED, "data = datasets.shard(4, rank)", plan=FOUR_GPUS),
        ),
    ),
    "C532": Example(
        trips=code_case(DDP, LOADER, SAMPLER, SAMPLED, EPOCHS, plan=FOUR_GPUS),
        passes=code_case(
            *(DDP, LOADER, SAMPLER, SAMPLED, EPOCHS, "    sampler.set_epoch(epoch)"),
            plan=FOUR_GPUS,
        ),
        says="DistributedSampler without set_epoch: the data comes in the same order in every epoch",
        also_passes=(
            code_case(DDP, LOADER, SAMPLER, SAMPLED, plan=FOUR_GPUS),  # once through the data
            code_case(DDP, LOADER, SAMPLER, SAMPLED, EPOCHS),
            code_case(DDP, LOADER, SAMPLER.replace("(data)", "(data, shuffle=False)"), EPOCHS, plan=FOUR_GPUS),
            code_case(DDP, LOADER, SAMPLER.replace("(data)", "(data, shuffle=is_train)"), EPOCHS, plan=FOUR_GPUS),
            code_case(LIGHTNING, LOADER, SAMPLER, SAMPLED, EPOCHS, plan=FOUR_GPUS),
            code_case(
                *(DDP, LOADER, SAMPLER, SAMPLED, EPOCHS, "import engine"),
                plan=FOUR_GPUS,
                files={"engine.py": "def begin(loader, epoch):\n    loader.sampler.set_epoch(epoch)"},
            ),
        ),
    ),
}
