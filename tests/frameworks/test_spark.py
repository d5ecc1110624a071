"""Spark over several nodes: a standalone cluster inside the allocation."""

import re
from pathlib import Path

import pytest

from tests.frameworks.world import Shape, finish, start
from windlass.app.session import Session
from windlass.core.record import RunState

pytestmark = [pytest.mark.slurm, pytest.mark.parametrize("session", ["slurm-local"], indirect=True)]


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
