"""Where a battle takes place: real Slurm or pocket, and what can be hit there."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.cluster.cluster import NODES, SlurmCluster
from tests.waiting import wait_until
from windlass.core.record import RunRecord

FULL_S = 3.0  # how long the disk stays full
SEEN_S = 90.0  # for Slurm to give up a node: SlurmdTimeout and two pings


class Field(Protocol):
    """Blows by name. Each returns in words what it hit, or None when there is nothing to hit just now."""

    @property
    def disk(self) -> Path:
        """A small file system of its own, for the checkpoints."""

    def list_blows(self) -> Mapping[str, "Blow"]: ...

    def mend(self) -> None: ...


class Blow(Protocol):
    def __call__(self, record: RunRecord, chance: random.Random) -> str | None: ...


@dataclass(frozen=True, kw_only=True)
class Common:
    """What can be hit everywhere: processes of the job, files, the disk."""

    disk: Path
    slurm_bin: Path | None = None  # where scancel and its kin are, when not on PATH

    def list_blows(self) -> Mapping[str, Blow]:
        return {
            "a rank killed": self.kill_rank,
            "the agent killed": self.kill_agent,
            "scancel --signal": self.signal_job,
            "disk full": self.fill_disk,
            "newest checkpoint truncated": self.truncate_newest,
        }

    def kill_rank(self, record: RunRecord, chance: random.Random) -> str | None:
        return _kill(chance, list(find_processes(record, "training.py")))

    def kill_agent(self, record: RunRecord, chance: random.Random) -> str | None:
        return _kill(chance, list(find_processes(record, "windlass_job.pyz", "agent")))

    def signal_job(self, record: RunRecord, chance: random.Random) -> str | None:
        job = self.find_running(record)
        word = chance.choice(["KILL", "TERM", "INT", "USR1"])
        if job is None:
            return None
        whom = chance.choice([[], ["--batch"], ["--full"]])
        self.slurm("scancel", f"--signal={word}", *whom, job)
        return f"{word} {' '.join(whom)}"

    def fill_disk(self, record: RunRecord, chance: random.Random) -> str | None:
        ballast = self.disk / "ballast"
        written = 0
        try:
            with ballast.open("wb", buffering=0) as file:
                while True:
                    written += file.write(b"\0" * (1 << 16))
        except OSError:
            pass
        time.sleep(FULL_S)
        ballast.unlink()
        return f"{written >> 20} MB for {FULL_S:g} s"

    def truncate_newest(self, record: RunRecord, chance: random.Random) -> str | None:
        saved = sorted((self.disk / "checkpoints").glob("step-*"))
        if len(saved) < 2:
            return None
        victim = chance.choice([path for path in saved[-1].iterdir() if path.is_file()] or [saved[-1]])
        try:
            os.truncate(victim, max(0, victim.stat().st_size // 2))
        except OSError:
            return None
        return f"{saved[-1].name}/{victim.name}"

    def find_running(self, record: RunRecord) -> str | None:
        listed = self.slurm("squeue", "--noheader", "--states=RUNNING", f"--name={record.run_id}", "--format=%i")
        return listed.split()[0] if listed.split() else None

    def slurm(self, program: str, *arguments: str) -> str:
        argv = [str(self.slurm_bin / program) if self.slurm_bin else program, *arguments]
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60).stdout


@dataclass(frozen=True, kw_only=True)
class PocketField(Common):
    def list_blows(self) -> Mapping[str, Blow]:
        return {
            **super().list_blows(),
            "power loss": self.cut_power,
            "the supervisor killed": self.kill_supervisor,
            "the keeper killed": self.kill_keeper,
        }

    def cut_power(self, record: RunRecord, chance: random.Random) -> str | None:
        """Everything of the job at once: agent, srun, ranks, and the job's supervisor."""
        pids = [*find_processes(record), *_find_pocket("supervisor")]
        for pid in pids:
            _send(pid, signal.SIGKILL)
        return f"{len(pids)} processes" if pids else None

    def kill_supervisor(self, record: RunRecord, chance: random.Random) -> str | None:
        return _kill(chance, list(_find_pocket("supervisor")))

    def kill_keeper(self, record: RunRecord, chance: random.Random) -> str | None:
        return _kill(chance, list(_find_pocket("keeper")))

    def mend(self) -> None:
        self.slurm("squeue")  # any command finds what died


@dataclass(frozen=True, kw_only=True)
class SlurmField(Common):
    cluster: SlurmCluster

    def list_blows(self) -> Mapping[str, Blow]:
        return {
            **super().list_blows(),
            "power loss": self.cut_power,
            "network cut": self.cut_network,
            "slurmd killed": self.kill_slurmd,
            "slurmctld down": self.stop_controller,
        }

    def cut_power(self, record: RunRecord, chance: random.Random) -> str | None:
        node = self._find_node(record, chance)
        if node is not None:
            self.cluster.kill_node(node)
            self._wait_until_down(node)
        return f"node{node}" if node else None

    def cut_network(self, record: RunRecord, chance: random.Random) -> str | None:
        node = self._find_node(record, chance)
        if node is not None:
            self.cluster.cut_network(node)
            self._wait_until_down(node)
            # The next link starts now, while the first run lives on behind the cut.
            time.sleep(chance.uniform(0, 15))
        return f"node{node}" if node else None

    def kill_slurmd(self, record: RunRecord, chance: random.Random) -> str | None:
        node = self._find_node(record, chance)
        if node is None:
            return None
        _send(int((self.cluster.root / "run" / f"slurmd.node{node}.pid").read_text()), signal.SIGKILL)
        if chance.random() < 0.5:
            return f"node{node}, started again at once"
        self._wait_until_down(node)
        return f"node{node}, given up by Slurm"

    def stop_controller(self, record: RunRecord, chance: random.Random) -> str | None:
        kill = chance.random() < 0.5
        self.cluster.stop_controller(kill=kill)
        time.sleep(chance.uniform(1, 10))
        self.cluster.start_controller()
        return "killed" if kill else "stopped"

    def mend(self) -> None:
        self.cluster.mend()

    def _find_node(self, record: RunRecord, chance: random.Random) -> int | None:
        job = self.find_running(record)
        listed = self.slurm("squeue", "--noheader", f"--jobs={job}", "--format=%N") if job else ""
        names = self.slurm("scontrol", "show", "hostnames", listed.strip()).split() if listed.strip() else []
        return NODES.index(chance.choice(names)) + 1 if names else None

    def _wait_until_down(self, node: int) -> None:
        def is_down() -> bool:
            return "DOWN" in self.slurm("scontrol", "show", "node", f"node{node}")

        wait_until(is_down, f"node{node} down", timeout_s=SEEN_S, pause_s=0.5)


def find_processes(record: RunRecord, *words: str) -> Iterator[int]:
    """Of this run, by its variable in their environment; all the words stand in their command line."""
    mark = f"WINDLASS_RUN_ID={record.run_id}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            line = (entry / "cmdline").read_bytes().split(b"\0")
            is_ours = mark in (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if is_ours and all(any(part.endswith(word.encode()) for part in line) for word in words):
            yield int(entry.name)


def _find_pocket(name: str) -> Iterator[int]:
    """Pocket's own processes of this test: they know its folder."""
    place = os.environ["WINDLASS_POCKET_DIR"].encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            line = (entry / "cmdline").read_bytes()
            where = line + (entry / "environ").read_bytes()
        except OSError:
            continue
        if b"windlass.pocket" in line and name.encode() in line and place in where:
            yield int(entry.name)


def _kill(chance: random.Random, pids: list[int]) -> str | None:
    if not pids:
        return None
    pid = chance.choice(sorted(pids))
    return f"process {pid}" if _send(pid, signal.SIGKILL) else None


def _send(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True
