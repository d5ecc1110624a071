"""What a farm of very many tasks needs on a laptop."""

import tracemalloc
from collections.abc import Callable
from dataclasses import replace

from tests.core.farm.test_results import FIRST
from windlass.core.farm.overview import Overview
from windlass.core.farm.rows import make_row
from windlass.core.farm.tables import read_commands, read_csv
from windlass.core.farm.templates import make_tasks, read_template
from windlass.core.farm.values import TaskState
from windlass_job.farming.packing import pack

COUNT = 50_000


def measure(act: Callable[[], object]) -> float:
    """Bytes for each task, at the most. With a fixed part for a piece of the packed table, of which there is one."""
    tracemalloc.start()
    act()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / COUNT


def test_a_table_of_commands() -> None:
    data = "".join(f"python3 train.py --seed {number}\n" for number in range(COUNT)).encode()

    assert measure(lambda: list(pack(map(make_row, read_commands(data, "x"))))) < 260


def test_a_table_of_values() -> None:
    data = ("seed,rate\n" + "".join(f"{number},0.1\n" for number in range(COUNT))).encode()
    template = read_template("python3 train.py --seed {seed} --rate {rate}")

    assert measure(lambda: list(pack(map(make_row, make_tasks(template, read_csv(data, "x")))))) < 390


def test_what_is_known_of_tasks_that_are_done() -> None:
    overview = Overview()
    done = replace(FIRST, state=TaskState.DONE, code=0)

    assert measure(lambda: overview.take(replace(done, task=number) for number in range(COUNT))) < 60
    assert overview.failures == ()
