"""Samples of this node while the job runs: memory, load, CPU time and GPUs, a line each in gauges/NODE.jsonl."""

import argparse
import os
import signal
import threading
import time
from typing import Any, Dict, Mapping

from windlass_job import cgroups, slurm, wire
from windlass_job.agent import gpus
from windlass_job.bounded import describe, say
from windlass_job.events import append_line, format_line
from windlass_job.signals import Signals


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--interval", type=float, default=15.0, help="seconds")


def run(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    """Until told to stop: for `srun --overlap --ntasks-per-node=1` beside the command."""
    signals = Signals(notice=signal.SIGTERM, cancel=(signal.SIGINT, signal.SIGHUP, signal.SIGUSR1))
    folder = env.get(wire.ENV_RUN_DIR)
    if not folder:
        say("{} is not set: nothing is sampled".format(wire.ENV_RUN_DIR))
        return 0
    start_sampling(folder, slurm.load_node(env), options.interval)
    while not signals.is_noticed and not signals.is_cancelled:
        signals.wait(60.0)
    return 0


def start_sampling(folder: str, node: str, interval_s: float) -> None:
    path = os.path.join(folder, wire.GAUGES, node + ".jsonl")
    threading.Thread(target=_sample_for_ever, args=(path, interval_s), daemon=True).start()


def _sample_for_ever(path: str, interval_s: float) -> None:
    try:
        os.mkdir(os.path.dirname(path))
    except OSError:
        pass  # it is there, or the first sample will say why it is not
    reader = gpus.GpuReader()
    while True:
        began = time.monotonic()
        try:
            append_line(path, format_line(load_sample(reader)))
        except Exception as error:  # whatever it is: the job goes on
            say("cannot keep samples of this node in {}: {}".format(path, describe(error)))
        time.sleep(max(0.1, interval_s - (time.monotonic() - began)))


def load_sample(reader: gpus.GpuReader) -> Dict[str, Any]:
    sample: Dict[str, Any] = {"t": round(time.time(), 3), "load": round(os.getloadavg()[0], 2)}
    sample.update(cgroups.load_usage())
    found = reader.load()
    if found is not None:
        sample["gpus"] = found
    return sample
