"""What in the project's own code would fail, hang or waste in a job."""

import ast
import re
from collections.abc import Iterator

from windlass.core.case import Case
from windlass.core.finding import Finding, Severity
from windlass.core.placing.queues import make_queues
from windlass.core.placing.sizing import find_most_cpus
from windlass.core.source.python_module import Call, format_node
from windlass.core.source.reach import Reached, ReachedPython, look_at_code
from windlass.core.source.software import find_node_types

_SHOWS = {
    "matplotlib.pyplot.show": "plt.show()",
    "pylab.show": "pylab.show()",
    "cv2.imshow": "cv2.imshow()",
    "cv2.waitKey": "cv2.waitKey()",
    "webbrowser.open": "webbrowser.open()",
    "tkinter.Tk": "tkinter.Tk()",
}
_ASKS = {"pdb.set_trace", "ipdb.set_trace", "breakpoint", "code.interact"}
_RENAMES = (
    "os.replace",
    "os.rename",
    "shutil.move",
    "shutil.copy",
    "shutil.copyfile",
    "shutil.copy2",
    ".rename",
    ".replace",
)
_LOCAL = re.compile(r"sqlite(?:\+\w+)?:///(?:/tmp|/dev/shm|/local|\$\{?SLURM_TMPDIR|\$\{?TMPDIR|:memory:|$)")


def code_opens_a_window(case: Case) -> Iterator[Finding]:
    """Compute nodes have no screen, and nobody sits at them: windows, debuggers and questions fail or wait for ever."""
    reached = look_at_code(case)
    has_backend = (case.spec.env.get("MPLBACKEND") or reached.variables.get("MPLBACKEND") or "").lower() == "agg"
    for file, call in reached.calls():
        is_plot = call.name in {"matplotlib.pyplot.show", "pylab.show"}
        if is_plot and (has_backend or _uses_agg(reached)):
            continue
        shown = _SHOWS.get(call.name) or (f"{call.name}()" if _asks_somebody(file, call) else None)
        if shown:
            yield Finding(
                code="C505",
                # A figure that is not shown is lost, and the training goes on.
                severity=Severity.ADVICE if is_plot else Severity.WARNING,
                message=f"{shown}: jobs have no screen and no keyboard",
                hint='plt.savefig("figure.png") in its place' if is_plot else "take it out, or guard it by an option",
                where=file.where(call.line),
            )
            return


def more_workers_than_cores(case: Case) -> Iterator[Finding]:
    """More workers of the data loader than the process has cores: they get in each other's and the training's way."""
    reached = look_at_code(case)
    plan = case.plan
    processes = plan.processes_per_node
    cores = max(1, plan.tasks_per_node * plan.cpus_per_task // max(1, processes))
    for file, call in reached.calls():
        given = _find_workers(reached, file, call)
        if given is not None and given > cores:
            yield Finding(
                code="C506",
                severity=Severity.WARNING,
                message=f"{given} workers of the data loader; a process of this run "
                f"has {cores} core{'s' if cores > 1 else ''}",
                hint=_advise_workers(case, given * max(1, processes // plan.tasks_per_node)),
                where=file.where(call.line),
            )
            return


def workers_count_the_node(case: Case) -> Iterator[Finding]:
    """os.cpu_count() counts the cores of the node; the job has only those that it asked for, and they are shared."""
    plan = case.plan
    cores = plan.tasks_per_node * plan.cpus_per_task
    nodes = [one.cores * one.threads_per_core for one in find_node_types(case) if one.cores]
    if plan.exclusive or (nodes and max(nodes) <= cores):
        return
    reached = look_at_code(case)
    for file, call in reached.calls():
        node = call.keyword("num_workers", "dataloader_num_workers")
        if isinstance(node, ast.Name):
            node = file.module.assigned.get(node.id, node)
        elif isinstance(node, ast.Attribute):
            node = reached.options.defaults.get(node.attr, node)
        shown = format_node(node)
        if re.search(r"\bcpu_count\(", shown) and not re.search(r"\bmin\(|affinity|SLURM", shown):
            yield Finding(
                code="C521",
                severity=Severity.ADVICE,
                message=f"num_workers = {shown[:80]} counts the cores of the node"
                f"{f' ({max(nodes)})' if nodes else ''}; the job has {cores}",
                hint="num_workers = len(os.sched_getaffinity(0))",
                where=file.where(call.line),
            )
            return


def device_is_not_there(case: Case) -> Iterator[Finding]:
    """The code names a GPU by a number that the job does not have: CUDA error: invalid device ordinal.

    Slurm counts the GPUs of a job from 0, whichever they are on the node.
    """
    count = case.plan.gpus_per_node
    reached = look_at_code(case)
    for file, call in reached.calls() if count else ():
        number = _find_device(reached, file, call)
        if number is not None and number >= count:
            yield Finding(
                code="C522",
                severity=Severity.WARNING,
                message=f"the code uses cuda:{number}; the job has {count} GPU{'s' if count > 1 else ''} on a node, "
                f"cuda:0{f' to cuda:{count - 1}' if count > 1 else ''}",
                hint=f'"cuda", or [resources] gpus_per_node = {number + 1}',
                where=file.where(call.line),
            )
            return


def devices_are_set_by_hand(case: Case) -> Iterator[Finding]:
    """Slurm says with CUDA_VISIBLE_DEVICES which GPUs are yours. Set by hand it names GPUs the job does not have."""
    count = case.plan.gpus_per_node
    if not count:
        return
    right = ",".join(str(one) for one in range(count))
    for where, value in _find_settings(case, "CUDA_VISIBLE_DEVICES"):
        if "$" not in value and value.replace(" ", "") != right:
            yield Finding(
                code="C511",
                severity=Severity.WARNING,
                message=f'CUDA_VISIBLE_DEVICES = "{value}"; the job has {count} GPU'
                f"{'s' if count > 1 else ''} on a node, and Slurm sets it",
                hint="take the line out",
                where=where,
            )
            return


def port_is_fixed(case: Case) -> Iterator[Finding]:
    """A port that is always the same is taken when two jobs share a node: Address already in use."""
    if case.plan.tasks * max(1, case.plan.gpus_per_node) < 2:
        return
    for where, value in _find_settings(case, "MASTER_PORT"):
        if value.isdigit() and value != "0":
            yield Finding(
                code="C510",
                severity=Severity.WARNING,
                message=f"MASTER_PORT = {value} may be taken by another job on the node",
                hint="leave it out: Windlass sets MASTER_PORT for each job",
                where=where,
            )
            return


def study_is_in_sqlite(case: Case) -> Iterator[Finding]:
    """SQLite locks badly on shared storage: database is locked, or database disk image is malformed."""
    reached = look_at_code(case)
    if "optuna" not in reached.modules:
        return
    for file, text in reached.texts():
        if text.value.startswith("sqlite:") and not _LOCAL.match(text.value):
            yield Finding(
                code="C516",
                severity=Severity.WARNING if case.plan.tasks > 1 else Severity.ADVICE,
                message=f"the study is kept in {text.value[:80]!r}, on shared storage",
                hint='optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend("study.log"))',
                where=file.where(text.line),
            )
            return


def checkpoint_is_overwritten(case: Case) -> Iterator[Finding]:
    """The one checkpoint is written in place: a job that ends meanwhile leaves half a file, and nothing to go on from.

    Write beside it and rename: a rename is done or not done.
    """
    reached = look_at_code(case)
    if case.plan.links < 2 or any(call.name.endswith(_RENAMES) for _, call in reached.calls()):
        return
    for file, call in reached.calls():
        path = file.module.find_constant(call.argument(1, "f")) if call.name == "torch.save" else None
        if isinstance(path, str):
            yield Finding(
                code="C517",
                severity=Severity.ADVICE,
                message=f"torch.save writes {path[:80]!r} in place, and the run is cut into {case.plan.links} jobs",
                hint=f'torch.save(state, "{path[:80]}.new"); os.replace("{path[:80]}.new", "{path[:80]}")',
                where=file.where(call.line),
            )
            return


def code_cannot_be_read(case: Case) -> Iterator[Finding]:
    """A file that the command runs is not valid Python 3: it would stop at once with a SyntaxError."""
    for file in look_at_code(case).python:
        if file.module.problem:
            line, why = file.module.problem
            yield Finding(
                code="C518",
                severity=Severity.WARNING,
                message=f"{file.path} is no Python 3 as far as can be told: {why} in line {line}",
                hint=f"python3 -m py_compile {file.path}",
                where=file.where(line),
            )
            return


def script_is_not_sent(case: Case) -> Iterator[Finding]:
    """The command runs a script that is not among the files that are sent: git ignores it, or its name is misspelt."""
    for script in look_at_code(case).missing:
        base = script.rpartition("/")[2]
        near = sorted(path for path in case.code.paths or () if path.rpartition("/")[2] == base)
        yield Finding(
            code="C519",
            severity=Severity.WARNING,
            message=f"the command runs {script}, which is not among the {len(case.code.paths or ())} files sent",
            hint=f"did you mean {near[0]}?" if near else f'include = ["{script}"] under [run] sends a file git ignores',
        )
        return


def _uses_agg(reached: Reached) -> bool:
    return any(
        call.name in {"matplotlib.use", "matplotlib.pyplot.switch_backend"}
        and str(file.module.find_constant(call.argument(0, "backend", "newbackend"))).lower() == "agg"
        for file, call in reached.calls()
    )


def _asks_somebody(file: ReachedPython, call: Call) -> bool:
    if call.name in _ASKS:
        return call.name not in file.module.bound
    # `input` is also what half of all trainings call their tensors.
    is_question = len(call.node.args) < 2 and not call.node.keywords
    texts = all(isinstance(one, ast.Constant | ast.JoinedStr) for one in call.node.args)
    return call.name in {"input", "raw_input"} and call.name not in file.module.bound and is_question and texts


def _find_workers(reached: Reached, file: ReachedPython, call: Call) -> int | None:
    if call.name.endswith(("DataLoader", ".create_loader")):
        node = call.keyword("num_workers")
    elif call.name.endswith("TrainingArguments"):
        node = call.keyword("dataloader_num_workers")
    else:
        return None
    value = file.module.find_constant(node)
    if isinstance(node, ast.Attribute) and any(node.attr in one.module.stored for one in reached.python):
        return None  # the code divides it among its processes, mostly
    if value is None and isinstance(node, ast.Attribute | ast.Name):
        text = reached.arguments.get(node.attr if isinstance(node, ast.Attribute) else node.id, "")
        value = int(text) if re.fullmatch(r"\d{1,6}", text) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _advise_workers(case: Case, wanted: int) -> str:
    """More cores for a task only where a node, and the share of its GPUs, has them."""
    plan = case.plan
    queues = [one for one in make_queues(case.site, case.facts) if plan.partition in (None, one.name)]
    kinds = [one for one in queues if plan.gpu_spelled in (None, one.gpu) and one.gpus >= plan.gpus_per_node]
    most = find_most_cpus(kinds, 0 if plan.exclusive else plan.gpus_per_node)
    room = wanted if most is None else most // plan.tasks_per_node
    in_code = "num_workers = len(os.sched_getaffinity(0))"
    if room >= wanted:
        return f"[resources] cpus = {wanted}, or in the code {in_code}"
    if room > plan.cpus_per_task:
        return f"in the code {in_code}; {room} cores are the most here: [resources] cpus = {room}"
    return f"in the code {in_code}; a process gets no more cores here"


def _find_device(reached: Reached, file: ReachedPython, call: Call) -> int | None:
    """torch.device("cuda:3"), x.to("cuda:3"), x.cuda(3), f(device="cuda:3"), torch.cuda.set_device(3)"""
    last = call.name.rpartition(".")[2]
    node = call.keyword("device", "map_location")
    if node is None and (call.name in {"torch.device", "torch.cuda.set_device"} or last in {"to", "cuda"}):
        node = call.argument(0)
    value = reached.find_value(node, file)
    if isinstance(value, int) and not isinstance(value, bool):
        return value if call.name == "torch.cuda.set_device" or last == "cuda" else None
    match = re.fullmatch(r"cuda:(\d{1,3})", value) if isinstance(value, str) else None
    return int(match[1]) if match else None


def _find_settings(case: Case, name: str) -> Iterator[tuple[str, str]]:
    """Where a variable of the environment is set, and to what; not where it is only a default."""
    if name in case.spec.env:
        yield f"run.env.{name}", case.spec.env[name]
    reached = look_at_code(case)
    for script in reached.shell:
        for command in script.commands:
            words = command.words[1:] if command.words[:1] in (("export",), ("env",)) else ()
            given = {**dict(word.split("=", 1) for word in words if "=" in word), **command.assignments}
            if name in given:
                yield script.where(command.line), given[name]
            if name == "MASTER_PORT":
                yield from ((script.where(command.line), value) for value in _find_port_options(command.words))
    for file in reached.python:
        for setting in file.module.settings:
            value = file.module.find_constant(setting.value)
            if setting.name != name or setting.is_default or not reached.is_live(setting.place, file):
                continue
            if isinstance(value, str | int):
                yield file.where(setting.value.lineno), str(value)


def _find_port_options(words: tuple[str, ...]) -> Iterator[str]:
    for at, word in enumerate(words):
        option, equals, value = word.partition("=")
        if option in {"--master_port", "--master-port", "--main_process_port"}:
            yield value if equals else "".join(words[at + 1 : at + 2])
