"""Calls that need the internet, in Python: found in the tree, never in the text."""

import ast
import re
from collections.abc import Callable

from windlass.core.source.looking import Looking, goes_out, in_python, make_use
from windlass.core.source.network_fetchers import judge_fetchers
from windlass.core.source.network_shell import find_in_shell, find_in_words
from windlass.core.source.network_trackers import judge_tracker
from windlass.core.source.python_module import Call, format_node
from windlass.core.source.uses import Use, UseKind, has_proxy, is_on

_BUILDERS = frozenset(
    {
        *("csv", "json", "parquet", "text", "arrow", "pandas", "sql", "xml", "webdataset", "hdf5", "generator"),
        *("imagefolder", "audiofolder", "videofolder", "pdffolder", "spark"),
    }
)
_RUNNERS = frozenset(f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "Popen"))
_REQUESTS = re.compile(r"(?:requests|httpx)\.(?:get|post|put|head|patch|request|stream)")
_HF_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


_Judge = Callable[[Looking, Call], Use | None]


def find_in_python(looking: Looking) -> tuple[Use, ...]:
    if has_proxy(looking.variables):
        return ()
    found: list[Use] = []
    for call in looking.module.calls:
        if call.name in _RUNNERS or call.name in {"os.system", "os.popen"}:
            found += _look_into_command(looking, call)
        else:
            uses = (judge(looking, call) for judge in _JUDGES)
            found += [use for use in uses if use is not None][:1]
    return tuple(found)


# Others with a `from_pretrained` keep theirs elsewhere.
_HUB_LIBRARIES = frozenset({"transformers", "diffusers", "huggingface_hub"})


def _judge_hub(looking: Looking, call: Call) -> Use | None:
    """Hugging Face: models, tokenizers, data sets, single files."""
    last = call.name.rpartition(".")[2]
    env = looking.variables
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
    named = looking.text_of(node) or "NAME"
    if last == "SentenceTransformer" and "/" not in named:
        named = f"sentence-transformers/{named}"  # where that library looks first
    kept_as = None
    if named != "NAME" and call.name.partition(".")[0] in _HUB_LIBRARIES:
        kept_as = f"hub/models--{named.replace('/', '--')}"
    return make_use(call, UseKind.CACHED, f"hf download {named}", cache="huggingface", kept_as=kept_as)


def _judge_data(looking: Looking, call: Call) -> Use | None:
    """Hugging Face's data sets."""
    if not re.search(r"(?:^|\W)datasets\.(?:load_dataset|load_dataset_builder|\*\.load_dataset)$", call.name):
        return None
    env = looking.variables
    node = call.argument(0, "path")
    name = looking.text_of(node)
    if is_on(env, "HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE") or looking.is_local(node):
        return None
    if name in _BUILDERS:
        files = call.keyword("data_files")
        address = looking.module.find_beginning(files)
        return make_use(call, UseKind.CACHED, f"wget {address}") if address and goes_out(address) else None
    hint = f"hf download --repo-type dataset {name or 'NAME'}"
    return make_use(call, UseKind.CACHED, hint, cache="huggingface")


def _judge_download_flag(looking: Looking, call: Call) -> Use | None:
    """torchvision, torchaudio and all that follow them: download=True."""
    if not looking.is_true(call.keyword("download")):
        return None
    name = call.name.rpartition(".")[2]
    root = looking.text_of(call.argument(0, "root"))
    is_shared = root is not None and root.startswith(("/", "~", "$"))
    if call.name.startswith("torchvision.datasets."):
        folder = root if is_shared else "FOLDER"
        hint = in_python(f"import torchvision; torchvision.datasets.{name}({folder!r}, download=True)")
    else:
        hint = "run the script there once, and give the job the same folder"
    what = f"{name}(…, download=True)"
    return make_use(call, UseKind.CACHED, hint, what=what, folder=None if is_shared else root)


def _judge_weights(looking: Looking, call: Call) -> Use | None:
    """Models that come with weights: torchvision, timm, fastai, keras."""
    name, last = call.name, call.name.rpartition(".")[2]
    pretrained = call.keyword("pretrained")
    env = looking.variables
    cache = "torch"
    if name.startswith("torchvision.models.") and (last[:1].islower() or last == "?"):
        weights = call.keyword("weights")
        wanted = looking.is_true(pretrained) or _names_weights(looking, weights) or _first_is_true(looking, call)
        model = (_find_chosen(looking, call) or "NAME") if last in {"?", "get_model"} else last
        hint = in_python(f"import torchvision; torchvision.models.{model}(weights='DEFAULT')")
    elif name.endswith("timm.create_model") or name == "timm.models.create_model":
        wanted = looking.is_true(pretrained) and not is_on(env, "HF_HUB_OFFLINE")
        wanted = wanted and looking.is_empty(call.keyword("checkpoint_path"))
        wanted = wanted and call.keyword("pretrained_cfg_overlay") is None
        model = looking.text_of(call.argument(0, "model_name")) or "NAME"
        hint = in_python(f"import timm; timm.create_model({model!r}, pretrained=True)")
        cache = "huggingface"
    elif last in {"vision_learner", "cnn_learner", "unet_learner"} and "fastai" in name:
        wanted = not looking.is_false(pretrained)
        hint = "run the script there once until the weights are in ~/.cache/torch/hub/checkpoints"
    elif re.search(r"keras\.applications\.(?:\w+\.)?[A-Z]\w+$", name):
        weights = call.keyword("weights")
        wanted = weights is None or looking.module.find_constant(weights) == "imagenet"
        hint = in_python(f"import keras; keras.applications.{last}()")
        cache = "keras"
    else:
        return None
    return make_use(call, UseKind.CACHED, hint, cache=cache) if wanted else None


def _names_weights(looking: Looking, node: ast.expr | None) -> bool:
    """`weights="DEFAULT"`, `weights=ResNet50_Weights.DEFAULT`, or a name that was given one of them once."""
    if isinstance(node, ast.Name):
        node = looking.module.assigned.get(node.id, node)
    if isinstance(node, ast.Attribute) and "Weights" in format_node(node):
        return True
    return bool(looking.text_of(node))


def _find_chosen(looking: Looking, call: Call) -> str | None:
    """The name in models.__dict__[name](), getattr(models, name)(), models.get_model(name)."""
    match call.node.func:
        case ast.Subscript(slice=node) | ast.Call(args=[_, node, *_]):
            return looking.text_of(node)
    return looking.text_of(call.argument(0, "name"))


def _first_is_true(looking: Looking, call: Call) -> bool:
    return bool(call.node.args) and looking.is_true(call.node.args[0])


def _judge_torch_hub(looking: Looking, call: Call) -> Use | None:
    if call.name == "torch.hub.load":
        if looking.text_of(call.keyword("source")) == "local" or looking.is_local(call.argument(0, "repo_or_dir")):
            return None
        repository = looking.text_of(call.argument(0, "repo_or_dir")) or "REPOSITORY"
        return make_use(
            call, UseKind.CACHED, in_python(f"import torch; torch.hub.load({repository!r}, …)"), cache="torch"
        )
    if call.name.endswith((".load_state_dict_from_url", "model_zoo.load_url", "torch.hub.download_url_to_file")):
        address = looking.text_of(call.argument(0, "url"))
        hint = f"wget -P ~/.cache/torch/hub/checkpoints {address or 'ADDRESS'}"
        return make_use(call, UseKind.CACHED, hint, cache="torch")
    return None


def _judge_address(looking: Looking, call: Call) -> Use | None:
    """Something is asked of an http address."""
    position = 1 if call.name.endswith((".request", ".stream")) else 0
    is_reader = re.fullmatch(r"pandas\.read_\w+", call.name) is not None
    if not (_REQUESTS.fullmatch(call.name) or is_reader or call.name.startswith("urllib.request.url")):
        return None
    node = call.argument(position, "url", "filepath_or_buffer")
    address = looking.module.find_beginning(node)
    if not address or not goes_out(address):
        return None
    whole = looking.module.find_constant(node)
    return make_use(call, UseKind.FETCH, f"wget {whole if isinstance(whole, str) else address + '…'}")


_JUDGES: tuple[_Judge, ...] = (
    _judge_hub,
    _judge_data,
    _judge_download_flag,
    _judge_weights,
    _judge_torch_hub,
    judge_fetchers,
    _judge_address,
    judge_tracker,
)


def _look_into_command(looking: Looking, call: Call) -> list[Use]:
    """What a process is started with: a list of words, or a line for the shell."""
    node = call.argument(0, "args", "command", "cmd")
    env = looking.variables
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
