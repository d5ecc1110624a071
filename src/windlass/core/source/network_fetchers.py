"""Functions of libraries that fetch something once and keep it."""

import re

from windlass.core.source.looking import Looking, in_python, make_use
from windlass.core.source.python_module import Call, format_node
from windlass.core.source.uses import Use, UseKind, is_on

# name -> what to run once; all of them keep what they fetched
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
    "detectron2.model_zoo.get_checkpoint_url": "run the script there once: the weights stay in ~/.torch/iopath_cache",
    "detectron2.model_zoo.get": "run the script there once: the weights stay in ~/.torch/iopath_cache",
}
# What is local when its first argument is a path.
_TAKE_A_PATH = frozenset({"clip.load", "whisper.load_model", "tensorflow_hub.load"})
# Metrics of torchmetrics that bring a network along, and the package that it comes from.
_METRICS = frozenset(
    {
        *(
            "FrechetInceptionDistance",
            "KernelInceptionDistance",
            "InceptionScore",
            "MemorizationInformedFrechetInceptionDistance",
        ),
        *("LearnedPerceptualImagePatchSimilarity", "PerceptualPathLength"),
    }
)


def judge_fetchers(looking: Looking, call: Call) -> Use | None:
    name = call.name
    if name in _FETCHERS:
        if name in _TAKE_A_PATH and looking.is_local(call.argument(0)):
            return None
        if name == "detectron2.model_zoo.get" and not looking.is_true(call.keyword("trained")):
            return None
        if name.startswith("open_clip") and call.argument(1, "pretrained") is None:
            return None
        return make_use(call, UseKind.CACHED, _FETCHERS[name])
    named = _judge_names(looking, call)
    return named if named is not None else _judge_patterns(looking, call)


def _judge_names(looking: Looking, call: Call) -> Use | None:
    """Those whose first argument says what is fetched."""
    name, last = call.name, call.name.rpartition(".")[2]
    first = call.argument(0, "path", "model", "encoding_name", "model_name", "net")
    text = looking.text_of(first)
    if name == "evaluate.load":
        is_off = looking.is_local(first) or is_on(looking.variables, "HF_HUB_OFFLINE", "HF_EVALUATE_OFFLINE")
        hint = in_python(f"import evaluate; evaluate.load({text or 'NAME'!r})")
    elif name in {"tiktoken.get_encoding", "tiktoken.encoding_for_model"}:
        is_off = bool(looking.variables.get("TIKTOKEN_CACHE_DIR"))
        hint = "TIKTOKEN_CACHE_DIR=FOLDER " + in_python(f"import tiktoken; tiktoken.{last}({text or 'NAME'!r})")
        hint += "   # and the same TIKTOKEN_CACHE_DIR in the job"
    elif name.startswith("ultralytics.") and last in {"YOLO", "RTDETR", "SAM", "FastSAM", "YOLOWorld", "YOLOE"}:
        is_off = text is None or "/" in text or not text.endswith(".pt") or text in looking.folders
        hint = in_python(f"from ultralytics import {last}; {last}({text!r})") + "   # in the folder of the code"
    elif name == "lpips.LPIPS":
        is_off = looking.is_false(call.keyword("pretrained")) or looking.is_true(call.keyword("pnet_rand"))
        hint = in_python(f"import lpips; lpips.LPIPS(net={text or 'alex'!r})")
    elif name.startswith("torchmetrics.") and last in _METRICS:
        is_off = call.keyword("feature_extractor_weights_path") is not None
        hint = in_python(f"import {name.rpartition('.')[0]} as m; m.{last}()")
    else:
        return None
    return None if is_off else make_use(call, UseKind.CACHED, hint)


def _judge_patterns(looking: Looking, call: Call) -> Use | None:
    name, last = call.name, call.name.rpartition(".")[2]
    if last == "untar_data" and (name == last or "fastai" in name):
        return make_use(
            call, UseKind.CACHED, f"python -c 'from fastai.vision.all import *; {format_node(call.node)[:120]}'"
        )
    if name == "tensorflow_datasets.load" and not looking.is_false(call.keyword("download")):
        data = looking.text_of(call.argument(0, "name")) or "NAME"
        return make_use(call, UseKind.CACHED, in_python(f"import tensorflow_datasets as d; d.load({data!r})"))
    if re.search(r"keras\.datasets\.\w+\.load_data$", name):
        return make_use(call, UseKind.CACHED, in_python(f"import keras; {'.'.join(name.split('.')[-4:])}()"))
    if name.endswith("keras.utils.get_file"):
        return make_use(call, UseKind.CACHED, "run the script there once")
    if name.startswith("sklearn.datasets.fetch_") and not looking.is_false(call.keyword("download_if_missing")):
        return make_use(call, UseKind.CACHED, in_python(f"from sklearn import datasets; datasets.{last}()"))
    return None
