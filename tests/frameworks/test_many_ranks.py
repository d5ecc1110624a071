"""Every framework: each rank is there once, and they train as one process does."""

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
    script: str  # {devices} and {nodes} are filled in
    starter: str = "{bin}/python"
    launcher: str  # the one that is taken
    is_named: bool = False  # in the run file, else seen from the code

    def format_command(self, shape: Shape, programs: Path) -> str:
        starter = "{bin}/python" if shape is ALONE else self.starter
        return f"{starter} {self.script}".format(bin=programs, devices=shape.processes_per_node, nodes=shape.nodes)


CASES = {
    "torchrun": Case(script="ddp.py", launcher="torchrun"),
    "srun": Case(script="ddp.py", launcher="srun", is_named=True),
    "lightning": Case(script="trainer.py {devices} {nodes}", launcher="lightning"),
    "accelerate": Case(script="accelerated.py", launcher="accelerate"),
    # By itself it would silently run one process.
    "accelerate-launch": Case(
        script="accelerated.py", starter="{bin}/accelerate launch --cpu --num_processes 2", launcher="accelerate"
    ),
    # By itself it would go over ssh.
    "deepspeed": Case(script="zero.py", starter="{bin}/deepspeed --num_accelerators 2", launcher="deepspeed"),
    "horovod": Case(script="over_horovod.py", launcher="horovod"),
    "horovod-on-mpi": Case(script="over_horovod.py", launcher="mpi", is_named=True),
    "tensorflow": Case(script="multi_worker.py", launcher="tensorflow"),
    "mpi": Case(script="over_mpi.py", launcher="mpi"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_many_ranks_train_as_one(session: Session, site_name: str, python: Path, tmp_path: Path, case: Case) -> None:
    losses = []
    for shape in (ALONE, ON_ONE_NODE, ON_FOUR_NODES):
        launcher = "single" if shape is ALONE else case.launcher
        command = case.format_command(shape, python.parent)
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
