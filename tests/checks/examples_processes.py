"""C512 to C515, C523 to C525: whether the code uses what the plan gives it."""

from dataclasses import replace

from tests.checks.cases import Example
from tests.checks.code_cases import BERT, DDP, FOUR_GPUS, LOADER, TRAINER, code_case, run

FOUR_TASKS = replace(FOUR_GPUS, launcher="srun", tasks_per_node=4, processes_per_node=4)
ON_CPUS = replace(FOUR_TASKS, gpus_per_node=0, tasks_per_node=2, processes_per_node=2)
REQUEUED = replace(FOUR_TASKS, launcher="lightning", stop_signal="USR1")
TOLD_BY_TERM = replace(FOUR_TASKS, launcher="lightning", stop_signal="TERM", checkpoint_folder="saved")
ASKS = "from windlass_job import run\nclass Saves:\n def on_train_batch_end(self): self.stops = run.should_stop()"
BY_HAND = "trainer.save_checkpoint('saved/last.ckpt')"
PERIODICALLY = "from lightning.pytorch.callbacks import ModelCheckpoint\nModelCheckpoint('saved')"

EXAMPLES = {
    "C512": Example(
        trips=code_case("import torch", "model.cuda()", plan=FOUR_GPUS),
        passes=code_case("import torch", DDP, plan=FOUR_GPUS),
        says="the run has 4 GPUs, and nothing in train.py shares work among them",
        also_trips=(
            code_case("import torch", BERT, plan=FOUR_GPUS),
            code_case("import torch", "import lightning, accelerate", plan=FOUR_GPUS),
        ),
        also_passes=(
            code_case("import torch"),
            code_case("import torch", "from transformers import Trainer", "Trainer(model)", plan=FOUR_GPUS),
            code_case("import torch", "from accelerate import Accelerator", "Accelerator()", plan=FOUR_GPUS),
            code_case("import torch, deepspeed", "deepspeed.initialize(model=m)", plan=FOUR_GPUS),
            code_case("import torch", BERT.replace("')", "', device_map='auto')"), plan=FOUR_GPUS),
            code_case("import torch", spec=run("torchrun --nproc-per-node 4 train.py"), plan=FOUR_GPUS),
            code_case("import torch, mylibrary", plan=FOUR_GPUS),  # it may do it
            code_case("import torch, lightning", TRAINER.format(4, 1), plan=FOUR_GPUS),
            code_case("import numpy", plan=FOUR_GPUS),
            code_case(
                "import torch", "import os", "torch.cuda.set_device(int(os.environ['LOCAL_RANK']))", plan=FOUR_GPUS
            ),
            code_case("import torch", "import engine", plan=FOUR_GPUS, files={"engine.py": DDP}),
            code_case("import torch", "import torch.distributed as dist", plan=FOUR_GPUS),
        ),
    ),
    "C513": Example(
        trips=code_case(TRAINER.format(2, 1), plan=FOUR_GPUS),
        passes=code_case(TRAINER.format(4, 1), plan=FOUR_GPUS),
        says="Lightning's Trainer has devices=2 where a node has 4 GPUs",
        also_trips=(
            code_case("import pytorch_lightning as pl", "pl.Trainer(devices=4)", plan=replace(FOUR_GPUS, nodes=2)),
            code_case(TRAINER.format(4, 1), plan=replace(FOUR_GPUS, tasks_per_node=2, processes_per_node=2)),
            code_case(TRAINER.format(1, 1), plan=ON_CPUS),
        ),
        also_passes=(
            code_case(TRAINER.format(-1, 1), plan=FOUR_GPUS),
            code_case(TRAINER.format(4, 2), plan=replace(FOUR_TASKS, nodes=2)),
            code_case(TRAINER.format(2, 1), plan=ON_CPUS),
            code_case(TRAINER.format("'auto'", 1), plan=FOUR_GPUS),
            code_case(TRAINER.format("args.devices", "args.nodes"), plan=FOUR_GPUS),
            code_case("from transformers import Trainer", "Trainer(devices=2)", plan=FOUR_GPUS),
            code_case("from lightning import Trainer", "Trainer(**options)", plan=replace(FOUR_GPUS, nodes=2)),
        ),
    ),
    "C514": Example(
        trips=code_case("import horovod.torch", LOADER, "DataLoader(data, num_workers=4)"),
        passes=code_case("import horovod.torch", LOADER, "DataLoader(data, num_workers=0)"),
        says="DataLoader(num_workers=4) with Horovod: forked workers do not go with MPI",
        also_passes=(
            code_case(LOADER, "DataLoader(data, num_workers=4)"),
            code_case(
                "import horovod.torch",
                LOADER,
                "DataLoader(d, num_workers=4)",
                spec=run("horovodrun --gloo python train.py"),
            ),
            code_case(
                "import horovod.torch",
                LOADER,
                "DataLoader(d, num_workers=4)",
                plan=replace(FOUR_TASKS, launcher="horovod"),
            ),
        ),
    ),
    "C515": Example(
        trips=code_case(spec=run("python -m torch.distributed.launch train.py")),
        passes=code_case(spec=run("python -m torch.distributed.run train.py")),
        says="torch.distributed.launch is outdated",
    ),
    "C523": Example(
        trips=code_case(spec=run("torchrun --nproc_per_node=4 train.py"), plan=FOUR_TASKS),
        passes=code_case(spec=run("torchrun --nproc_per_node=4 train.py"), plan=replace(FOUR_GPUS, tasks_per_node=1)),
        says="torchrun is started 4 times on every node, once by each task of srun",
        also_trips=(
            code_case(spec=run("accelerate launch train.py"), plan=FOUR_TASKS),
            code_case(
                spec=run("bash job.sh"), plan=FOUR_TASKS, files={"job.sh": "python -m torch.distributed.run x.py"}
            ),
        ),
        also_passes=(
            code_case(spec=run("deepspeed train.py"), plan=replace(FOUR_TASKS, launcher="deepspeed")),
            code_case(spec=run("python train.py --how torchrun"), plan=FOUR_TASKS),
        ),
    ),
    "C524": Example(
        trips=code_case(spec=run("accelerate launch --cpu --num_processes 2 train.py")),
        passes=code_case(spec=run("accelerate launch --cpu train.py")),
        says="accelerate launch --cpu runs one process, whatever --num_processes says",
        also_trips=(code_case(spec=run("accelerate launch --num-processes=4 --cpu train.py")),),
        also_passes=(
            code_case(spec=run("accelerate launch --cpu --num_processes 1 train.py")),
            code_case(spec=run("accelerate launch --num_processes 2 train.py")),
            code_case(
                spec=run("accelerate launch --cpu --num_processes 2 train.py"),
                plan=replace(ON_CPUS, launcher="accelerate"),
            ),
        ),
    ),
    "C525": Example(
        trips=code_case(TRAINER.format(4, 1), plan=REQUEUED),
        passes=code_case(TRAINER.format(4, 1), plan=replace(REQUEUED, stop_signal="TERM")),
        says="at USR1 Lightning queues the job again by itself, beside Windlass's next link",
        also_trips=(
            code_case(TRAINER.format(4, 1), ASKS, plan=TOLD_BY_TERM),
            code_case(TRAINER.format(4, 1), BY_HAND, plan=replace(TOLD_BY_TERM, links=3)),
        ),
        also_passes=(
            code_case(TRAINER.format(4, 1), ASKS, plan=replace(TOLD_BY_TERM, stop_signal="USR2")),
            code_case(TRAINER.format(4, 1), ASKS, plan=replace(TOLD_BY_TERM, checkpoint_folder=None)),
            code_case(TRAINER.format(4, 1), ASKS, "import signal", "signal.signal(15, save)", plan=TOLD_BY_TERM),
            code_case("from transformers import Trainer", "Trainer(model)", ASKS, plan=TOLD_BY_TERM),
            code_case(TRAINER.format(4, 1), plan=replace(TOLD_BY_TERM, links=3)),
            code_case(TRAINER.format(4, 1), BY_HAND, plan=TOLD_BY_TERM),  # of the finished model, most often
            code_case(TRAINER.format(4, 1), BY_HAND, PERIODICALLY, plan=replace(TOLD_BY_TERM, links=3)),
            code_case(
                TRAINER.format(4, 1),
                BY_HAND,
                "class S:\n def on_exception(self): pass",
                plan=replace(TOLD_BY_TERM, links=3),
            ),
            code_case(
                "from lightning.pytorch.plugins.environments import SLURMEnvironment",
                "SLURMEnvironment(auto_requeue=False)",
                plan=REQUEUED,
            ),
            code_case(TRAINER.format(4, 1), plan=replace(REQUEUED, launcher="srun")),
        ),
    ),
}
