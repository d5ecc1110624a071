"""A farm on the real Slurm whose pilots, nodes and controller are struck at random.

WINDLASS_FARM_TASKS=10000 makes it a great one (`make test-fire`); WINDLASS_FIRE_SEED chooses other moments.
"""

import collections
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.cluster.cluster import SlurmCluster
from tests.farming.farms import Farm
from windlass_job import wire

pytestmark = [pytest.mark.slow, pytest.mark.slurm]
_TASKS = int(os.environ.get("WINDLASS_FARM_TASKS", "500"))
_SEED = int(os.environ.get("WINDLASS_FIRE_SEED", "4"))
_RUNS = ("a", "b", "c", "d")
_TASK = "sh -c 'echo $WINDLASS_TASK >> ran; sleep 0.1'"  # one write, which the system appends
_LONGEST_S = 900
_BEAT_S = 1
_PILOT = """#!/bin/bash
#SBATCH --job-name=farm-fire --no-requeue --partition=dev --cpus-per-task=2 --mem=500M --time=19
#SBATCH --output={place}/{run}.log --open-mode=append
export WINDLASS_RUN_ID={run} WINDLASS_LINK={link} WINDLASS_TEST_BEAT_S={beat_s}
cd {place}
exec python3 -I windlass_job.pyz farm --farm {place}/farm
"""


@dataclass
class Battle:
    slurm: SlurmCluster
    farm: Farm
    chance: random.Random
    links: dict[str, int] = field(default_factory=dict)
    jobs: dict[str, str] = field(default_factory=dict)
    blows: "collections.Counter[str]" = field(default_factory=collections.Counter)
    is_broken: bool = False

    def submit(self, run: str) -> None:
        self.links[run] = self.links.get(run, 0) + 1
        script = _PILOT.format(place=self.farm.place, run=run, link=self.links[run], beat_s=_BEAT_S)
        done = self.slurm.run_as("alice", "sbatch --parsable", stdin=script, check=False)
        if done.returncode == 0:  # else the controller is away: tried again
            self.jobs[run] = done.stdout.strip()

    def mend_at_times(self) -> None:
        """Slurm drains a node whose jobs it could not end: without mending there would soon be none left."""
        listed = subprocess.run(["sinfo", "--noheader", "--list-reasons"], capture_output=True, text=True)
        if not self.is_broken and listed.stdout.strip():
            self.slurm.mend()

    def keep_going(self) -> bool:
        """True: some of the runs are not over. As chains do it, a pilot that ended is followed by another."""
        listed = subprocess.run(["squeue", "--noheader", "--format=%i"], capture_output=True, text=True)
        if listed.returncode:
            return True
        for run in _RUNS:
            if self.jobs.get(run) not in listed.stdout.split() and not self.is_over(run):
                self.submit(run)
        return not all(self.is_over(run) for run in _RUNS)

    def is_over(self, run: str) -> bool:
        log = self.farm.place / f"{run}.log"
        return log.exists() and wire.FARM_OVER in log.read_text(errors="replace")

    def strike(self) -> None:
        blows: list[Callable[[], bool]] = [self.kill_pilot] * 5 + [self.cancel] * 4 + [self.restart_controller]
        blow = self.chance.choice([*blows, self.kill_node])
        if blow():
            self.blows[blow.__name__] += 1

    def kill_pilot(self) -> bool:
        found = list(find_pilots(self.farm.folder))
        if found:
            os.kill(self.chance.choice(found), signal.SIGKILL)
        return bool(found)

    def cancel(self) -> bool:
        subprocess.run(["scancel", self.chance.choice(sorted(self.jobs.values()))], capture_output=True)
        return True

    def kill_node(self) -> bool:
        if self.is_broken:
            self.slurm.mend()
            self.is_broken = False
            return False
        self.slurm.kill_node(self.chance.randint(1, 4))
        self.is_broken = True
        return True

    def restart_controller(self) -> bool:
        self.slurm.stop_controller(kill=self.chance.random() < 0.5)
        time.sleep(2)
        self.slurm.start_controller()
        return True


def find_pilots(folder: Path) -> Iterator[int]:
    """Of this farm, on whichever node: their processes are on this machine."""
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().split(b"\0")
        except OSError:
            continue
        if os.fsencode(folder) in words and b"farm" in words and b"-I" in words:
            yield int(place.parent.name)


@pytest.fixture
def battle(slurm: SlurmCluster) -> Iterator[Battle]:
    place = slurm.home("alice") / f"farm-{uuid.uuid4().hex[:8]}"
    farm = Farm(place).lay([_TASK] * _TASKS)
    shutil.chown(place, "alice")
    for path in place.rglob("*"):
        shutil.chown(path, "alice")
    made = Battle(slurm, farm, random.Random(_SEED))
    yield made
    slurm.reset()
    shutil.rmtree(place)


def test_every_task_succeeds_once(battle: Battle) -> None:
    began = time.monotonic()
    deadline, most = began + _LONGEST_S, max(6, _TASKS // 200)
    next_blow = began + 2
    while battle.keep_going():
        assert time.monotonic() < deadline, describe(battle, began)
        if time.monotonic() > next_blow:
            if sum(battle.blows.values()) < most:
                battle.strike()
            else:
                battle.is_broken = False
            next_blow = time.monotonic() + battle.chance.uniform(0.5, 4)
            battle.mend_at_times()
        time.sleep(0.2)

    print(describe(battle, began), file=sys.__stderr__, flush=True)
    farm = battle.farm
    assert farm.find_codes() == [0] * _TASKS
    farm.check_nothing_is_held()
    runs, cut = count_runs(farm), count_cut(farm)
    assert min(runs[task] for task in range(_TASKS)) == 1
    assert {task: (runs[task], cut[task]) for task in runs if runs[task] > 1 + cut[task]} == {}


def count_runs(farm: Farm) -> "collections.Counter[int]":
    return collections.Counter(int(line) for line in (farm.place / "ran").read_text().splitlines())


def count_cut(farm: Farm) -> "collections.Counter[int]":
    """How often a task was started and killed, with its pilot or by it."""
    cut: collections.Counter[int] = collections.Counter()
    for path in (farm.folder / "pilots").glob("*.rec"):
        for line in path.read_text().splitlines():
            words = line.split()
            if words[0] in ("s", "e"):
                cut[int(words[1])] += 1 if words[0] == "s" else -1
    return cut


def describe(battle: Battle, began: float) -> str:
    farm = battle.farm
    state, runs = farm.state, count_runs(farm)
    return (
        f"{state.done} of {state.total} tasks in {time.monotonic() - began:.0f} s; {dict(battle.blows)}; "
        f"{sum(battle.links.values())} pilots, {len(state.sealed)} taken for dead; {state.number} entries; "
        f"{sum(runs.values()) - len(runs)} executions more than tasks, {sum(count_cut(farm).values())} tasks killed"
    )
