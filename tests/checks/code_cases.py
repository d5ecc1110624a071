"""Cases with code in them: train.py, which the command runs, and files beside it."""

from collections.abc import Mapping
from dataclasses import replace

from tests.builders import CPU_NODE, GPU, GPU_NODE, PLAN, SITE, SPEC
from windlass.core.case import Case
from windlass.core.environment import Entering, EnvironmentSeen
from windlass.core.facts import Facts
from windlass.core.plan import Plan
from windlass.core.run import Environment, RunSpec, Wheels
from windlass.core.site import GpuDialect, GpuKind, Login, Rules, Site, Software
from windlass.core.source.code import Binary, Code, Language, SourceFile
from windlass.environments import KINDS as ENVIRONMENTS

ONE_GPU = replace(PLAN, partition="gpu", gpus_per_node=1, gpu_dialect=GpuDialect.GRES, cpus_per_task=8)
FOUR_GPUS = replace(ONE_GPU, gpus_per_node=4, tasks_per_node=4, processes_per_node=4)
REMOTE = replace(SITE, login=Login(host="login.example.org"))
OFFLINE = replace(REMOTE, rules=Rules(compute_internet=False))
NO_HOME = replace(REMOTE, rules=Rules(jobs_from_home=False))
ALICE = Facts(user="alice", home="/home/alice", root="/scratch/alice/windlass")
KINDS = {Language.PYTHON: (".py",), Language.SHELL: (".sh",)}
DDP = "from torch.nn.parallel import DistributedDataParallel as DDP\nDDP(model)"
LOADER = "from torch.utils.data import DataLoader"
BERT = "from transformers import AutoModel\nmodel = AutoModel.from_pretrained('bert-base-uncased')"
TRAINER = "from lightning import Trainer\ntrainer = Trainer(devices={}, num_nodes={})"
STUDY = "import optuna\noptuna.create_study(storage='{}')"
NANO = (
    "init_from = 'scratch'\nwandb_log = False\nexec(open('configurator.py').read())\n"
    "if init_from == 'resume':\n    pass\nelif init_from.startswith('gpt2'):\n"
    "    from transformers import GPT2LMHeadModel\n    GPT2LMHeadModel.from_pretrained(init_from)\n"
    "if wandb_log and is_first:\n    import wandb\n    wandb.init(project='x')\n"
)
IMAGENET = (
    "import torchvision.models as models\n"
    "parser.add_argument('-a', '--arch', default='resnet18')\n"
    "parser.add_argument('-j', '--workers', default=4, type=int)\n"
    "parser.add_argument('--pretrained', dest='pretrained', action='store_true')\n"
    "def main():\n    args = parser.parse_args()\n    if args.pretrained:\n"
    "        model = models.__dict__[args.arch](pretrained=True)\n"
    "    else:\n        model = models.__dict__[args.arch]()\n"
    "    DataLoader(data, num_workers=args.workers)\n"
    "if __name__ == '__main__':\n    main()\n"
)
TIMM = (
    "from timm.data import create_dataset, create_loader\nfrom timm.models import create_model\n"
    "config = argparse.ArgumentParser()\nconfig.add_argument('-c', '--config', default='')\n"
    "parser = argparse.ArgumentParser()\nparser.add_argument('--model', default='resnet50', type=str)\n"
    "parser.add_argument('--pretrained', action='store_true', default=False)\n"
    "parser.add_argument('--dataset-download', action='store_true', default=False)\n"
    "parser.add_argument('--initial-checkpoint', default='', type=str)\n"
    "args_config, rest = config.parse_known_args()\nif args_config.config:\n    parser.set_defaults(**read())\n"
    "args = parser.parse_args(rest)\n"
)
PREFETCH = "from huggingface_hub import snapshot_download\ndef prefetch():\n    snapshot_download('a/b')"


def make_code(files: Mapping[str, str], *binaries: Binary) -> Code:
    def find_language(path: str) -> Language:
        return next((kind for kind, endings in KINDS.items() if path.endswith(endings)), Language.OTHER)

    made = (SourceFile(path=path, text=text, language=find_language(path)) for path, text in files.items())
    return Code(files=tuple(made), paths=frozenset(files), binaries=binaries)


def code_case(
    *lines: str,
    plan: Plan = ONE_GPU,
    site: Site = REMOTE,
    facts: Facts = ALICE,
    spec: RunSpec = SPEC,
    files: Mapping[str, str] | None = None,
) -> Case:
    """`lines`: of train.py, which the command runs."""
    code = make_code({"train.py": "\n".join(lines) + "\n", **(files or {})})
    return Case(spec=spec, plan=plan, site=site, facts=facts, code=code)


def run(command: str, **env: str) -> RunSpec:
    return replace(SPEC, command=command, env=env)


def site_with(kind: GpuKind, *, software: Software | None = None, architecture: str = "x86_64") -> Site:
    node = replace(GPU_NODE, gpu=kind.name, architecture=architecture)
    return replace(
        REMOTE, gpus=(kind,), node_types=(CPU_NODE, node), partitions=(GPU,), software=software or Software()
    )


def pinned(line: str, site: Site, *code: str, **more: str) -> Case:
    return code_case(*code, site=site, files={"requirements.txt": line + "\n", **more})


def mixed(*kinds: GpuKind) -> Site:
    """One partition whose nodes have different GPUs."""
    nodes = tuple(replace(GPU_NODE, name=f"node-{one.name}", gpu=one.name) for one in kinds)
    partition = replace(GPU, nodes=tuple(one.name for one in nodes))
    return replace(REMOTE, gpus=kinds, node_types=(CPU_NODE, *nodes), partitions=(partition,))


V100 = site_with(GpuKind(name="v100", capability="7.0"))
K40 = site_with(GpuKind(name="k40", wheels="https://example.org/legacy"))
A100 = site_with(GpuKind(name="a100"))
POWER = site_with(GpuKind(name="v100"), architecture="ppc64le")


def listed(site: Site, environment: Environment, **files: str) -> Case:
    """The environment is built from a list of the project's. In names of files `__` is a point."""
    texts = {name.replace("__", "."): text for name, text in files.items()}
    (recipe,) = (one for kind in ENVIRONMENTS.values() if (one := kind.read(environment, site, texts.get)))
    case = code_case(site=site, spec=replace(SPEC, environment=environment), files=texts)
    return replace(case, environment=EnvironmentSeen(recipe=recipe, entering=Entering(), is_asked=True))


def from_pypi(site: Site, *lines: str, **environment: object) -> Case:
    """Built from a list of these lines."""
    wanted = replace(Environment(venv="a.txt", wheels=Wheels.PYPI), **environment)  # type: ignore[arg-type]  # replace() checks the names
    return listed(site, wanted, a__txt="\n".join(lines) + "\n")
