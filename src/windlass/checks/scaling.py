"""What several processes change for the training itself: the batch, the learning rate, and who reads which data."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from windlass.checks.processes import PLAIN
from windlass.core.case import Case
from windlass.core.finding import Finding, Severity
from windlass.core.source.guards import UNKNOWN
from windlass.core.source.python_module import Call, format_node
from windlass.core.source.reach import Reached, ReachedPython, look_at_code

_DDP = re.compile(r"torch\.nn\.parallel(?:\.distributed)?\.DistributedDataParallel")
_LOADER = re.compile(r"torch\.utils\.data(?:\.dataloader)?\.DataLoader")
_SAMPLER = re.compile(r"torch\.utils\.data(?:\.distributed)?\.DistributedSampler")
_ARGUMENTS = re.compile(r"(?:transformers|trl)(?:\.\w+)*\.(?:Seq2Seq)?(?:TrainingArguments|SFTConfig|DPOConfig)")
# With these each process has a batch of its own, and the gradients are averaged.
_AVERAGES = re.compile(
    rf"{_DDP.pattern}|horovod\.\w+\.DistributedOptimizer|(?:lightning|pytorch_lightning)(?:\.\w+)*\.(?:Trainer|Fabric)"
    r"|accelerate(?:\.\w+)*\.Accelerator|torch\.distributed\.fsdp(?:\.\w+)*\.(?:fully_shard|FullyShardedDataParallel)"
)
_OPTIMIZER = re.compile(r"torch\.optim\.(?:(?!lr_scheduler)\w+\.)?[A-Z]\w+")
_PER_DEVICE, _ADDED_UP = "per_device_train_batch_size", "gradient_accumulation_steps"
_ROOT_RULE = frozenset({"Adam", "AdamW", "NAdam", "RAdam", "Adamax", "RMSprop", "Adagrad"})
_COUNT = re.compile(
    r"world_?size|\bworld\b|hvd\.size|Get_size|num_replicas|num_shards|num_processes|n_?gpus?\b|ngpus|num_gpus"
    r"|num_devices|device_count|\bn_?ranks\b|num_nodes|nproc|SLURM_NTASKS",
    re.IGNORECASE,
)
_SCALES_BY_NAME = re.compile(r"scale_lr|lr_scal|linear_scal|auto_lr|split_batches|dispatch_batches", re.IGNORECASE)
# Where the number of processes is only found, told or handed to PyTorch.
_ONLY_TOLD = re.compile(
    r"init_process_group|\bspawn\(|print\(|\blog(?:ger|ging)?\.|^\s*(?:self\.)?\w+\s*=\s*"
    r"(?:int\()?(?:os\.|dist\.|torch\.distributed\.|torch\.cuda\.)[\w.\[\]\"'(), ]*$"
)
_READS_BY_ITSELF = frozenset({"shard", "split_by_node", "IterableDataset", "DistributedSampler"})
# These may share the data out by themselves, or bring others that do.
_SHARE_OUT = frozenset(
    {
        *("transformers", "datasets", "accelerate", "lightning", "pytorch_lightning", "deepspeed", "horovod", "trl"),
        *("diffusers", "peft", "timm", "hydra", "kornia"),
    }
)
# These call set_epoch by themselves.
_SETS_EPOCH = frozenset(
    {"lightning", "pytorch_lightning", "accelerate", "transformers", "fastai", "composer", "ignite"}
)


@dataclass(frozen=True, kw_only=True)
class _Batch:
    """Of one process."""

    size: int
    where: str
    optimizer: str
    rate: float | None  # None: not seen


def batch_grows_with_the_processes(case: Case) -> Iterator[Finding]:
    """Each process has a batch of its own, so more processes are a larger batch, and fewer steps in an epoch.

    A learning rate that was good for one process is then too small. For SGD it grows with the batch (Goyal and others
    2017), for Adam and its kin with the root of it, after some epochs of warm-up; or each process gets a smaller batch.
    """
    processes, reached = case.plan.processes, look_at_code(case)
    if processes < 2 or not _is_readable(reached) or _scales_already(case, reached):
        return
    found = _find_in_command(reached) or _find_arguments(reached) or _find_loader(reached)
    if found is None:
        return
    size = found.size
    yield Finding(
        code="C530",
        severity=Severity.ADVICE,
        message=f"a batch of {size} a process on {processes} processes is a global batch of {size * processes}",
        hint=_advise_rate(found, processes),
        where=found.where,
    )


def everybody_reads_everything(case: Case) -> Iterator[Finding]:
    """Without DistributedSampler each process goes through all of the data: more GPUs, and no epoch is shorter."""
    reached = look_at_code(case)
    modules = {path.removesuffix(".py").split("/")[-1] for path in case.code.by_path} | (PLAIN - _SHARE_OUT)
    folders = {part for path in case.code.by_path for part in path.split("/")[:-1]}
    if case.plan.processes < 2 or not _is_readable(reached) or case.code.passed_over:
        return
    if reached.modules - modules - folders:
        return  # something else may share the data out
    if not any(_DDP.fullmatch(call.name) for _, call in reached.calls()) or _may_share_out(case, reached):
        return
    loaders = [(file, call) for file, call in reached.calls() if _LOADER.fullmatch(call.name)]
    if any(call.keyword("sampler", "batch_sampler") or _has_more(call) for _, call in loaders):
        return
    for file, call in loaders:
        if reached.find_value(call.argument(2, "shuffle"), file) is True:
            yield Finding(
                code="C531",
                severity=Severity.WARNING,
                message=f"DataLoader without DistributedSampler: each of the {case.plan.processes} processes "
                "goes through all of the data",
                hint="DataLoader(data, sampler=torch.utils.data.DistributedSampler(data), …) without shuffle",
                where=file.where(call.line),
            )
            return


def order_is_the_same_in_every_epoch(case: Case) -> Iterator[Finding]:
    """DistributedSampler shuffles by a seed and the epoch; without set_epoch all epochs have the first one's order."""
    reached = look_at_code(case)
    words = {word for file in reached.python for word in file.module.words | file.module.bound}
    has_epochs = any("epoch" in word.lower() for word in words)
    if case.plan.processes < 2 or "set_epoch" in words or not has_epochs or not _is_readable(reached):
        return
    if reached.modules & _SETS_EPOCH:
        return
    for file, call in reached.calls():
        shuffles = call.argument(3, "shuffle")
        is_shuffled = shuffles is None or reached.find_value(shuffles, file) is True
        if _SAMPLER.fullmatch(call.name) and is_shuffled and not _has_more(call):
            yield Finding(
                code="C532",
                severity=Severity.ADVICE,
                message="DistributedSampler without set_epoch: the data comes in the same order in every epoch",
                hint="sampler.set_epoch(epoch) where an epoch begins",
                where=file.where(call.line),
            )
            return


def _is_readable(reached: Reached) -> bool:
    return bool(reached.python) and not any(file.module.problem for file in reached.python)


def _lines(case: Case, reached: Reached) -> Iterator[str]:
    for file in reached.python:
        source = case.code.by_path.get(file.path)
        yield from source.text.splitlines() if source else ()


def _scales_already(case: Case, reached: Reached) -> bool:
    """A line reckons with the number of processes, or an option says that something does."""
    for line in _lines(case, reached):
        code = line.partition("#")[0]
        if _SCALES_BY_NAME.search(code) or (_COUNT.search(code) and re.search(r"[*/]", code)):
            return True
    return any(_SCALES_BY_NAME.search(name) for name in reached.words.flags)


def _may_share_out(case: Case, reached: Reached) -> bool:
    words = {word for file in reached.python for word in file.module.words}
    if words & _READS_BY_ITSELF:
        return True
    lines = (line.partition("#")[0] for line in _lines(case, reached))
    return any(_COUNT.search(line) and not _ONLY_TOLD.search(line) for line in lines)


def _find_in_command(reached: Reached) -> _Batch | None:
    """`--per_device_train_batch_size 8`, where the options of the Trainer are those of the command."""
    given = reached.words.given
    if not any(call.name.endswith("HfArgumentParser") for _, call in reached.calls()):
        return None
    size, steps = (_read_number(given.get(name, "1")) for name in (_PER_DEVICE, _ADDED_UP))
    if _PER_DEVICE not in given or not size or not steps:
        return None
    rate = _read_number(given.get("learning_rate", ""))
    return _Batch(size=int(size * steps), where="run.command", optimizer="AdamW", rate=rate)


def _find_arguments(reached: Reached) -> _Batch | None:
    """Of the Trainer of transformers: steps that are added up count too."""
    for file, call in reached.calls():
        if not _ARGUMENTS.fullmatch(call.name) or _has_more(call):
            continue
        size = _find_number(reached, file, call.keyword(_PER_DEVICE))
        added = call.keyword(_ADDED_UP)
        steps = 1.0 if added is None else _find_number(reached, file, added)
        if size and steps:
            rate = _find_number(reached, file, call.keyword("learning_rate"))
            return _Batch(size=int(size * steps), where=file.where(call.line), optimizer="AdamW", rate=rate)
    return None


def _find_loader(reached: Reached) -> _Batch | None:
    """The first that is for training: it shuffles, or has a sampler."""
    words = {word for file in reached.python for word in file.module.words}
    if not any(_AVERAGES.fullmatch(call.name) for _, call in reached.calls()) or any("accum" in one for one in words):
        return None
    for file, call in reached.calls():
        if not _LOADER.fullmatch(call.name) or _has_more(call) or not _is_for_training(reached, file, call):
            continue
        size = _find_number(reached, file, call.argument(1, "batch_size"))
        if not size or size < 1:
            return None
        optimizer, rate = _find_rate(reached)
        return _Batch(size=int(size), where=file.where(call.line), optimizer=optimizer, rate=rate)
    return None


def _is_for_training(reached: Reached, file: ReachedPython, call: Call) -> bool:
    sampler = call.keyword("sampler")
    if call.keyword("batch_sampler") or re.search(r"sequential|val|test", format_node(sampler), re.IGNORECASE):
        return False
    return sampler is not None or reached.find_value(call.argument(2, "shuffle"), file) is True


def _advise_rate(batch: _Batch, processes: int) -> str:
    times = processes**0.5 if batch.optimizer in _ROOT_RULE else processes
    grown = f"a learning rate {times:.2g} times as high"
    if batch.rate:
        grown = f"learning rate {batch.rate:g} -> {float(f'{batch.rate * times:.2g}'):g}"
    advice = f"{grown} after a warm-up of a few epochs"
    if batch.size % processes:
        return advice
    return f"{advice}; or a batch of {batch.size // processes} a process, which keeps {batch.size}"


def _find_rate(reached: Reached) -> tuple[str, float | None]:
    """The optimizer's name and its learning rate, where there is one optimizer and its rate is a number."""
    made = [(file, call) for file, call in reached.calls() if _OPTIMIZER.fullmatch(call.name)]
    if len(made) != 1:
        return "", None
    ((file, call),) = made
    return call.name.rpartition(".")[2], _find_number(reached, file, call.argument(1, "lr"))


def _find_number(reached: Reached, file: ReachedPython, node: ast.expr | None) -> float | None:
    value = reached.find_value(node, file)
    if value is UNKNOWN and isinstance(node, ast.Name | ast.Attribute):
        name = node.id if isinstance(node, ast.Name) else node.attr
        is_changed = any(name in one.module.stored for one in reached.python)
        return None if is_changed else _read_number(reached.words.given.get(name, ""))
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _read_number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d{0,6}\.?\d{1,9}(?:e-?\d{1,2})?", text) else None


def _has_more(call: Call) -> bool:
    """`**options`"""
    return any(one.arg is None for one in call.node.keywords)
