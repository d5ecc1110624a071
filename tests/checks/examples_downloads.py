"""C501 to C504, C520: what the run would fetch from the internet."""

from dataclasses import replace

from tests.checks.cases import Example
from tests.checks.code_cases import BERT, IMAGENET, NANO, OFFLINE, ONE_GPU, PREFETCH, REMOTE, TIMM, code_case, run
from windlass.core.site import Rules

HF_TRAINER = "from transformers import Trainer, TrainingArguments\nTrainer(model, TrainingArguments('out'))"
HF_PARSER = "from transformers import HfArgumentParser, TrainingArguments\nHfArgumentParser((Mine, TrainingArguments))"
NO_REPORT = "python train.py --report_to none"
ACCELERATE = (
    "from accelerate import Accelerator\nparser.add_argument('--report_to', default='tensorboard')\n"
    "accelerator = Accelerator(log_with=args.report_to)\naccelerator.init_trackers('x')"
)
WANDB_IF = "if wandb:\n    wandb.init()"
TRACK_IF = "if LOG:\n    track()"

EXAMPLES = {
    "C501": Example(
        trips=code_case(site=OFFLINE, spec=run("git clone https://github.com/a/b && python train.py")),
        passes=code_case(site=OFFLINE, spec=run("test -d b || git clone https://github.com/a/b; python train.py")),
        says="git clone https://github.com/a/b wants the internet; compute nodes of alpha reach none",
        also_trips=(
            code_case("import requests", "requests.get('https://example.org/a')", site=OFFLINE),
            code_case(site=OFFLINE, spec=run("bash run.sh"), files={"run.sh": "conda install -y x\npython train.py"}),
        ),
        also_passes=(
            code_case(spec=run("git clone https://github.com/a/b")),  # nothing is known of the internet there
            code_case(
                site=replace(OFFLINE, rules=Rules(compute_internet=True)), spec=run("wget https://example.org/a")
            ),
            code_case(
                site=OFFLINE, spec=run("wget https://example.org/a"), plan=replace(ONE_GPU, modules=("httpproxy",))
            ),
            code_case(site=OFFLINE, spec=run("wget https://example.org/a", https_proxy="http://proxy.example.org")),
        ),
    ),
    "C502": Example(
        trips=code_case(BERT, site=OFFLINE),
        passes=code_case(BERT, site=OFFLINE, spec=run("python train.py", HF_HUB_OFFLINE="1")),
        says="AutoModel.from_pretrained('bert-base-uncased') wants the internet; compute nodes of alpha reach none",
        also_trips=(
            code_case(
                "def main():",
                "    from torchvision import datasets",
                "    datasets.MNIST('d', download=True)",
                "main()",
                site=OFFLINE,
            ),
            code_case("import data", site=OFFLINE, files={"data.py": "import nltk\nnltk.download('x')"}),
            code_case(
                "from transformers import AutoModel",
                "AutoModel.from_pretrained(args.model)",
                site=OFFLINE,
                spec=run("python train.py --model a/b"),
            ),
            code_case(NANO, site=OFFLINE, spec=run("python train.py --init_from=gpt2-xl")),
            code_case(
                NANO,
                site=OFFLINE,
                spec=run("python train.py config/tune.py"),
                files={"config/tune.py": "init_from = 'gpt2'"},
            ),
            code_case(NANO, site=OFFLINE, spec=run("python train.py $MORE")),  # it may say so
            code_case(IMAGENET, site=OFFLINE, spec=run("python train.py -a resnet50 --pretrained data")),
            code_case(
                TIMM,
                "create_model(args.model, pretrained=args.pretrained, checkpoint_path=args.initial_checkpoint)",
                site=OFFLINE,
                spec=run("python train.py --pretrained"),
            ),
            code_case(
                TIMM,
                "create_dataset('torch/cifar10', root='d', download=args.dataset_download)",
                site=OFFLINE,
                spec=run("python train.py --dataset-download"),
            ),
        ),
        also_passes=(
            code_case(PREFETCH, site=OFFLINE),  # nothing calls it
            code_case(NANO, site=OFFLINE),
            code_case(
                NANO,
                site=OFFLINE,
                spec=run("python train.py config/a.py"),
                files={"config/a.py": "init_from = 'resume'"},
            ),
            code_case(IMAGENET, site=OFFLINE, spec=run("python train.py -a resnet50 data")),
            code_case(
                TIMM,
                "create_model(args.model, pretrained=args.pretrained, checkpoint_path=args.initial_checkpoint)",
                "create_dataset('torch/cifar10', root='d', download=args.dataset_download)",
                site=OFFLINE,
            ),
            code_case(
                TIMM,
                "create_model(args.model, pretrained=args.pretrained, checkpoint_path=args.initial_checkpoint)",
                site=OFFLINE,
                spec=run("python train.py --pretrained --initial-checkpoint a.pth"),
            ),
            code_case(
                PREFETCH, "if False:", "    pass", site=OFFLINE, files={"prefetch.py": BERT}
            ),  # the command runs another
            code_case(
                "import data",
                site=OFFLINE,
                files={"data.py": "if __name__ == '__main__':\n    import nltk\n    nltk.download('x')"},
            ),
            code_case("AutoModel.from_pretrained('model')", site=OFFLINE, files={"model/config.json": "{}"}),
            code_case("import os", "os.environ['HF_HUB_OFFLINE'] = '1'", BERT, site=OFFLINE),
            code_case(
                "from transformers import AutoModel",
                "AutoModel.from_pretrained(args.model)",
                site=OFFLINE,
                spec=run("python train.py --model ./m"),
            ),
        ),
    ),
    "C503": Example(
        trips=code_case("import wandb", "wandb.init()", site=OFFLINE),
        passes=code_case("import wandb", "wandb.init()", site=OFFLINE, spec=run("WANDB_MODE=offline python train.py")),
        says="wandb.init() wants the internet; compute nodes of alpha reach none",
        also_trips=(
            code_case(NANO, site=OFFLINE, spec=run("python train.py --wandb_log=True")),
            code_case(HF_TRAINER, site=OFFLINE, files={"requirements.txt": "transformers==4.44\nwandb\n"}),
            code_case(HF_PARSER, site=OFFLINE, spec=run("python train.py --report_to wandb")),
            code_case(ACCELERATE, site=OFFLINE, spec=run("accelerate launch train.py --report_to=wandb")),
            code_case("try:", "    import wandb", "except ImportError:", "    wandb = None", WANDB_IF, site=OFFLINE),
            code_case("def track():", "    import wandb", "    wandb.init()", "LOG = True", TRACK_IF, site=OFFLINE),
        ),
        also_passes=(
            code_case(
                "import wandb, argparse",
                "p = argparse.ArgumentParser()",
                "p.add_argument('--log', action='store_true')",
                "args = p.parse_args()",
                "if args.log:",
                "    wandb.init()",
                site=OFFLINE,
            ),
            code_case("import wandb", "wandb.init(mode='offline')", site=OFFLINE),
            code_case(NANO, site=OFFLINE),
            code_case(HF_TRAINER, site=OFFLINE),  # not installed
            code_case(HF_TRAINER, site=OFFLINE, files={"requirements.txt": "transformers>=5\nwandb\n"}),
            code_case(HF_PARSER, site=OFFLINE, files={"requirements.txt": "wandb"}, spec=run(NO_REPORT)),
            code_case(ACCELERATE, site=OFFLINE, spec=run("accelerate launch train.py")),  # to TensorBoard
            code_case("def track():", "    import wandb", "    wandb.init()", "LOG = False", TRACK_IF, site=OFFLINE),
        ),
    ),
    "C504": Example(
        trips=code_case(site=OFFLINE, spec=run("pip install -r requirements.txt && python train.py")),
        passes=code_case(site=OFFLINE, spec=run("pip install --no-index -r requirements.txt && python train.py")),
        says="pip install -r requirements.txt wants the internet; compute nodes of alpha reach none",
        also_passes=(
            code_case(site=OFFLINE, files={"Dockerfile": "RUN pip install x", "docs/setup.sh": "pip install x"}),
        ),
    ),
    "C520": Example(
        trips=code_case(BERT, site=REMOTE),
        passes=code_case("import torch", site=REMOTE),
        says="AutoModel.from_pretrained('bert-base-uncased') wants the internet; "
        "it is not known whether compute nodes of alpha reach it",
        also_trips=(
            code_case("import wandb", "wandb.init()", site=REMOTE, spec=run("pip install x; python train.py")),
        ),
        also_passes=(
            code_case(BERT, site=OFFLINE),
            code_case(BERT, site=replace(REMOTE, rules=Rules(compute_internet=True))),
            code_case(BERT, site=REMOTE, spec=run("python train.py", HF_HUB_OFFLINE="1")),
        ),
    ),
}
