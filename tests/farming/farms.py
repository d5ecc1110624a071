"""Farms on the disk, and pilots as jobs start them: the zip, any Python, Slurm's variables."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from windlass.edges.job_zip import make_job_zip
from windlass_job import wire
from windlass_job.farming import ledger, records, table
from windlass_job.farming.entries import DiskStore, Ledger
from windlass_job.farming.ledger import State


@dataclass
class Farm:
    """`place` is the working folder of its tasks."""

    place: Path
    python: str = sys.executable
    retries: int = 0
    pilots: "list[subprocess.Popen[bytes]]" = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return self.place / "farm"

    @property
    def state(self) -> State:
        return self.book.load()

    @property
    def book(self) -> Ledger:
        return Ledger(DiskStore(os.fsencode(self.folder / "log")))

    def lay(self, commands: "Iterable[str | bytes]", **card: Any) -> "Farm":
        """A row is made of each text; bytes are a row."""
        self.retries = card.get("retries", 0)
        self.folder.mkdir(parents=True)
        (self.folder / wire.FARM_CARD).write_text(json.dumps({"cpus": 1, **card}))
        tasks = os.fsencode(self.folder / "tasks")
        rows = (one if isinstance(one, bytes) else table.make_row({"command": one}) for one in commands)
        count = table.write_rows(tasks, 0, rows)
        if count:
            table.publish(tasks, table.Segment(0, count, table.COMMANDS))
        self.append(ledger.GROW, lambda state: ledger.grow(state, count))
        (self.place / "windlass_job.pyz").write_bytes(make_job_zip())
        return self

    def append(self, kind: str, change: Any) -> None:
        def make(state: State) -> tuple[State, bytes]:
            made = change(state)
            return made, ledger.format_entry(kind, "laptop", made, moved=[])

        self.book.append(make)

    def start(
        self, run: str = "a", *, slots: int = 2, link: int = 1, beat_s: float = 0.2, **env: str
    ) -> "subprocess.Popen[bytes]":
        """Its words go to RUN.log."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "WINDLASS_"))}
        ours = {"WINDLASS_RUN_ID": run, "WINDLASS_LINK": str(link), "SLURM_CPUS_ON_NODE": str(slots)}
        argv = [self.python, "-I", str(self.place / "windlass_job.pyz"), "farm", "--farm", str(self.folder)]
        with (self.place / f"{run}.log").open("ab") as log:
            pilot = subprocess.Popen(
                argv,
                cwd=self.place,
                env={**clean, **ours, "WINDLASS_TEST_BEAT_S": str(beat_s), **env},
                stdout=log,
                stderr=log,
            )
        self.pilots.append(pilot)
        return pilot

    def run(self, run: str = "a", *, timeout_s: float = 60, **more: Any) -> str:
        """One pilot until it has ended. What it said."""
        code = self.start(run, **more).wait(timeout_s)
        assert code == 0, self.read_log(run)
        return self.read_log(run)

    def read_log(self, run: str = "a") -> str:
        return (self.place / f"{run}.log").read_text()

    def count_ended(self) -> int:
        """In the records of all workers, whatever the ledger knows of it."""
        files = (self.folder / "pilots").glob("*.rec")
        return sum(line.startswith(b"e ") for path in files for line in path.read_bytes().splitlines())

    def find_counted(self) -> dict[int, list[records.Ended]]:
        """Of each task the ends that count and are final."""
        state = self.state
        found: dict[int, list[records.Ended]] = {task: [] for task in range(state.total)}
        for path in sorted((self.folder / "pilots").glob("*.rec")):
            content = path.read_bytes()
            for ended in records.read_ends(content[: state.sealed.get(path.stem, len(content))]):
                if records.is_over(ended, self.retries):
                    found[ended.task].append(ended)
        return found

    def find_codes(self) -> list[int]:
        """Each task ended once."""
        counted = self.find_counted()
        assert {task: len(ends) for task, ends in counted.items() if len(ends) != 1} == {}
        return [ends[0].code for _, ends in sorted(counted.items())]

    def read_output(self, task: int) -> bytes:
        found = b""
        for path in (self.folder / "pilots").glob("*.idx"):
            out = path.with_suffix(".out").read_bytes()
            for line in path.read_text().splitlines():
                one, _, at, size = (int(word) for word in line.split())
                found += out[at : at + size] if one == task else b""
        return found

    def check_nothing_is_held(self) -> None:
        state = self.state
        assert ledger.count_free(state) == 0
        assert state.done + state.failed == state.total

    def check_all_have_left(self) -> None:
        for name in ("beats", "wanted"):
            if (self.folder / name).exists():
                left = [one.name for one in (self.folder / name).iterdir()]
                # What begins with a point is of one who was killed while it wrote: nobody looks at it.
                assert [one for one in left if not one.startswith(".")] == [], left

    def stop(self) -> None:
        for pilot in self.pilots:
            with suppress(ProcessLookupError):
                pilot.send_signal(signal.SIGCONT)
                pilot.send_signal(signal.SIGKILL)
            pilot.wait()


@pytest.fixture
def farm(tmp_path: Path) -> Iterator[Farm]:
    made = Farm(tmp_path)
    yield made
    made.stop()
