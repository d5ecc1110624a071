"""Calls that need the internet, in Python: found in the tree, never in the text."""

import ast
import re
import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from windlass.core.source.network_shell import find_in_shell, find_in_words, make_shown
from windlass.core.source.python_code import Call, PythonModule, format_node
from windlass.core.source.uses import NO_VARIABLES, Use, UseKind, has_proxy, is_on

# What a name for a thing on disk mostly holds.
_NAMES_A_PATH = re.compile(r"path|dir|folder|ckpt|checkpoint|local|file|output|save|resume", re.IGNORECASE)
_BUILDERS = frozenset(
    {
        *("csv", "json", "parquet", "text", "arrow", "pandas", "sql", "xml", "webdataset", "hdf5", "generator"),
        *("imagefolder", "audiofolder", "videofolder", "pdffolder", "spark"),
    }
)
_FILE_ENDING = re.compile(r"\.(?:pt|pth|bin|ckpt|safetensors|json|gguf|h5|keras|onnx|tar|zip|model|txt|yaml)$")
_HTTP = re.compile(r"(?:https?|ftp)://([^/:\s]*)")
_NEAR = re.compile(r"localhost|127\.|0\.0\.0\.0|10\.|192\.168\.|\[|[^.]*$|\{")
_RUNNERS = frozenset(f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "Popen"))
_REQUESTS = re.compile(r"(?:requests|httpx)\.(?:get|post|put|head|patch|request|stream)")
_HF_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


@dataclass(frozen=True, kw_only=True)
class Looking:
    """One file, and what is known around it."""

    module: PythonModule
    env: Mapping[str, str] = field(default_factory=lambda: NO_VARIABLES)
    folders: Collection[str] = ()  # and modules of the project: what has such a name is not fetched
    arguments: Mapping[str, str] = field(default_factory=lambda: NO_VARIABLES)  # options of the command that runs it

    def text_of(self, node: ast.expr | None) -> str | None:
        """As far as it can be told: a literal, a name with one value, an option of the command or its default."""
        found = self.module.find_beginning(node)
        if found is not None or node is None:
            return found
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None
        return self.arguments.get(name) if name else None

    def is_false(self, node: ast.expr | None) -> bool:
        return node is not None and self.module.find_constant(node) in (False, 0)

    def is_true(self, node: ast.expr | None) -> bool:
        return self.module.find_constant(node) is True

    def is_local(self, node: ast.expr | None) -> bool:
        """A path, or something that by its name is one."""
        text = self.text_of(node)
        if text is None:
            return node is None or bool(_NAMES_A_PATH.search(format_node(node)[:200]))
        beginning = text.split("/")[0]
        return (
            text.startswith(("/", ".", "~", "$", "\\"))
            or text.count("/") > 1
            or bool(_FILE_ENDING.search(text))
            or text in self.folders
            or beginning in self.folders
        )


_Judge = Callable[[Looking, Call], Use | None]


def find_in_python(looking: Looking) -> tuple[Use, ...]:
    if has_proxy({**looking.env, **looking.module.variables}):
        return ()
    found: list[Use] = []
    for call in looking.module.calls:
        if call.name in _RUNNERS or call.name in {"os.system", "os.popen"}:
            found += _look_into_command(looking, call)
        else:
            uses = (judge(looking, call) for judge in _JUDGES)
            found += [use for use in uses if use is not None][:1]
    return tuple(found)


def _make(call: Call, kind: UseKind, hint: str, *, what: str | None = None) -> Use:
    name = ".".join(part for part in call.name.split(".") if part.strip("*?"))
    short = ".".join(name.lstrip(".").split(".")[-1 if "*" in call.name else -2 :])
    return Use(
        line=call.line,
        column=call.column,
        what=make_shown(what or f"{short}({_shorten(call)})"),
        kind=kind,
        hint=make_shown(hint, longest=300),
        is_certain=call.place.is_certain and kind is UseKind.FETCH,
    )


def _python(line: str) -> str:
    """A line to paste into a shell."""
    if '"' not in line:
        line = line.replace("'", '"')
    return f"python -c {shlex.quote(line)}"


def _shorten(call: Call) -> str:
    if not call.node.args:
        return "…" if call.node.keywords else ""
    first = call.node.args[0]
    shown = format_node(first) if isinstance(first, ast.Constant | ast.Name | ast.Attribute) else "…"
    return shown if len(call.node.args) + len(call.node.keywords) == 1 else f"{shown}, …"


def _judge_hub(looking: Looking, call: Call) -> Use | None:
    """Hugging Face: models, tokenizers, data sets, single files."""
    last = call.name.rpartition(".")[2]
    env = {**looking.env, **looking.module.variables}
    if is_on(env, "HF_HUB_OFFLINE") or looking.is_true(call.keyword("local_files_only")):
        return None
    if last == "from_pretrained" and (call.name.startswith(".") or call.name.partition(".")[0] in looking.folders):
        return None  # the project's own: what it does is looked at where it stands
    if last == "from_pretrained" or call.name.endswith("sentence_transformers.SentenceTransformer"):
        node = call.argument(0, "pretrained_model_name_or_path", "model_name_or_path", "model_name", "model_id")
        is_off = is_on(env, *_HF_OFFLINE)
    elif call.name == "transformers.pipeline":
        node = call.argument(1, "model")
        is_off = is_on(env, *_HF_OFFLINE)
        if node is not None and not isinstance(node, ast.Constant):
            return None  # mostly a model that was loaded before
    elif call.name.endswith((".snapshot_download", ".hf_hub_download")):
        node, is_off = call.argument(0, "repo_id"), False
    else:
        return None
    if is_off or (node is not None and looking.is_local(node)) or (node is None and last == "from_pretrained"):
        return None
    named = looking.text_of(node)
    return _make(call, UseKind.CACHED, f"hf download {named or 'NAME'}")


def _judge_data(looking: Looking, call: Call) -> Use | None:
    """Hugging Face's data sets."""
    if not re.search(r"(?:^|\W)datasets\.(?:load_dataset|load_dataset_builder|\*\.load_dataset)$", call.name):
        return None
    env = {**looking.env, **looking.module.variables}
    node = call.argument(0, "path")
    name = looking.text_of(node)
    if is_on(env, "HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE") or looking.is_local(node):
        return None
    if name in _BUILDERS:
        files = call.keyword("data_files")
        address = looking.module.find_beginning(files)
        return _make(call, UseKind.CACHED, f"wget {address}") if address and _goes_out(address) else None
    hint = f"hf download --repo-type dataset {name or 'NAME'}"
    return _make(call, UseKind.CACHED, hint)


def _judge_download_flag(looking: Looking, call: Call) -> Use | None:
    """torchvision, torchaudio and all that follow them: download=True."""
    if not looking.is_true(call.keyword("download")):
        return None
    name = call.name.rpartition(".")[2]
    root = looking.text_of(call.argument(0, "root"))
    if call.name.startswith("torchvision.datasets."):
        hint = _python(f"import torchvision; torchvision.datasets.{name}({root or 'FOLDER'!r}, download=True)")
    else:
        hint = "run the script there once, and give the job the same folder"
    return _make(call, UseKind.CACHED, hint, what=f"{name}(…, download=True)")


def _judge_weights(looking: Looking, call: Call) -> Use | None:
    """Models that come with weights: torchvision, timm, fastai, keras."""
    name, last = call.name, call.name.rpartition(".")[2]
    pretrained = call.keyword("pretrained")
    env = {**looking.env, **looking.module.variables}
    if name.startswith("torchvision.models.") and last[:1].islower():
        weights = call.keyword("weights")
        wanted = looking.is_true(pretrained) or _names_weights(weights) or _first_is_true(looking, call)
        hint = _python(f"import torchvision; torchvision.models.{last}(weights='DEFAULT')")
    elif name.endswith("timm.create_model") or name == "timm.models.create_model":
        wanted = looking.is_true(pretrained) and not is_on(env, "HF_HUB_OFFLINE")
        wanted = wanted and call.keyword("checkpoint_path", "pretrained_cfg_overlay") is None
        model = looking.text_of(call.argument(0, "model_name")) or "NAME"
        hint = _python(f"import timm; timm.create_model({model!r}, pretrained=True)")
    elif last in {"vision_learner", "cnn_learner", "unet_learner"} and "fastai" in name:
        wanted = not looking.is_false(pretrained)
        hint = "run the script there once until the weights are in ~/.cache/torch/hub/checkpoints"
    elif re.search(r"keras\.applications\.(?:\w+\.)?[A-Z]\w+$", name):
        weights = call.keyword("weights")
        wanted = weights is None or looking.module.find_constant(weights) == "imagenet"
        hint = _python(f"import keras; keras.applications.{last}()")
    else:
        return None
    return _make(call, UseKind.CACHED, hint) if wanted else None


def _names_weights(node: ast.expr | None) -> bool:
    """`weights="DEFAULT"`, `weights=ResNet50_Weights.DEFAULT`; not None, nor a name that may be either."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and bool(node.value)
    return isinstance(node, ast.Attribute) and "Weights" in format_node(node)


def _first_is_true(looking: Looking, call: Call) -> bool:
    return bool(call.node.args) and looking.is_true(call.node.args[0])


def _judge_torch_hub(looking: Looking, call: Call) -> Use | None:
    if call.name == "torch.hub.load":
        if looking.text_of(call.keyword("source")) == "local" or looking.is_local(call.argument(0, "repo_or_dir")):
            return None
        repository = looking.text_of(call.argument(0, "repo_or_dir")) or "REPOSITORY"
        return _make(call, UseKind.CACHED, _python(f"import torch; torch.hub.load({repository!r}, …)"))
    if call.name.endswith((".load_state_dict_from_url", "model_zoo.load_url", "torch.hub.download_url_to_file")):
        address = looking.text_of(call.argument(0, "url"))
        return _make(call, UseKind.CACHED, f"wget -P ~/.cache/torch/hub/checkpoints {address or 'ADDRESS'}")
    return None


# name or ending -> what to run once; all of them keep what they fetched
_FETCHERS: dict[str, str] = {
    "nltk.download": "python -m nltk.downloader NAME",
    "gdown.download": "gdown ADDRESS",
    "gdown.download_folder": "gdown --folder ADDRESS",
    "wget.download": "wget ADDRESS",
    "kagglehub.dataset_download": "python -c 'import kagglehub; kagglehub.dataset_download(…)'",
    "kagglehub.model_download": "python -c 'import kagglehub; kagglehub.model_download(…)'",
    "openml.datasets.get_dataset": "python -c 'import openml; openml.datasets.get_dataset(…)'",
    "seaborn.load_dataset": "python -c 'import seaborn; seaborn.load_dataset(…)'",
    "tensorflow_hub.load": "run the script there once, with TFHUB_CACHE_DIR in a folder that jobs see",
    "spacy.cli.download": "python -m spacy download NAME",
    "open_clip.create_model_and_transforms": "run the script there once, with HF_HOME in a folder that jobs see",
    "clip.load": "python -c 'import clip; clip.load(…)'",
    "whisper.load_model": "python -c 'import whisper; whisper.load_model(…)'",
}


def _judge_fetchers(looking: Looking, call: Call) -> Use | None:
    name, last = call.name, call.name.rpartition(".")[2]
    if name in _FETCHERS:
        if name in {"clip.load", "whisper.load_model", "tensorflow_hub.load"} and looking.is_local(call.argument(0)):
            return None
        if name.startswith("open_clip") and call.argument(1, "pretrained") is None:
            return None
        return _make(call, UseKind.CACHED, _FETCHERS[name])
    if last == "untar_data" and (name == last or "fastai" in name):
        return _make(
            call, UseKind.CACHED, f"python -c 'from fastai.vision.all import *; {format_node(call.node)[:120]}'"
        )
    if name == "tensorflow_datasets.load" and not looking.is_false(call.keyword("download")):
        data = looking.text_of(call.argument(0, "name")) or "NAME"
        return _make(call, UseKind.CACHED, _python(f"import tensorflow_datasets as d; d.load({data!r})"))
    if re.search(r"keras\.datasets\.\w+\.load_data$", name):
        return _make(call, UseKind.CACHED, _python(f"import keras; {'.'.join(name.split('.')[-4:])}()"))
    if name.endswith("keras.utils.get_file"):
        return _make(call, UseKind.CACHED, "run the script there once")
    if name.startswith("sklearn.datasets.fetch_") and not looking.is_false(call.keyword("download_if_missing")):
        return _make(call, UseKind.CACHED, _python(f"from sklearn import datasets; datasets.{last}()"))
    return None


def _judge_address(looking: Looking, call: Call) -> Use | None:
    """Something is asked of an http address."""
    position = 1 if call.name.endswith((".request", ".stream")) else 0
    is_reader = re.fullmatch(r"pandas\.read_\w+", call.name) is not None
    if not (_REQUESTS.fullmatch(call.name) or is_reader or call.name.startswith("urllib.request.url")):
        return None
    node = call.argument(position, "url", "filepath_or_buffer")
    address = looking.module.find_beginning(node)
    if not address or not _goes_out(address):
        return None
    whole = looking.module.find_constant(node)
    return _make(call, UseKind.FETCH, f"wget {whole if isinstance(whole, str) else address + '…'}")


def _judge_tracker(looking: Looking, call: Call) -> Use | None:
    name = call.name
    env = {**looking.env, **looking.module.variables}
    mode = looking.text_of(call.keyword("mode"))
    is_wandb = name in {"wandb.init", "wandb.login", "wandb.agent"} or name.endswith(".WandbLogger")
    reports = name.endswith("TrainingArguments") and "wandb" in format_node(call.keyword("report_to"))
    if is_wandb or reports:
        is_off = mode in {"offline", "disabled"} or looking.is_true(call.keyword("offline"))
        if is_off or env.get("WANDB_MODE") in {"offline", "disabled", "dryrun"} or is_on(env, "WANDB_DISABLED"):
            return None
        return _make(call, UseKind.TRACKER, '[run.env]\nWANDB_MODE = "offline"')
    if name in {"comet_ml.Experiment", "comet_ml.start", "comet_ml.ExistingExperiment"}:
        if looking.is_false(call.keyword("online")) or looking.is_true(call.keyword("disabled")):
            return None
        return _make(call, UseKind.TRACKER, "comet_ml.OfflineExperiment() in its place, and `comet upload` afterwards")
    if name in {"neptune.init_run", "neptune.init"}:
        if mode in {"offline", "debug"} or env.get("NEPTUNE_MODE") in {"offline", "debug"}:
            return None
        return _make(call, UseKind.TRACKER, '[run.env]\nNEPTUNE_MODE = "offline"')
    if name == "clearml.Task.init":
        is_off = any(one.name == "clearml.Task.set_offline" for one in looking.module.calls)
        if is_off or is_on(env, "CLEARML_OFFLINE_MODE"):
            return None
        return _make(call, UseKind.TRACKER, '[run.env]\nCLEARML_OFFLINE_MODE = "1"')
    if name == "mlflow.set_tracking_uri":
        address = looking.text_of(call.argument(0, "uri"))
        if address and (_goes_out(address) or address.startswith("databricks")):
            return _make(call, UseKind.TRACKER, '[run.env]\nMLFLOW_TRACKING_URI = "file:mlruns"')
    return None


_JUDGES: tuple[_Judge, ...] = (
    _judge_hub,
    _judge_data,
    _judge_download_flag,
    _judge_weights,
    _judge_torch_hub,
    _judge_fetchers,
    _judge_address,
    _judge_tracker,
)


def _look_into_command(looking: Looking, call: Call) -> list[Use]:
    """What a process is started with: a list of words, or a line for the shell."""
    node = call.argument(0, "args", "command", "cmd")
    env = {**looking.env, **looking.module.variables}
    if isinstance(node, ast.List | ast.Tuple):
        words = [_word(looking, one) for one in node.elts]
        found = find_in_words(words, env, line=call.line, column=call.column)
    else:
        line = looking.module.find_beginning(node)
        found = find_in_shell(line, env) if line else ()
    return [
        Use(
            line=call.line,
            column=call.column,
            what=use.what,
            kind=use.kind,
            hint=use.hint,
            is_certain=use.is_certain and call.place.is_certain,
        )
        for use in found
    ]


def _word(looking: Looking, node: ast.expr) -> str:
    if format_node(node) == "sys.executable":
        return "python"
    text = looking.module.find_beginning(node)
    return "$VALUE" if text is None else text


def _goes_out(address: str) -> bool:
    match = _HTTP.match(address)
    return bool(match and match[1] and not _NEAR.match(match[1]))
