"""Spark: a cluster of its own inside the job, a master on the first node and a worker on each node."""

import re

from windlass.core.launch import Launcher, Sight
from windlass.core.plan import Plan
from windlass.launchers.seeing import find_sign
from windlass.launchers.tasks import make_task, start_tasks
from windlass_job import wire

_BESIDE = re.compile(r"(?<!\S)(?P<folder>[\w./-]+)/(?:python[\d.]*|spark-submit)(?=\s)")


def make_argv(plan: Plan) -> tuple[str, ...]:
    ours = (plan.python, "-I", f"{plan.folder}/{wire.JOB_ZIP}")
    node = (
        *(*ours, wire.SPARK, "--stop-signal", plan.stop_signal, "--cores", str(plan.cpus_per_task)),
        *(("--memory-mb", str(plan.memory_mb)) if plan.memory_mb else ()),
        *_name_folder(plan.command),
        "--",
        *make_task(plan, plan.command),
    )
    # The word that all processes of this Spark share; in no file, and on no command line.
    return (*ours, wire.SECRET, wire.ENV_SPARK_SECRET, "--", *start_tasks(plan, node))


def _name_folder(command: str) -> tuple[str, ...]:
    """Where the command's own Python is, Spark's programs are too: `/venv/bin/python count.py`."""
    found = _BESIDE.search(command)
    return ("--beside", found["folder"]) if found else ()


def recognise(sight: Sight) -> str | None:
    return find_sign(sight, r"pyspark\.(?:\w+\.)*\w+", starter="spark-submit")


SPARK = Launcher(
    name="spark",
    summary="a Spark cluster inside the job: one worker a node; the command (spark-submit or python) runs on the first",
    task_for_each_process=False,
    recognise=recognise,
    make_argv=make_argv,
)
