"""C501 to C504: what the run would fetch from the internet."""

from dataclasses import replace

from tests.checks.cases import Example
from tests.checks.code_cases import BERT, OFFLINE, ONE_GPU, PREFETCH, code_case, run
from windlass.core.site import Rules

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
        ),
        also_passes=(
            code_case(PREFETCH, site=OFFLINE),  # nothing calls it
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
}
