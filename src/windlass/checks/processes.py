"""Whether the code uses the processes and GPUs that the plan gives it."""

import re
from collections.abc import Iterator

from windlass.core.case import Case
from windlass.core.finding import Finding, Severity
from windlass.core.source.python_module import Call
from windlass.core.source.reach import Reached, ReachedPython, ReachedShell, look_at_code
from windlass.core.source.shell_commands import ShellCommand
from windlass.core.source.starters import TORCHRUN

# With only these beside torch, what is not in the code is nowhere.
PLAIN = frozenset(
    {
        *("__future__", "abc", "argparse", "ast", "asyncio", "bisect", "builtins", "collections"),
        *("concurrent", "configparser", "contextlib", "copy", "csv", "ctypes", "dataclasses", "datetime"),
        *("decimal", "enum", "errno", "functools", "gc", "getpass", "glob", "gzip", "hashlib", "heapq"),
        *("importlib", "inspect", "io", "itertools", "json", "logging", "math", "multiprocessing", "numbers"),
        *("operator", "os", "pathlib", "pickle", "platform", "pprint", "queue", "random", "re", "secrets"),
        *("shlex", "shutil", "signal", "socket", "sqlite3", "statistics", "string", "struct", "subprocess"),
        *("sys", "tarfile", "tempfile", "textwrap", "threading", "time", "timeit", "traceback", "types"),
        *("typing", "typing_extensions", "unittest", "urllib", "uuid", "warnings", "weakref", "zipfile"),
        *("zlib", "torch", "torchvision", "torchaudio", "torchtext", "torchmetrics", "numpy", "pandas"),
        *("sklearn", "scipy", "matplotlib", "seaborn", "PIL", "cv2", "skimage", "tqdm", "yaml", "h5py"),
        *("wandb", "tensorboard", "tensorboardX", "timm", "einops", "albumentations", "omegaconf", "hydra"),
        *("click", "psutil", "joblib", "imageio", "kornia", "nltk", "tiktoken", "requests", "rich", "windlass_job"),
        # These can share the work, where something of theirs in _SPREADS is used.
        *("transformers", "datasets", "evaluate", "tokenizers", "huggingface_hub", "safetensors", "peft", "trl"),
        *("sentencepiece", "accelerate", "diffusers", "lightning", "pytorch_lightning", "deepspeed", "horovod"),
    }
)
_SPREADS = re.compile(
    r"torch\.distributed|DataParallel|DistributedDataParallel|init_process_group|fully_shard|FullyShardedDataParallel"
    r"|torch\.multiprocessing|mp\.spawn|multiprocessing|^(?:deepspeed|horovod|accelerate)\.\w"
    r"|Trainer$|TrainingArguments$|Accelerator$|Fabric$|LightningCLI$"
)
_PROGRAMS = {
    **dict.fromkeys(TORCHRUN, "torchrun"),
    "accelerate": "accelerate",
    "deepspeed": "deepspeed",
    "horovodrun": "horovodrun",
}
# And the launcher of Windlass's that takes its place.
_STARTS_A_NODE = {"torchrun": "torchrun", "accelerate": "accelerate", "deepspeed": "deepspeed", "horovodrun": "horovod"}
_LIGHTNING_TRAINER = re.compile(r"(?:lightning|pytorch_lightning)(?:\.\w+)*\.Trainer")
_ANSWERS_TERM = re.compile(r"\b(?:SIGTERMException|received_sigterm|(?:save_)?on_exception)\b")
_LAUNCHERS = frozenset(_PROGRAMS)


def one_process_for_many_gpus(case: Case) -> Iterator[Finding]:
    """The run has several GPUs, and nothing in its code shares work among them.

    One process uses one GPU; several processes without torch.distributed do the same training several times.
    """
    reached = look_at_code(case)
    entries = [file for file in reached.python if file.is_entry]
    if case.plan.gpus < 2 or not entries or "torch" not in reached.modules or case.code.passed_over:
        return
    local = {
        path.removesuffix(".py").split("/")[depth] for path in case.code.by_path for depth in range(path.count("/") + 1)
    }
    if reached.modules - PLAIN - local or any(file.module.problem for file in reached.python):
        return  # something else may do it
    names = [call.name for _, call in reached.calls()]
    if any(call.keyword("device_map") for _, call in reached.calls()) or _has_launcher(reached):
        return  # the model is cut into pieces, or processes are started that know of each other
    names += [
        f"{module}.{name}" for file in reached.python for _, module, more in file.module.imports for name in (*more, "")
    ]
    words = {word for file in reached.python for word in file.module.words}
    if any(_SPREADS.search(name) for name in names) or {"LOCAL_RANK", "RANK", "local_rank"} & words:
        return
    yield Finding(
        code="C512",
        severity=Severity.WARNING,
        message=f"the run has {case.plan.gpus} GPUs, and nothing in {entries[0].path} shares work among them",
        hint="torch.nn.parallel.DistributedDataParallel in the code, or [resources] gpus = 1",
        where=entries[0].path,
    )


def trainer_does_not_match(case: Case) -> Iterator[Finding]:
    """Lightning's Trainer names other nodes or devices than the plan has: it stops, or waits for ranks that never come.

    With srun Lightning wants as many tasks on a node as `devices`, and as many nodes as `num_nodes`.
    """
    plan = case.plan
    # One task alone leaves it to Lightning to start a process for each GPU.
    wanted = plan.gpus_per_node if plan.processes == 1 else plan.processes_per_node
    if not wanted:
        return
    reached = look_at_code(case)
    for file, call in reached.calls():
        if not _LIGHTNING_TRAINER.fullmatch(call.name):
            continue
        devices = _find_number(reached, file, call, "devices", "gpus")
        nodes = _find_number(reached, file, call, "num_nodes")
        if nodes is None and call.keyword("num_nodes") is None and all(one.arg for one in call.node.keywords):
            nodes = 1  # what Lightning takes
        wrong = []
        if devices is not None and devices > 0 and devices != wanted:
            what = "GPU" if wanted == plan.gpus_per_node else "process"
            wrong.append(f"devices={devices} where a node has {_count(wanted, what)}")
        if nodes is not None and nodes != plan.nodes:
            wrong.append(f"num_nodes={nodes} where the plan has {plan.nodes}")
        if wrong:
            yield Finding(
                code="C513",
                severity=Severity.WARNING,
                message=f"Lightning's Trainer has {' and '.join(wrong)}",
                hint=f"Trainer(devices={wanted}, num_nodes={plan.nodes})",
                where=file.where(call.line),
            )
            return


def horovod_with_workers(case: Case) -> Iterator[Finding]:
    """Workers of PyTorch's data loader are forked, which MPI does not bear: with Horovod on it they hang or crash."""
    reached = look_at_code(case)
    words = {word for script in reached.shell for command in script.commands for word in command.words}
    if "horovod" not in reached.modules or "--gloo" in words or case.plan.launcher == "horovod":
        return  # over Gloo
    for file, call in reached.calls():
        workers = file.module.find_constant(call.keyword("num_workers")) if call.name.endswith("DataLoader") else None
        if isinstance(workers, int) and workers > 0 and call.keyword("multiprocessing_context") is None:
            yield Finding(
                code="C514",
                severity=Severity.WARNING,
                message=f"DataLoader(num_workers={workers}) with Horovod: forked workers do not go with MPI",
                hint='[run] launcher = "horovod", which goes over Gloo, or multiprocessing_context="forkserver"',
                where=file.where(call.line),
            )
            return


def launcher_is_outdated(case: Case) -> Iterator[Finding]:
    """torch.distributed.launch was replaced by torchrun; newer versions of PyTorch warn of it and will drop it."""
    for script in look_at_code(case).shell:
        for command in script.commands:
            if "torch.distributed.launch" in command.words:
                yield Finding(
                    code="C515",
                    severity=Severity.ADVICE,
                    message="torch.distributed.launch is outdated",
                    hint='[run] launcher = "torchrun", command = "python train.py …"; LOCAL_RANK, not --local_rank',
                    where=script.where(command.line),
                )
                return


def launcher_is_started_by_every_task(case: Case) -> Iterator[Finding]:
    """The command starts processes for a whole node, and the plan's launcher starts the command once for each process.

    Then every GPU gets as many processes as the node has GPUs, all of which want the same port.
    """
    if case.plan.tasks_per_node < 2:
        return
    for script, command, name in _list_starters(look_at_code(case)):
        # The launcher of the same name has taken it apart and starts the script itself.
        if _STARTS_A_NODE[name] != case.plan.launcher:
            yield Finding(
                code="C523",
                severity=Severity.WARNING,
                message=f"{name} is started {case.plan.tasks_per_node} times on every node, once by each task of srun",
                hint=f'[run] launcher = "{_STARTS_A_NODE[name]}"',
                where=script.where(command.line),
            )
            return


def accelerate_runs_one_process(case: Case) -> Iterator[Finding]:
    """`accelerate launch --cpu --num_processes 4` runs one process, and says nothing.

    Without GPUs it starts several only through MPI. Under the launcher `accelerate` Windlass starts them itself.
    """
    if case.plan.launcher == "accelerate":
        return
    for script, command, name in _list_starters(look_at_code(case)):
        words = " ".join(command.words).replace("-processes", "_processes")
        several = re.search(r"--num_processes[= ](?!1\b)\d+", words)
        if name == "accelerate" and several and "--cpu" in command.words and "mpirun" not in words:
            yield Finding(
                code="C524",
                severity=Severity.WARNING,
                message="accelerate launch --cpu runs one process, whatever --num_processes says",
                hint='[run] launcher = "accelerate", command = "python train.py …"; [resources] processes_per_node',
                where=script.where(command.line),
            )
            return


def lightning_takes_the_signal(case: Case) -> Iterator[Finding]:
    """Lightning answers the signal to stop itself: at USR1 it queues the job once more, at TERM it leaves unsaved.

    The next link is Windlass's affair, and a callback of your own that saves never gets its turn. Lightning leaves
    USR2 alone.
    """
    signal = case.plan.stop_signal.removeprefix("SIG")
    hint = '[checkpoint] signal = "USR2"'
    if signal == "USR1" and case.plan.launcher == "lightning" and not _leaves_requeuing(look_at_code(case)):
        yield Finding(
            code="C525",
            severity=Severity.WARNING,
            message="at USR1 Lightning queues the job again by itself, beside Windlass's next link",
            hint=f"{hint}, or Trainer(plugins=[SLURMEnvironment(auto_requeue=False)])",
        )
    elif signal == "TERM" and case.plan.checkpoint_folder and (where := _find_save_that_lightning_skips(case)):
        yield Finding(
            code="C525",
            severity=Severity.WARNING,
            message="at TERM Lightning leaves by itself, before the code that saves has its turn",
            hint=hint,
            where=where,
        )


def _leaves_requeuing(reached: Reached) -> bool:
    return any(
        call.name.endswith("SLURMEnvironment") and call.keyword("auto_requeue", "requeue_signal") is not None
        for _, call in reached.calls()
    )


def _find_save_that_lightning_skips(case: Case) -> str | None:
    """Where the code asks whether to stop, or, of several links, saves by hand and by nothing else."""
    reached = look_at_code(case)
    names = [call.name for _, call in reached.calls()]
    # What stands in the command itself, behind `python -c`, is in no file.
    texts = (case.code.by_path[file.path].text for file in reached.python if file.path in case.code.by_path)
    answers_it = "signal.signal" in names or any(_ANSWERS_TERM.search(text) for text in texts)
    if answers_it or not any(_LIGHTNING_TRAINER.fullmatch(name) for name in names):
        return None
    by_hand = case.plan.links > 1 and not any(name.endswith("ModelCheckpoint") for name in names)
    for file, call in reached.calls():
        asks = call.name.startswith("windlass_job.") and call.name.endswith(".should_stop")
        if asks or (by_hand and call.name.endswith(".save_checkpoint")):
            return file.where(call.line)
    return None


def _list_starters(reached: Reached) -> Iterator[tuple[ReachedShell, ShellCommand, str]]:
    for script in reached.shell:
        for command in script.commands:
            found = [word.rpartition("/")[2] for word in command.words[:3]]
            if name := next((_PROGRAMS[word] for word in found if word in _PROGRAMS), None):
                yield script, command, name


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 'es' if what.endswith('s') else 's'}"


def _has_launcher(reached: Reached) -> bool:
    words = (word for script in reached.shell for command in script.commands for word in command.words)
    return any(word.rpartition("/")[2] in _LAUNCHERS for word in words)


def _find_number(reached: Reached, file: ReachedPython, call: Call, *names: str) -> int | None:
    node = call.keyword(*names)
    value = file.module.find_constant(node)
    if value is None and node is not None:
        name = getattr(node, "attr", None) or getattr(node, "id", None)
        text = reached.arguments.get(name, "") if isinstance(name, str) else ""
        value = int(text) if re.fullmatch(r"\d{1,6}", text) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
