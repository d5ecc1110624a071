"""Experiment trackers that want their server."""

import ast

from windlass.core.source.looking import Looking, goes_out, make_use
from windlass.core.source.python_module import Call, format_node
from windlass.core.source.uses import WANDB_OFFLINE, Use, UseKind, is_on, is_wandb_off


def judge_tracker(looking: Looking, call: Call) -> Use | None:
    name = call.name
    env = looking.variables
    mode = looking.text_of(call.keyword("mode"))
    is_wandb = name in {"wandb.init", "wandb.login", "wandb.agent"} or name.endswith(".WandbLogger")
    if is_wandb or _reports_to_wandb(looking, call):
        is_off = mode in {"offline", "disabled"} or looking.is_true(call.keyword("offline"))
        if is_off or is_wandb_off(env) or is_on(env, "WANDB_DISABLED"):
            return None
        reporter = "Accelerate" if call.name.endswith(".init_trackers") else "the Trainer"
        what = None if is_wandb else f"{reporter}'s report to wandb"
        return make_use(call, UseKind.TRACKER, WANDB_OFFLINE, what=what)
    if name in {"comet_ml.Experiment", "comet_ml.start", "comet_ml.ExistingExperiment"}:
        is_off = looking.is_false(call.keyword("online")) or looking.is_true(call.keyword("disabled"))
        if is_off or (name == "comet_ml.start" and env.get("COMET_START_ONLINE", "").lower() in {"0", "false"}):
            return None
        return make_use(
            call, UseKind.TRACKER, "comet_ml.OfflineExperiment() in its place, and `comet upload` afterwards"
        )
    if name in {"neptune.init_run", "neptune.init"}:
        if mode in {"offline", "debug"} or env.get("NEPTUNE_MODE") in {"offline", "debug"}:
            return None
        return make_use(call, UseKind.TRACKER, '[run.env]\nNEPTUNE_MODE = "offline"')
    if name == "clearml.Task.init":
        is_off = any(one.name == "clearml.Task.set_offline" for one in looking.module.calls)
        if is_off or is_on(env, "CLEARML_OFFLINE_MODE"):
            return None
        return make_use(call, UseKind.TRACKER, '[run.env]\nCLEARML_OFFLINE_MODE = "1"')
    if name == "mlflow.set_tracking_uri":
        address = looking.text_of(call.argument(0, "uri"))
        if address and (goes_out(address) or address.startswith("databricks")):
            return make_use(call, UseKind.TRACKER, '[run.env]\nMLFLOW_TRACKING_URI = "file:mlruns"')
    return None


def _reports_to_wandb(looking: Looking, call: Call) -> bool:
    """Hugging Face's Trainer and Accelerate, by what they are told, by the command, or because nothing was said."""
    if call.name.endswith("TrainingArguments"):
        node = call.keyword("report_to")
        if node is None:
            return looking.reports_to_wandb and all(one.arg for one in call.node.keywords)
        return _names_wandb(looking, node)
    if call.name.endswith("HfArgumentParser") and "TrainingArguments" in format_node(call.node):
        given = looking.arguments.get("report_to")
        return looking.reports_to_wandb if given is None else given in {"wandb", "all"}
    if call.name.endswith(".init_trackers"):
        made = (one for one in looking.module.calls if one.name.rpartition(".")[2] == "Accelerator")
        return any(_names_wandb(looking, node) for one in made if (node := one.keyword("log_with")) is not None)
    return False


def _names_wandb(looking: Looking, node: ast.expr) -> bool:
    """`"wandb"`, `["wandb", "tensorboard"]`, `args.report_to` where the command or its default says so."""
    text = looking.text_of(node)
    if text is None:
        return isinstance(node, ast.List | ast.Tuple) and "wandb" in format_node(node)
    return text == "wandb" or (text == "all" and looking.reports_to_wandb)
