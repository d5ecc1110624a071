"""A training of trainings/ as a run of Windlass's, and what its ranks said."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.frameworks.installed import VENV
from windlass.app.following import follow
from windlass.app.logs import open_log
from windlass.app.planning import Wanted, plan_run
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.core.record import RunRecord, RunState
from windlass.core.toml.writing import format_string

TRAININGS = Path(__file__).parent / "trainings"
_ENV = {
    "OMP_NUM_THREADS": "1",
    "DS_ACCELERATOR": "cpu",
    # Else DeepSpeed compiles one for each node; and again with another `ninja` than that of the venv.
    "TORCH_EXTENSIONS_DIR": str(VENV / ".extensions"),
}


@dataclass(frozen=True, kw_only=True)
class Shape:
    nodes: int
    processes_per_node: int

    @property
    def ranks(self) -> int:
        return self.nodes * self.processes_per_node


@dataclass(frozen=True, kw_only=True)
class Said:
    launcher: str
    state: RunState
    log: str

    @property
    def ranks(self) -> list[tuple[int, int]]:
        """Of each process that spoke: its rank, and of how many."""
        return sorted((int(one[0]), int(one[1])) for one in re.findall(r"rank (\d+) of (\d+) on", self.log))

    @property
    def nodes(self) -> set[str]:
        return set(re.findall(r"rank \d+ of \d+ on (\S+)", self.log))

    @property
    def losses(self) -> list[float]:
        return [float(one) for one in re.findall(r"^(?:\S+: )?loss ([\d.]+)$", self.log, re.MULTILINE)]


@dataclass(frozen=True, kw_only=True)
class Started:
    record: RunRecord
    launcher: str


def start(
    session: Session, site_name: str, project: Path, command: str, shape: Shape, *, launcher: str | None = None
) -> Started:
    """In a folder that is made for it."""
    shutil.copytree(TRAININGS, project, ignore=shutil.ignore_patterns("__pycache__"))
    (project / "windlass.toml").write_text(_format_run_file(command, shape, launcher))
    planned = plan_run(session, Wanted(project=project, site=site_name))
    return Started(record=start_run(session, planned), launcher=planned.plan.launcher)


def finish(session: Session, started: Started) -> Said:
    record = started.record
    updates = list(follow(session, record, reader=open_log(session, record)))
    last = [update.record for update in updates if update.record][-1]
    log = b"".join(update.log for update in updates).decode(errors="replace")
    return Said(launcher=started.launcher, state=last.state, log=log)


def _format_run_file(command: str, shape: Shape, launcher: str | None) -> str:
    lines = [
        *("[run]", 'name = "world"', f"command = {format_string(command)}"),
        *([f"launcher = {format_string(launcher)}"] if launcher else []),
        *("[run.env]", *(f"{name} = {format_string(value)}" for name, value in _ENV.items())),
        *("[environment]", f"activate = {format_string(f'. {VENV}/bin/activate')}"),
        *("[resources]", f"nodes = {shape.nodes}", f"processes_per_node = {shape.processes_per_node}"),
        *("cpus = 1", 'time = "15m"', 'memory = "1900M"'),
    ]
    return "\n".join(lines) + "\n"
