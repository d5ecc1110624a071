"""srun: tasks side by side inside a job; outside of one, in an allocation of its own."""

import io
import os
import shutil
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from windlass.pocket import launch, patterns, queue
from windlass.pocket.allocation import run_in_allocation
from windlass.pocket.database import open_database, writing
from windlass.pocket.environment import StepShape, TaskPlace, choose, make_task_environment
from windlass.pocket.errors import PocketError
from windlass.pocket.getopt import parse
from windlass.pocket.model import Job, State, Step
from windlass.pocket.options import SRUN, SRUN_ALLOCATION_ENV, SRUN_STEP_ENV, read_environment
from windlass.pocket.outputs import output_values
from windlass.pocket.places import Places
from windlass.pocket.processes import children_max_rss_kb, take_name
from windlass.pocket.programs.usage import show_about
from windlass.pocket.recovery import attend
from windlass.pocket.request import Options, merge
from windlass.pocket.settings import Settings, load_settings
from windlass.pocket.steps import begin_step, cpus_of, spread
from windlass.pocket.supervisor import before_exec, make_ground
from windlass.pocket.tasks import FORWARDED, Crew, TaskPlan, highest_code
from windlass.pocket.values import Gpus


def run(places: Places, words: list[str]) -> int:
    parsed = parse(SRUN, words)
    typed = dict(parsed.options)
    if show_about(SRUN, typed, "[OPTIONS(0)... [executable(0) [args(0)...]]]"):
        return 0
    if typed.get("mpi") == "list":
        sys.stdout.write("MPI plugin types are...\n\tnone\n")
        return 0
    take_name("srun")  # whoever asks a command to stop must know it: SIGTERM to it kills its tasks soon
    if not parsed.operands:
        raise PocketError("fatal: No command given to execute.")
    job_id = typed.get("jobid") or os.environ.get("SLURM_JOB_ID")
    if job_id is None:
        environment = read_environment(SRUN_ALLOCATION_ENV | SRUN_STEP_ENV, dict(os.environ), SRUN)
        options = merge(environment, parsed.options)
        return run_in_allocation(
            places, options, program="srun", words=launch.command("srun", *words), name=Path(parsed.operands[0]).name
        )
    options = merge(read_environment(SRUN_STEP_ENV, dict(os.environ), SRUN), _without_own(parsed.options))
    return _run_step(places, options, parsed.operands, job_id)


def _without_own(options: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """An option of memory or time concerns the step here, and pocket limits only jobs."""
    return tuple(pair for pair in options if pair[0] not in ("mem", "mem-per-cpu", "mem-per-gpu"))


def _run_step(places: Places, options: Options, words: tuple[str, ...], job_id: str) -> int:
    db = open_database(places)
    attend(db, places)
    job = queue.fetch_job(db, int(job_id)) if job_id.isdigit() else None
    if job is None or job.state is not State.RUNNING:
        raise PocketError(
            f"srun: error: Unable to confirm allocation for job {job_id}: Invalid job id specified",
            f"srun: Check SLURM_JOB_ID environment variable. Expired or invalid job {job_id}",
            bare=True,
        )
    settings = load_settings(places)
    tasks = (1,) if "pty" in options else spread(options, job, _say)
    draft = Step(
        job_id=job.id,
        restarts=job.restarts,
        step="",
        name=Path(words[0]).name,
        start_at=0.0,
        nodes=len(tasks),
        tasks=sum(tasks),
        cpus=cpus_of(options, job, tasks),
        is_shared="overlap" in options or "pty" in options,
        pid=os.getpid(),
    )
    step = begin_step(db, job, draft, _say)
    state, codes = State.FAILED, [1]
    try:
        with ExitStack() as stack:
            crew = _start(options, words, job, step, tasks, places, settings, stack)
            _listen_to_signals(crew)
            crew.wait(kills_on_bad_exit=_is_on(options, "kill-on-bad-exit"))
            codes = list(crew.codes.values())
    finally:
        current = next((one for one in queue.fetch_steps(db, job) if one.step == step.step), step)
        if current.state is State.OUT_OF_MEMORY:
            state = State.OUT_OF_MEMORY
        elif all(code == 0 for code in codes):
            state = State.COMPLETED
        elif any(code == -signal.SIGTERM for code in codes):
            state = State.CANCELLED
        code, number = max(max(codes), 0), max(-min(codes), 0)
        with writing(db):
            queue.update_step(
                db,
                step,
                state=state,
                end_at=time.time(),
                exit_code=code,
                exit_signal=number,
                max_rss_kb=children_max_rss_kb(),
            )
    return highest_code(codes)


def _start(
    options: Options,
    words: tuple[str, ...],
    job: Job,
    step: Step,
    tasks: tuple[int, ...],
    places: Places,
    settings: Settings,
    stack: ExitStack,
) -> Crew:
    per_task = options.get("gpus-per-task", Gpus)
    shape = StepShape(
        step=step.step,
        tasks_per_node=tasks,
        cpus_per_task=options.get("cpus-per-task", int),
        gpus_per_task=per_task.count if per_task else None,
    )
    ground = make_ground(places, settings, job)
    export = options.text("export") or os.environ.get("SLURM_EXPORT_ENV", "ALL")
    base = choose(export, os.environ)
    files = _Files(options, job, step, stack)
    plans = []
    for place in shape.places:
        environment = make_task_environment(job, base, ground, shape=shape, place=place)
        node = job.node_names[place.nodeid]
        plans.append(
            TaskPlan(
                number=place.procid,
                node=node,
                words=(_find(words[0], environment, node, place.procid), *words[1:]),
                environment=environment,
                folder=str(Path.cwd() / options.text("chdir")),
                input=files.input(place),
                output=files.open("output", place, node),
                error=files.open("error", place, node),
                prepare=before_exec(places, settings, job, node),
            )
        )
    crew = Crew("srun", f"StepId={job.id}.{step.step}", labels="label" in options, kill_wait_s=settings.kill_wait_s)
    crew.start(plans)
    return crew


def _find(word: str, environment: dict[str, str], node: str, number: int) -> str:
    found = shutil.which(word, path=environment.get("PATH"))
    if found is None:
        raise PocketError(
            f"slurmstepd: error: execve(): {word}: No such file or directory",
            f"srun: error: {node}: task {number}: Exited with exit code 2",
            code=2,
            bare=True,
        )
    return found


class _Files:
    """The files of --input, --output and --error; tasks that name the same one share it."""

    def __init__(self, options: Options, job: Job, step: Step, stack: ExitStack) -> None:
        self._options, self._stack = options, stack
        self._values = output_values(job) | {"s": step.step}
        self._opened: dict[str, BinaryIO] = {}

    def open(self, option: str, place: TaskPlace, node: str) -> BinaryIO | None:
        pattern = self._options.text(option)
        if pattern.isdigit():
            return None if place.procid == int(pattern) else self._open(os.devnull, "w")
        if pattern in ("", "all"):
            # Without --error the errors go where --output goes.
            return self.open("output", place, node) if option == "error" and self._options.text("output") else None
        if pattern == "none":
            return self._open(os.devnull, "w")
        values = self._values | {"N": node, "n": str(place.nodeid), "t": str(place.procid)}
        mode = "a" if self._options.text("open-mode") == "append" else "w"
        return self._open(patterns.expand(pattern, values), mode)

    def input(self, place: TaskPlace) -> BinaryIO | None:
        """srun's stdin goes to task 0 here; the others find it empty. A file is opened for each."""
        pattern = self._options.text("input", "all")
        if pattern == "none":
            return self._open(os.devnull, "r")
        if pattern == "all" or pattern.isdigit():
            wanted = int(pattern) if pattern.isdigit() else 0
            return None if place.procid == wanted else self._open(os.devnull, "r")
        return self._open_new(patterns.expand(pattern, self._values), "r")

    def _open(self, path: str, mode: str) -> BinaryIO:
        key = f"{mode} {path}"
        if key not in self._opened:
            self._opened[key] = self._open_new(path, mode)
        return self._opened[key]

    def _open_new(self, path: str, mode: str) -> BinaryIO:
        return self._stack.enter_context(io.FileIO(path, mode))


def _say(text: str) -> None:
    print(f"srun: {text}", file=sys.stderr)


def _is_on(options: Options, name: str) -> bool:
    return name in options and options.text(name, "1") != "0"


def _listen_to_signals(crew: Crew) -> None:
    for number in FORWARDED:
        signal.signal(number, lambda received, _: crew.forward(received))
    signal.signal(signal.SIGINT, lambda *_: crew.interrupt())
