"""Copies of one command on one node that share its GPU through NVIDIA's Multi-Process Service.

Without it the processes of a GPU take turns; with it their kernels run at the same time.
"""

import argparse
import os
import shutil
import signal
import subprocess
import tempfile
from typing import Dict, List, Mapping

from windlass_job import slurm, wire
from windlass_job.bounded import describe, say
from windlass_job.command import ALERT_S, Command, as_exit_code
from windlass_job.signals import Signals, read_signal

CONTROL = "nvidia-cuda-mps-control"
ANSWER_S = 20.0


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stop-signal", default="TERM", help="what each copy gets when it is told to stop")
    parser.add_argument("--replicas", type=int, required=True, help="on this node")
    parser.add_argument("--gpus", type=int, default=1, help="of this node")
    parser.add_argument("command", nargs=argparse.REMAINDER)


def run(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    stop = read_signal(options.stop_signal)
    signals = Signals(notice=stop, cancel={signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
    scratch = tempfile.mkdtemp(prefix="windlass-mps-", dir=env.get("SLURM_TMPDIR") or env.get("TMPDIR") or "/tmp")
    service = Service(env, scratch)
    try:
        shared = service.start() if options.gpus else {}
        copies = [Command(options.command, made) for made in make_environments(options, env, shared)]
        return _follow(copies, signals, stop)
    except (OSError, ValueError) as error:
        say("cannot start {}: {}".format(options.command[0], describe(error)))
        return wire.EXIT_NOT_STARTED
    finally:
        service.stop()
        shutil.rmtree(scratch, ignore_errors=True)


def make_environments(
    options: argparse.Namespace, env: Mapping[str, str], shared: Mapping[str, str]
) -> List[Dict[str, str]]:
    """One for each copy: its number among all of the job, its GPU, and what part of it it may use."""
    node = slurm.read_number(env, "SLURM_NODEID", 0)
    nodes = slurm.read_number(env, "SLURM_STEP_NUM_NODES", slurm.read_number(env, "SLURM_JOB_NUM_NODES", 1))
    made = []
    for number in range(options.replicas):
        one = dict(env)
        one[wire.ENV_REPLICA] = str(node * options.replicas + number)
        one[wire.ENV_REPLICAS] = str(nodes * options.replicas)
        if shared:
            one.update(shared)
            together = -(-options.replicas // options.gpus)  # on one GPU, at most
            one.setdefault("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", str(max(1, 100 // together)))
        if shared or options.gpus > 1:
            one["CUDA_VISIBLE_DEVICES"] = _choose_gpu(number % options.gpus, env, is_shared=bool(shared))
        made.append(one)
    return made


def _choose_gpu(number: int, env: Mapping[str, str], *, is_shared: bool) -> str:
    """The service counts its GPUs from 0, whatever the job's own are called."""
    visible = env.get("CUDA_VISIBLE_DEVICES", "").split(",")
    return str(number) if is_shared or number >= len(visible) or not visible[number] else visible[number]


class Service:
    """The daemon of this job alone: its pipes and logs are in a folder of its own."""

    def __init__(self, env: Mapping[str, str], scratch: str) -> None:
        self._variables = {
            "CUDA_MPS_PIPE_DIRECTORY": os.path.join(scratch, "pipe"),
            "CUDA_MPS_LOG_DIRECTORY": os.path.join(scratch, "log"),
        }
        self._env = dict(env, **self._variables)
        self._is_up = False

    def start(self) -> Dict[str, str]:
        """The variables by which a process uses it; none where it cannot be had."""
        for folder in self._variables.values():
            os.mkdir(folder, 0o700)
        problem = self._call("-d")
        if problem:
            say("the copies share the GPU by turns: {}".format(problem))
            return {}
        self._is_up = True
        return dict(self._variables)

    def stop(self) -> None:
        problem = self._call(said="quit\n") if self._is_up else ""
        if problem:
            say("{} was not stopped: {}".format(CONTROL, problem))

    def _call(self, *arguments: str, said: str = "") -> str:
        """What went wrong, or nothing."""
        try:
            child = subprocess.Popen(
                (CONTROL,) + arguments,
                env=self._env,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            return "{}: {}".format(CONTROL, describe(error))
        try:
            child.communicate(said.encode("ascii"), timeout=ANSWER_S)
        except subprocess.TimeoutExpired:
            child.kill()
            return "{}: no answer within {:g} s".format(CONTROL, ANSWER_S)
        return "{} ended with {}".format(CONTROL, child.returncode) if child.returncode else ""


def _follow(copies: List[Command], signals: Signals, stop: int) -> int:
    """Until all have ended; one that fails leaves the others alone. The first code that is not 0."""
    codes: Dict[int, int] = {}
    while len(codes) < len(copies):
        for number, copy in enumerate(copies):
            code = copy.poll()
            if number in codes or code is None:
                continue
            codes[number] = 0 if copy.is_asked_to_stop and code == -stop else as_exit_code(code)
            if codes[number]:
                say("copy {} ended with {}; the others go on".format(number, codes[number]))
        if signals.is_noticed or signals.is_cancelled:
            for copy in copies:
                copy.ask_to_stop(stop)
        if len(codes) < len(copies):
            signals.wait(ALERT_S if copies[0].is_asked_to_stop else 60.0)
    return next((codes[number] for number in sorted(codes) if codes[number]), 0)
