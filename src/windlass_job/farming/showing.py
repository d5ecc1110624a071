"""What a worker does now, for whoever looks: `pilots/WORKER.json`, and the progress of the run it is."""

import json
import os
import time
from typing import List, Mapping, Tuple

from windlass_job.farming.clerk import Task
from windlass_job.farming.ledger import State, Told
from windlass_job.saving.training import Run


def put_card(path: bytes, told: Told, slots: int, running: "List[Tuple[Task, float]]") -> None:
    """Replaced without a flush: it is only news. running: tasks, and since when."""
    values = {
        "t": round(time.time(), 1),
        "done": told.done,
        "failed": told.failed,
        "stopped": told.stopped,
        "slots": slots,
        "running": [[task.number, task.attempt, round(start, 1)] for task, start in running],
        "host": os.uname()[1],
    }
    with open(path + b".new", "wb") as file:
        file.write(json.dumps(values).encode("ascii"))
    os.rename(path + b".new", path)


def describe_ended(told: Told) -> str:
    stopped = ", {} stopped".format(told.stopped) if told.stopped else ""
    return "{} done here, {} failed{}".format(told.done, told.failed - told.stopped, stopped)


def count_of(number: int, word: str) -> str:
    return "{} {}{}".format(number, word, "" if number == 1 else "s")


class Progress:
    """Of the farm, as a training tells its own: so it is in every list of runs, with its expected end."""

    def __init__(self, env: "Mapping[str, str]") -> None:
        self._run = Run(env)

    def tell(self, over: Told, total: int) -> None:
        self._run.progress(over.done + over.failed, total, "task")
        self._run.tell_failed(over.failed - over.stopped, over.stopped)

    def end(self) -> None:
        self._run.flush()


def tell_progress(env: "Mapping[str, str]", state: State) -> None:
    """For one who only looks at the ledger."""
    progress = Progress(env)
    progress.tell(Told(state.done, state.failed, state.stopped), state.total)
    progress.end()
