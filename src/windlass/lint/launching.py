"""How processes are started on what was asked for."""

import re
from collections.abc import Iterator

from windlass.core.finding import Severity
from windlass.core.sbatch.values import read_digits
from windlass.core.source.shell_commands import ShellCommand, find_exports
from windlass.core.source.starters import TORCHRUN
from windlass.lint.mark import Edit, Mark
from windlass.lint.subject import TASK_STARTERS, Subject

_NPROC = re.compile(r"--?nproc[-_]per[-_]node[= ]+(\d+)")
_PORT = re.compile(r"(?:--(?:master|main_process)[-_]port[= ]+|--rdzv[-_]endpoint[= ]+\S+:)(\d{4,5})\b")
_USED = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_OWN_TASKS = re.compile(r"(?:^|\s)(?:-n\s?\d|--ntasks|--ntasks-per-node)")
_OWN_CORES = re.compile(r"-c\d*$|--cpus-per-task|-c=|--cpu[-_]bind=\S*(?:mask_|map_|\$)")
_LOCAL = ("localhost", "127.0.0.1", "0.0.0.0", "::1")
_SPREADS = re.compile(
    r"DataParallel|--?gpus|devices|strategy|ddp|fsdp|deepspeed|multi[-_]?gpu|world[-_]size", re.IGNORECASE
)


def other_nodes_stay_idle(subject: Subject) -> Iterator[Mark]:
    """A batch script runs on the first node only. Without srun or mpirun nothing happens on the others."""
    if subject.nodes < 2 or not subject.trainings or subject.starts_elsewhere:
        return
    # torchrun starts on the node where it is called, so it needs srun for the others too
    if any(TASK_STARTERS & set(one) for _, one in subject.trainings):
        return
    if re.search(r"--hostfile|--host\b|-H\s", subject.body):
        return
    command, _ = subject.trainings[0]
    message = f"{subject.nodes} nodes, and nothing starts on the others"
    yield subject.at_command(command, Severity.ERROR, message, hint="srun python train.py")


def other_tasks_stay_idle(subject: Subject) -> Iterator[Mark]:
    """--ntasks makes room for processes and starts none: python alone is one process.

    Unless it starts threads or workers of its own, the rest is paid for nothing.
    """
    if subject.tasks < 2 or not subject.trainings or subject.starts_elsewhere or subject.nodes > 1:
        return
    if any(starters for _, starters in subject.trainings) or subject.calls("srun", "mpirun", "mpiexec"):
        return
    command, _ = subject.trainings[0]
    message = f"{subject.tasks} tasks are asked for, and one process is started"
    hint = "srun python …, or --ntasks=1 with --cpus-per-task"
    # One program may use all the cores by threads of its own; with a GPU for each task more processes were meant.
    is_meant = subject.has("gpus-per-task", "ntasks-per-gpu") or subject.gpus_per_node == subject.tasks
    yield subject.at_command(command, Severity.WARNING if is_meant else Severity.ADVICE, message, hint=hint)


def processes_and_gpus_differ(subject: Subject) -> Iterator[Mark]:
    """torchrun starts another number of processes than the node has GPUs: some fail, or GPUs stay idle."""
    for command, _ in subject.trainings:
        match = _NPROC.search(" ".join(subject.flat(command)))
        if match and subject.gpus_per_node and read_digits(match[1]) != subject.gpus_per_node:
            asked = "1 GPU is" if subject.gpus_per_node == 1 else f"{subject.gpus_per_node} GPUs are"
            message = f"{match[1]} process{'' if match[1] == '1' else 'es'} a node, and {asked} asked for"
            yield subject.at_command(command, Severity.ERROR, message, hint=f"--nproc_per_node={subject.gpus_per_node}")


def one_process_for_several_gpus(subject: Subject) -> Iterator[Mark]:
    """Several GPUs and one process: unless the program spreads itself, all but one GPU stay idle."""
    if subject.gpus_per_node < 2 or subject.tasks > 1 or not subject.trainings or subject.starts_elsewhere:
        return
    # Several may be one for each GPU, unless they are branches of which one is taken.
    if len(subject.trainings) > 1 and any(one.is_certain for one, _ in subject.trainings):
        return
    said = [" ".join(subject.flat(one)) for one, _ in subject.trainings]
    command, _ = subject.trainings[0]
    if not any(starters for _, starters in subject.trainings) and not any(_SPREADS.search(one) for one in said):
        message = f"{subject.gpus_per_node} GPUs, and one process"
        hint = f"torchrun --standalone --nproc_per_node={subject.gpus_per_node} train.py"
        yield subject.at_command(command, Severity.WARNING, message, hint=hint)


def tasks_and_gpus_differ(subject: Subject) -> Iterator[Mark]:
    """srun starts one process a task; data-parallel trainings want one for each GPU."""
    gpus, tasks = subject.gpus_per_node, subject.tasks_per_node
    if gpus < 2 or tasks == gpus or subject.has("ntasks-per-gpu", "gpus-per-task"):
        return
    for command, starters in subject.trainings:
        if starters == ("srun",) and not _OWN_TASKS.search(" ".join(command.words)):
            message = f"srun starts {tasks} process{'es' if tasks > 1 else ''} a node, and {gpus} GPUs are asked for"
            yield subject.at_command(command, Severity.WARNING, message, hint=f"#SBATCH --ntasks-per-node={gpus}")
            return


def port_is_fixed(subject: Subject) -> Iterator[Mark]:
    """Two jobs on one node cannot both have this port: the second dies with Address already in use."""
    if subject.is_whole:
        return
    if subject.exports.get("MASTER_PORT", "").isdecimal():
        command = next(one for one in subject.commands if "MASTER_PORT" in " ".join((*one.words, *one.assignments)))
        yield _mark_port(subject, command, subject.exports["MASTER_PORT"])
    yield from _find_port_variables(subject)
    for command, _ in subject.trainings:
        if match := _PORT.search(" ".join(subject.flat(command))):
            yield _mark_port(subject, command, match[1])


def meeting_point_is_local(subject: Subject) -> Iterator[Mark]:
    """Processes of several nodes meet at MASTER_ADDR: with localhost each node waits for itself."""
    address = subject.exports.get("MASTER_ADDR", "")
    if subject.nodes > 1 and (address in _LOCAL or re.fullmatch(r"\d+\.\d+\.\d+\.\d+", address)):
        command = next(one for one in subject.commands if "MASTER_ADDR" in " ".join((*one.words, *one.assignments)))
        hint = 'export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
        message = f"MASTER_ADDR is {address} for {subject.nodes} nodes"
        yield subject.at_command(command, Severity.WARNING, message, hint=hint)


def srun_forgets_the_cores(subject: Subject) -> Iterator[Mark]:
    """Since Slurm 22.05 srun no longer takes over --cpus-per-task: each task may get a single core."""
    cores = subject.number("cpus-per-task")
    if cores < 2 or "SRUN_CPUS_PER_TASK" in subject.script.text:
        return
    for command in subject.commands:
        words = subject.flat(command)
        if not words or subject.base(words[0]) != "srun" or not _runs_something(words):
            continue
        # Who binds by hand has said which cores each task gets.
        if not any(_OWN_CORES.match(word) for word in words):
            line = subject.script.body
            export = "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK"
            start = subject.offset(line)
            yield Mark(
                severity=Severity.WARNING,
                message=f"srun may give each task one core, not {cores}",
                line=command.line,
                column=command.column,
                length=4,
                hint=export,
                fix=(Edit(start=start, end=start, text=f"{export}\n"),),
            )
            return


def horovod_with_workers(subject: Subject) -> Iterator[Mark]:
    """Horovod over MPI and PyTorch's data-loader workers do not go together: workers are forked, MPI breaks."""
    if "horovod" not in subject.body or "--gloo" in subject.body:
        return
    for command, _ in subject.trainings:
        if re.search(r"workers[= ]+[1-9]", " ".join(subject.flat(command))):
            message = "data-loader workers under Horovod over MPI"
            yield subject.at_command(command, Severity.ADVICE, message, hint="horovodrun --gloo, or torch.distributed")


def several_launchers_a_node(subject: Subject) -> Iterator[Mark]:
    """srun starts torchrun once for each task, and torchrun starts a process for each GPU: with two tasks a node there
    are twice as many processes as GPUs. One task a node is enough for torchrun.
    """
    tasks = subject.tasks_per_node
    if tasks < 2:
        return
    for command, starters in subject.trainings:
        words = " ".join(subject.flat(command))
        own = _OWN_TASKS.search(" ".join(subject.flat(command)[: _find_launcher(subject, command)]))
        match = _NPROC.search(words)
        if starters[:1] == ("srun",) and "torchrun" in starters and not own and not (match and match[1] == "1"):
            message = f"srun starts {tasks} launchers a node"
            hint = "#SBATCH --ntasks-per-node=1, or: srun --ntasks-per-node=1 torchrun …"
            yield subject.at_command(command, Severity.WARNING, message, hint=hint)
            return


def _find_launcher(subject: Subject, command: ShellCommand) -> int:
    words = subject.flat(command)
    return next((at for at, word in enumerate(words) if subject.base(word) in TORCHRUN), len(words))


def _find_port_variables(subject: Subject) -> Iterator[Mark]:
    """A variable of any name that a training gets its port from."""
    words = " ".join(word for command, _ in subject.trainings for word in subject.flat(command))
    used = {match[1] or match[2] for match in _USED.finditer(words)}
    for command in subject.commands:
        given = find_exports((command,))
        for name, value in given.items():
            is_port = name.endswith("PORT") and name != "MASTER_PORT" and re.fullmatch(r"\d{4,5}", value)
            if is_port and name in used:
                yield _mark_port(subject, command, value, name=name)


def _runs_something(words: list[str]) -> bool:
    return any(not word.startswith("-") for word in words[1:])


def _mark_port(subject: Subject, command: ShellCommand, port: str, *, name: str = "MASTER_PORT") -> Mark:
    hint = f"export {name}=$((10000 + SLURM_JOB_ID % 20000))"
    return subject.at_command(command, Severity.WARNING, f"port {port} is the same for every job", hint=hint)
