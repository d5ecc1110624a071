"""Two runs on one node at once: each has its own port."""

import re
from pathlib import Path

import pytest

from tests.frameworks.world import Shape, finish, start
from windlass.app.session import Session
from windlass.core.record import RunState

TWO_PROCESSES = Shape(nodes=1, processes_per_node=2)


@pytest.mark.parametrize("session", ["here", pytest.param("slurm-local", marks=pytest.mark.slurm)], indirect=True)
@pytest.mark.parametrize("launcher", ["torchrun", "srun"])
def test_two_runs_on_one_node_do_not_take_each_others_port(
    session: Session, site_name: str, python: Path, tmp_path: Path, launcher: str
) -> None:
    command = f"{python} beside.py 2"

    started = [
        start(session, site_name, tmp_path / name, command, TWO_PROCESSES, launcher=launcher) for name in ("a", "b")
    ]
    said = [finish(session, one) for one in started]

    assert [one.state for one in said] == [RunState.DONE] * 2, said
    assert said[0].nodes == said[1].nodes
    ports = [set(re.findall(r"port (\d+)", one.log)) for one in said]
    assert [len(one) for one in ports] == [1, 1]
    assert ports[0] != ports[1]
