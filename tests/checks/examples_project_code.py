"""C505, C506, C510, C511, C516 to C519, C521, C522: what in the code would fail, hang or waste."""

from dataclasses import replace

from tests.builders import PLAN
from tests.checks.cases import Example
from tests.checks.code_cases import FOUR_GPUS, IMAGENET, LOADER, ONE_GPU, STUDY, code_case, run
from windlass.core.source.code import Code

EXAMPLES = {
    "C505": Example(
        trips=code_case("import matplotlib.pyplot as plt", "plt.show()"),
        passes=code_case("import matplotlib.pyplot as plt", "plt.savefig('a.png')", "show()"),
        says="plt.show(): jobs have no screen and no keyboard",
        also_trips=(
            code_case("input('go on?')"),
            code_case("import pdb", "pdb.set_trace()"),
            code_case("breakpoint()"),
            code_case("import cv2", "cv2.imshow('a', image)"),
        ),
        also_passes=(
            code_case("def f(input):", "    return input('x')", "f(len)"),
            code_case("import matplotlib", "matplotlib.use('Agg')", "import matplotlib.pyplot as plt", "plt.show()"),
            code_case("import matplotlib.pyplot as plt", "plt.show()", spec=run("python train.py", MPLBACKEND="agg")),
            code_case("def look():", "    import cv2", "    cv2.imshow('a', b)"),  # nothing calls it
            code_case("image.show()", "model.show()"),
        ),
    ),
    "C506": Example(
        trips=code_case(LOADER, "DataLoader(data, num_workers=9)"),
        passes=code_case(LOADER, "DataLoader(data, num_workers=8)"),
        says="9 workers of the data loader; a process of this run has 8 cores",
        also_trips=(
            code_case("p.add_argument('--workers', default=16)", LOADER, "DataLoader(d, num_workers=args.workers)"),
            code_case("N = 12", LOADER, "DataLoader(data, num_workers=N)"),
            code_case(LOADER, IMAGENET, spec=run("python train.py -a resnet50 -j 16 data")),
            code_case("from timm.data import create_loader", "create_loader(data, num_workers=9)"),
            code_case(
                LOADER,
                "DataLoader(d, num_workers=6)",
                plan=replace(ONE_GPU, launcher="torchrun", gpus_per_node=4, processes_per_node=4, cpus_per_task=16),
            ),
        ),
        also_passes=(
            code_case(LOADER, "DataLoader(data)"),
            code_case(LOADER, "DataLoader(data, num_workers=args.workers)"),
            code_case(
                "p.add_argument('--workers', default=16)",
                LOADER,
                "DataLoader(d, num_workers=args.workers)",
                spec=run("python train.py --workers 4"),
            ),
            code_case(LOADER, "DataLoader(data, num_workers=8)", plan=replace(ONE_GPU, launcher="torchrun")),
            code_case("Pool(num_workers=99)"),
            code_case(LOADER, IMAGENET),
            code_case(LOADER, IMAGENET, "args.workers = args.workers // n", spec=run("python train.py -j 16")),
        ),
    ),
    "C510": Example(
        trips=code_case("import os", "os.environ['MASTER_PORT'] = '29500'", plan=FOUR_GPUS),
        passes=code_case("import os", "os.environ.setdefault('MASTER_PORT', '29500')", plan=FOUR_GPUS),
        says="MASTER_PORT = 29500 may be taken by another job on the node",
        also_trips=(code_case(plan=FOUR_GPUS, spec=run("torchrun --master_port 29500 train.py")),),
        also_passes=(
            code_case("import os", "os.environ['MASTER_PORT'] = '29500'"),  # one process
            code_case(plan=FOUR_GPUS, spec=run("torchrun --master_port=0 train.py")),
            code_case("import os", "os.environ['MASTER_PORT'] = str(port)", plan=FOUR_GPUS),
            code_case(
                "import os",
                "if 'MASTER_PORT' not in os.environ:",
                "    os.environ['MASTER_PORT'] = '29500'",
                plan=FOUR_GPUS,
            ),
        ),
    ),
    "C511": Example(
        trips=code_case("import os", "os.environ['CUDA_VISIBLE_DEVICES'] = '3'"),
        passes=code_case("import os", "os.environ['CUDA_VISIBLE_DEVICES'] = '0'"),
        says='CUDA_VISIBLE_DEVICES = "3"; the job has 1 GPU on a node, and Slurm sets it',
        also_trips=(
            code_case(spec=run("CUDA_VISIBLE_DEVICES=0,1 python train.py")),
            code_case(spec=run("python train.py", CUDA_VISIBLE_DEVICES="2")),
        ),
        also_passes=(
            code_case("import os", "print(os.environ['CUDA_VISIBLE_DEVICES'])"),
            code_case("import os", "os.environ['CUDA_VISIBLE_DEVICES'] = '3'", plan=PLAN),  # no GPU is asked for
            code_case(spec=run("CUDA_VISIBLE_DEVICES=$SLURM_LOCALID python train.py")),
            code_case(spec=run("CUDA_VISIBLE_DEVICES=0,1,2,3 python train.py"), plan=FOUR_GPUS),
        ),
    ),
    "C516": Example(
        trips=code_case(STUDY.format("sqlite:///study.db")),
        passes=code_case(STUDY.format("sqlite:////tmp/study.db")),
        says="the study is kept in 'sqlite:///study.db', on shared storage",
        also_passes=(
            code_case(STUDY.format("sqlite:///:memory:")),
            code_case("db = 'sqlite:///study.db'"),
            code_case(STUDY.format("mysql://h/x")),
        ),
    ),
    "C517": Example(
        trips=code_case("import torch", "torch.save(state, 'last.pt')", plan=replace(ONE_GPU, links=3)),
        passes=code_case(
            "import torch, os", "torch.save(s, 'n')", "os.replace('n', 'p')", plan=replace(ONE_GPU, links=3)
        ),
        says="torch.save writes 'last.pt' in place, and the run is cut into 3 jobs",
        also_passes=(
            code_case("import torch", "torch.save(state, 'last.pt')"),
            code_case("import torch", "torch.save(state, f'{epoch}.pt')", plan=replace(ONE_GPU, links=3)),
        ),
    ),
    "C518": Example(
        trips=code_case("x = (", "import torch"),
        passes=code_case("x = 1", files={"other.py": "x = ("}),  # nothing leads there
        says="train.py is no Python 3 as far as can be told: '(' was never closed in line 1",
    ),
    "C519": Example(
        trips=code_case(spec=run("python trian.py")),
        passes=code_case(spec=run("python ./train.py")),
        says="the command runs trian.py, which is not among the 1 files sent",
        also_passes=(
            code_case(spec=run("make train")),
            code_case(spec=run("cd $X && python y.py")),
            replace(code_case(), code=Code()),
        ),
    ),
    "C521": Example(
        trips=code_case(LOADER, "import os", "DataLoader(data, num_workers=os.cpu_count())"),
        passes=code_case(LOADER, "import os", "DataLoader(data, num_workers=len(os.sched_getaffinity(0)))"),
        says="num_workers = os.cpu_count() counts the cores of the node (64); the job has 8",
        also_trips=(
            code_case(LOADER, "n = mp.cpu_count() // 2", "DataLoader(data, num_workers=n)"),
            code_case("p.add_argument('--workers', default=os.cpu_count())", "DataModule(num_workers=args.workers)"),
        ),
        also_passes=(
            code_case(LOADER, "DataLoader(data, num_workers=min(4, os.cpu_count()))"),
            code_case(LOADER, "DataLoader(data, num_workers=os.cpu_count())", plan=replace(ONE_GPU, exclusive=True)),
            code_case(LOADER, "DataLoader(data, num_workers=os.cpu_count())", plan=replace(ONE_GPU, cpus_per_task=64)),
            code_case(
                "p.add_argument('--workers', default=os.cpu_count())",
                "DataModule(num_workers=args.workers)",
                spec=run("python train.py --workers 4"),
            ),
        ),
    ),
    "C522": Example(
        trips=code_case("import torch", "device = torch.device('cuda:3')"),
        passes=code_case("import torch", "device = torch.device('cuda:0')"),
        says="the code uses cuda:3; the job has 1 GPU on a node, cuda:0",
        also_trips=(
            code_case("model.to('cuda:4')", plan=FOUR_GPUS),
            code_case("import torch", "torch.cuda.set_device(1)"),
            code_case("DEVICE = 'cuda:1'", "model.to(DEVICE)"),
            code_case("p.add_argument('--device', default='cuda:2')", "args = p.parse_args()", "model.to(args.device)"),
        ),
        also_passes=(
            code_case("model.to('cuda:3')", plan=FOUR_GPUS),
            code_case("model.to('cuda:3')", plan=PLAN),  # no GPU is asked for
            code_case("print('cuda:3')", "x.to(3)", "x.to(f'cuda:{rank}')"),
            code_case("MANY = False", "if MANY:", "    model.to('cuda:1')"),
            code_case(
                "p.add_argument('--device', default='cuda:2')",
                "args = p.parse_args()",
                "model.to(args.device)",
                spec=run("python train.py --device cuda:0"),
            ),
        ),
    ),
}
