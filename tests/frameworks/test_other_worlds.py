"""Horovod, TensorFlow, MPI and Spark: every rank is there once, and they train as one process does."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.frameworks.world import Shape, finish, start
from windlass.app.session import Session
from windlass.core.record import RunState

pytestmark = [pytest.mark.slurm, pytest.mark.parametrize("session", ["slurm-local"], indirect=True)]

ALONE = Shape(nodes=1, processes_per_node=1)
ON_ONE_NODE = Shape(nodes=1, processes_per_node=2)
ON_FOUR_NODES = Shape(nodes=4, processes_per_node=2)


@dataclass(frozen=True, kw_only=True)
class Case:
    command: str
    launcher: str
    is_named: bool = False  # in the run file, else seen from the code


CASES = {
    "horovod": Case(command="{bin}/python over_horovod.py", launcher="horovod"),
    "horovod-on-mpi": Case(command="{bin}/python over_horovod.py", launcher="mpi", is_named=True),
    "tensorflow": Case(command="{bin}/python multi_worker.py", launcher="tensorflow"),
    "mpi": Case(command="{bin}/python over_mpi.py", launcher="mpi"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_many_ranks_train_as_one(session: Session, site_name: str, python: Path, tmp_path: Path, case: Case) -> None:
    losses = []
    for shape in (ALONE, ON_ONE_NODE, ON_FOUR_NODES):
        launcher = "single" if shape is ALONE else case.launcher
        command = case.command.format(bin=python.parent)
        named = launcher if case.is_named else None
        said = finish(
            session, start(session, site_name, tmp_path / f"of-{shape.ranks}", command, shape, launcher=named)
        )

        assert said.state is RunState.DONE, said.log
        assert said.launcher == launcher
        assert said.ranks == [(rank, shape.ranks) for rank in range(shape.ranks)], said.log
        assert len(said.nodes) == shape.nodes
        losses += said.losses

    assert len(losses) == 3
    assert losses == pytest.approx([losses[0]] * 3, rel=1e-5)


@pytest.mark.parametrize("starter", ["python", "spark-submit"])
def test_spark_counts_words_on_three_workers(
    session: Session, site_name: str, python: Path, tmp_path: Path, starter: str
) -> None:
    shape = Shape(nodes=3, processes_per_node=1)

    command = f"{python.parent}/{starter} words.py"
    said = finish(session, start(session, site_name, tmp_path / "words", command, shape))

    assert said.launcher == "spark"
    assert said.state is RunState.DONE, said.log
    assert re.findall(r"^word (\w+) (\d+)$", said.log, re.MULTILINE) == [
        *(("sails", "600"), ("sea", "300"), ("ship", "600"), ("the", "900"))
    ]
    assert len(re.findall(r"^counted on \S+$", said.log, re.MULTILINE)) == 3, said.log
    assert "windlass: Spark is up: 3 workers with 1 cores each" in said.log


def test_the_exit_code_of_a_spark_program_is_that_of_the_run(
    session: Session, site_name: str, python: Path, tmp_path: Path
) -> None:
    shape = Shape(nodes=2, processes_per_node=1)

    said = finish(session, start(session, site_name, tmp_path / "words", f"{python} words.py 7", shape))

    assert said.state is RunState.FAILED, said.log
    assert "task 0: Exited with exit code 7" in said.log
