"""What needs the internet: one line each that does, and the near misses that do not."""

import pytest

from windlass.core.source.code import Language
from windlass.core.source.network_use import Use, UseKind, find_network_use

FETCH, INSTALL, CACHED, TRACKER = UseKind.FETCH, UseKind.INSTALL, UseKind.CACHED, UseKind.TRACKER


def in_python(text: str, **env: str) -> list[UseKind]:
    return [use.kind for use in find_network_use(text, Language.PYTHON, env=env)]


def in_shell(text: str, **env: str) -> list[UseKind]:
    return [use.kind for use in find_network_use(text, Language.SHELL, env=env)]


def only(text: str, language: Language) -> Use:
    (use,) = find_network_use(text, language)
    return use


PYTHON: list[tuple[str, UseKind]] = [
    ("from transformers import AutoModel\nAutoModel.from_pretrained('bert-base-uncased')", CACHED),
    ("import transformers as t\nNAME = 'org/model'\nt.AutoTokenizer.from_pretrained(NAME)", CACHED),
    ("from transformers import AutoModel as M\nM.from_pretrained(args.model)", CACHED),
    ("from transformers import pipeline\npipeline('sentiment-analysis')", CACHED),
    ("from sentence_transformers import SentenceTransformer\nSentenceTransformer('all-MiniLM-L6-v2')", CACHED),
    ("from datasets import load_dataset\nload_dataset('imdb')", CACHED),
    ("from datasets import *\nload_dataset('imdb')", CACHED),
    ("import datasets\ndatasets.load_dataset('csv', data_files='https://example.org/a.csv')", CACHED),
    ("from huggingface_hub import snapshot_download\nsnapshot_download('org/model')", CACHED),
    ("from huggingface_hub import hf_hub_download\nhf_hub_download(repo_id='org/model', filename='x')", CACHED),
    ("from fastai.vision.all import *\npath = untar_data(URLs.PETS)/'images'", CACHED),
    ("from fastai.vision.all import *\nlearn = vision_learner(dls, resnet34)", CACHED),
    ("from torchvision import datasets\ndatasets.CIFAR10(root='data', train=True, download=True)", CACHED),
    ("import torchvision\ntorchvision.datasets.MNIST('data', download=True)", CACHED),
    ("import torch\ntorch.hub.load('pytorch/vision:v0.10.0', 'resnet18')", CACHED),
    ("from torch.hub import load_state_dict_from_url\nload_state_dict_from_url(URL)", CACHED),
    ("from torchvision import models\nmodels.resnet50(pretrained=True)", CACHED),
    ("from torchvision.models import resnet50\nresnet50(weights='DEFAULT')", CACHED),
    ("import torchvision.models as m\nm.resnet50(weights=m.ResNet50_Weights.DEFAULT)", CACHED),
    ("import timm\ntimm.create_model('vit_base', pretrained=True)", CACHED),
    ("import tensorflow_datasets as tfds\ntfds.load('mnist')", CACHED),
    ("import tensorflow as tf\ntf.keras.datasets.mnist.load_data()", CACHED),
    ("from tensorflow import keras\nkeras.applications.ResNet50(weights='imagenet')", CACHED),
    ("import nltk\nnltk.download('punkt')", CACHED),
    ("import evaluate\nevaluate.load('accuracy')", CACHED),
    ("import lpips\nlpips.LPIPS(net='vgg')", CACHED),
    ("from ultralytics import YOLO\nYOLO('yolov8n.pt')", CACHED),
    ("from torchmetrics.image.fid import FrechetInceptionDistance\nFrechetInceptionDistance(feature=64)", CACHED),
    ("import tiktoken\ntiktoken.get_encoding('gpt2')", CACHED),
    ("from detectron2 import model_zoo\nmodel_zoo.get_checkpoint_url('COCO/a.yaml')", CACHED),
    ("from torch.utils import model_zoo\nmodel_zoo.load_url(address)", CACHED),
    ("from torchvision.models import resnet50\nw = 'DEFAULT'\nresnet50(weights=w)", CACHED),
    (
        "from torchvision.models import *\nw = ResNet50_Weights.DEFAULT\nimport torchvision\n"
        "torchvision.models.resnet50(weights=w)",
        CACHED,
    ),
    ("import torchvision.models as models\nmodels.__dict__[name](pretrained=True)", CACHED),
    ("from torchvision import models\ngetattr(models, name)(weights='DEFAULT')", CACHED),
    ("from accelerate import Accelerator\na = Accelerator(log_with='wandb')\na.init_trackers('x')", TRACKER),
    ("from accelerate import Accelerator\na = Accelerator(log_with=['wandb'])\na.init_trackers('x')", TRACKER),
    ("import gdown\ngdown.download(url, out)", CACHED),
    ("from sklearn.datasets import fetch_openml\nfetch_openml('mnist_784')", CACHED),
    ("import urllib.request\nurllib.request.urlretrieve('https://example.org/a.zip', 'a.zip')", FETCH),
    ("import requests\nURL = 'https://example.org/a'\nrequests.get(URL, stream=True)", FETCH),
    ("import httpx\nhttpx.get(f'https://example.org/{name}')", FETCH),
    ("import pandas as pd\npd.read_csv('https://example.org/a.csv')", FETCH),
    ("import subprocess, sys\nsubprocess.check_call([sys.executable, '-m', 'pip', 'install', 'einops'])", INSTALL),
    ("import subprocess\nsubprocess.run(['wget', 'https://example.org/a'])", FETCH),
    ("import os\nos.system('git clone https://github.com/a/b')", FETCH),
    ("import wandb\nwandb.init(project='x')", TRACKER),
    ("from lightning.pytorch.loggers import WandbLogger\nWandbLogger(project='x')", TRACKER),
    ("from transformers import TrainingArguments\nTrainingArguments('out', report_to='wandb')", TRACKER),
    ("import comet_ml\ncomet_ml.Experiment(project_name='x')", TRACKER),
    ("import neptune\nneptune.init_run(project='x')", TRACKER),
    ("import mlflow\nmlflow.set_tracking_uri('http://mlflow.example.org:5000')", TRACKER),
    ("from clearml import Task\nTask.init(project_name='x')", TRACKER),
]

QUIET_PYTHON: list[str] = [
    "from transformers import AutoModel\nAutoModel.from_pretrained('./model')",
    "from transformers import AutoModel\nAutoModel.from_pretrained('/scratch/model')",
    "from transformers import AutoModel\nAutoModel.from_pretrained('../a/b/c')",
    "from transformers import AutoModel\nAutoModel.from_pretrained(args.output_dir)",
    "from transformers import AutoModel\nAutoModel.from_pretrained('bert', local_files_only=True)",
    "import os\nos.environ['HF_HUB_OFFLINE'] = '1'\nfrom transformers import AutoModel\nAutoModel.from_pretrained('b')",
    "import os\nos.environ.setdefault('HF_HUB_OFFLINE', '1')\nAutoModel.from_pretrained('b')",
    "os = 1\n'''AutoModel.from_pretrained('b')'''",
    "# AutoModel.from_pretrained('b')\nprint('AutoModel.from_pretrained(1)')",
    "from datasets import load_dataset\nload_dataset('csv', data_files='a.csv')",
    "from datasets import load_dataset\nload_dataset('imagefolder', data_dir='data')",
    "from datasets import load_dataset\nload_dataset('./data')",
    "from mine import load_dataset\nload_dataset('imdb')",
    "from torchvision import datasets\ndatasets.MNIST('data', download=False)",
    "from torchvision import datasets\ndatasets.MNIST('data')",
    "parser.add_argument('--download', action='store_true')",
    "from torchvision import models\nmodels.resnet50()",
    "from torchvision import models\nmodels.resnet50(weights=None)",
    "from torchvision import models\nmodels.resnet50(pretrained=False)",
    "import timm\ntimm.create_model('vit_base')",
    "from fastai.vision.all import *\nvision_learner(dls, resnet34, pretrained=False)",
    "import evaluate\nevaluate.load('./metrics/accuracy')",
    "import lpips\nlpips.LPIPS(pretrained=False)",
    "from ultralytics import YOLO\nYOLO('runs/best.pt')",
    "from ultralytics import YOLO\nYOLO('yolov8n.yaml')",
    "from torchmetrics import Accuracy\nAccuracy()",
    "import os, tiktoken\nos.environ['TIKTOKEN_CACHE_DIR'] = '/d'\ntiktoken.get_encoding('gpt2')",
    "from detectron2 import model_zoo\nmodel_zoo.get_config_file('COCO/a.yaml')",
    "from torchvision.models import resnet50\nresnet50(weights=weights)",
    "import torchvision.models as models\nmodels.__dict__[name]()",
    "from accelerate import Accelerator\na = Accelerator(log_with='tensorboard')\na.init_trackers('x')",
    "from accelerate import Accelerator\na = Accelerator(log_with='wandb')",
    "def untar_data_locally(): pass\nuntar_data_locally()",
    "import torch\ntorch.hub.load('.', 'custom', source='local')",
    "import torch\ntorch.load('model.pt')",
    "from tensorflow import keras\nkeras.applications.ResNet50(weights=None)",
    "import requests\nrequests.get('http://localhost:8000/health')",
    "import requests\nrequests.get(f'http://{host}:8000')",
    "import requests\nrequests.get(url)",
    "import pandas as pd\npd.read_csv('data.csv')",
    "import subprocess\nsubprocess.run(['ls', 'wget'])",
    "import subprocess\nsubprocess.run(['git', 'rev-parse', 'HEAD'])",
    "import subprocess\nsubprocess.run(['pip', 'install', '--no-index', 'x'])",
    "import wandb\nwandb.init(mode='offline')",
    "import wandb\nwandb.init(mode='disabled')",
    "import os, wandb\nos.environ['WANDB_MODE'] = 'offline'\nwandb.init()",
    "import wandb\nwandb.log({'loss': 1})",
    "from lightning.pytorch.loggers import WandbLogger\nWandbLogger(offline=True)",
    "from transformers import TrainingArguments\nTrainingArguments('out', report_to='tensorboard')",
    "import mlflow\nmlflow.set_tracking_uri('file:mlruns')",
    "import comet_ml\ncomet_ml.OfflineExperiment()",
    "import neptune\nneptune.init_run(mode='offline')",
]

SHELL: list[tuple[str, UseKind]] = [
    ("wget https://example.org/a.tar", FETCH),
    ("curl -LO https://example.org/a.tar", FETCH),
    ("wget example.org/a.tar", FETCH),
    ("wget -q $DATA_URL", FETCH),
    ("git clone https://user:pw@github.com/a/b", FETCH),
    ("git clone git@github.com:a/b.git", FETCH),
    ("git pull", FETCH),
    ("conda install -y pytorch", FETCH),
    ("mamba env create -f environment.yml", FETCH),
    ("pip install -r requirements.txt", INSTALL),
    ("python3 -m pip install torch", INSTALL),
    ("pip3 install torch", INSTALL),
    ("uv pip install torch", INSTALL),
    ("uv sync", INSTALL),
    ("srun -n 1 pip install torch", INSTALL),
    ("huggingface-cli download org/model", CACHED),
    ("hf download org/model", CACHED),
    ("gsutil -m cp -r gs://bucket/x .", FETCH),
    ("aws s3 cp s3://bucket/x .", FETCH),
    ("apptainer pull docker://pytorch/pytorch", FETCH),
    ("apptainer exec docker://pytorch/pytorch python x.py", FETCH),
    ("wandb login abc", TRACKER),
    ("wandb online", TRACKER),
    ("bash -c 'cd x; wget https://example.org/a'", FETCH),
    ("X=$(curl -s https://example.org/a)", FETCH),
    ('echo "$(curl -s https://example.org/a)"', FETCH),
    ("cat <<EOF\nhi\nEOF\nwget https://example.org/a", FETCH),
]

QUIET_SHELL: list[str] = [
    "# wget https://example.org/a",
    "echo 'wget https://example.org/a'",
    'echo "use git clone https://example.org/a"',
    "cat <<EOF\nwget https://example.org/a\nEOF",
    "cat <<-'END' > x\n\tpip install torch\n\tEND\n",
    "curl http://localhost:6006/",
    "curl http://$MASTER_ADDR:8000/",
    "curl --version",
    "pip install --no-index torch",
    "PIP_NO_INDEX=1 pip install torch",
    "export PIP_NO_INDEX=1\npip install torch",
    "pip install ./wheels/x-1.0-py3-none-any.whl",
    "pip list",
    "conda activate env",
    "conda create --offline -n x python",
    "git clone ../other",
    "git clone /project/repo",
    "git rev-parse HEAD",
    "git log --oneline",
    "uv run --offline train.py",
    "UV_OFFLINE=1 uv sync",
    "wandb offline",
    "WANDB_MODE=offline wandb agent x",
    "export https_proxy=http://proxy.example.org:3128\nwget https://example.org/a",
    "apptainer exec --nv image.sif python train.py",
    "python wget.py",
    "./wget_data.sh",
    "rsync -a data/ $SLURM_TMPDIR/",
]


@pytest.mark.parametrize(("text", "kind"), PYTHON)
def test_python_that_goes_out(text: str, kind: UseKind) -> None:
    assert in_python(text) == [kind]


@pytest.mark.parametrize("text", QUIET_PYTHON)
def test_python_that_stays(text: str) -> None:
    assert in_python(text) == []


@pytest.mark.parametrize(("text", "kind"), SHELL)
def test_shell_that_goes_out(text: str, kind: UseKind) -> None:
    assert in_shell(text) == [kind]


@pytest.mark.parametrize("text", QUIET_SHELL)
def test_shell_that_stays(text: str) -> None:
    assert in_shell(text) == []


def test_variables_of_the_run_count() -> None:
    text = "from transformers import AutoModel\nAutoModel.from_pretrained('b')\nimport wandb\nwandb.init()"

    assert in_python(text, HF_HUB_OFFLINE="1", WANDB_MODE="offline") == []
    assert in_python(text, HF_HUB_OFFLINE="0") == [CACHED, TRACKER]
    assert in_python(text, https_proxy="http://proxy.example.org:3128") == []


def test_a_folder_of_that_name_is_a_model() -> None:
    text = "from transformers import AutoModel\nAutoModel.from_pretrained('model')"

    assert find_network_use(text, Language.PYTHON, folders={"model"}) == ()


def test_line_and_column_are_those_of_the_file() -> None:
    python = only("import timm\n\nmodel = timm.create_model('vit', pretrained=True)\n", Language.PYTHON)
    shell = only("#!/bin/bash\n#SBATCH -n 1\n\ncd x &&  wget https://example.org/a\n", Language.SHELL)

    assert (python.line, python.column) == (3, 9)
    assert (shell.line, shell.column) == (4, 10)


@pytest.mark.parametrize(
    ("text", "is_certain"),
    [
        ("wget https://example.org/a", True),
        ("cd data && wget https://example.org/a", True),
        ("set -e; git clone https://example.org/a; ls", True),
        ("[ -f a ] || wget https://example.org/a", False),
        ("test -f a && wget https://example.org/a", False),
        ("wget https://example.org/a || true", False),
        ("if [ ! -f a ]; then\n  wget https://example.org/a\nfi", False),
        ("for u in 1 2; do wget https://example.org/$u; done", False),
        ("fetch() {\n  wget https://example.org/a\n}\n", False),
        ("function fetch {\n  wget https://example.org/a\n}\n", False),
        ("fetch() { :; }\nif true; then :; fi\nwget https://example.org/a", True),
        ("wget $URL", False),
    ],
)
def test_what_is_always_reached_is_certain(text: str, is_certain: bool) -> None:
    assert only(text, Language.SHELL).is_certain is is_certain


def test_in_python_only_what_no_branch_and_no_function_holds_is_certain() -> None:
    line = "import requests\nrequests.get('https://example.org/a')"
    inside = "import requests\ndef f():\n    requests.get('https://example.org/a')"

    assert only(line, Language.PYTHON).is_certain
    assert not only(inside, Language.PYTHON).is_certain


def test_passwords_are_not_shown() -> None:
    use = only("git clone https://bob:hunter2@github.com/a/b", Language.SHELL)

    assert "hunter2" not in use.what + use.hint
    assert use.what == "git clone https://***@github.com/a/b"


def test_the_hint_can_be_pasted() -> None:
    data = only("import torchvision\ntorchvision.datasets.MNIST('/data', download=True)", Language.PYTHON)
    model = only("import sentence_transformers as s\ns.SentenceTransformer('all-MiniLM-L6-v2')", Language.PYTHON)

    assert data.hint == """python -c 'import torchvision; torchvision.datasets.MNIST("/data", download=True)'"""
    assert model.hint == "hf download sentence-transformers/all-MiniLM-L6-v2"
