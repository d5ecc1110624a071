"""A pocket of its own for each test, and nothing left running after it."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import pytest

from windlass.pocket import locks, processes, queue
from windlass.pocket.database import open_database
from windlass.pocket.model import Job, State
from windlass.pocket.places import Places
from windlass.pocket.programs import ensure_bin

SETTINGS = "cpus = 4\nmemory_mb = 4000\ngpus = 4\nkill_wait_s = 0.5\nrequeue_delay_s = 0.1\nidle_s = 20\n"
DEADLINE_S = 20.0
T = TypeVar("T")


class Pocket:
    """Pocket's programs with a state folder of their own, and ways to wait for what jobs do."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.places = Places(folder / "state")
        self.bin = ensure_bin(self.places.state)
        self.configure("")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "SBATCH"))}
        self.environment = {**kept, "PATH": f"{self.bin}:/usr/bin:/bin"}

    def configure(self, more: str) -> None:
        self.places.settings.write_text(SETTINGS + more)

    def run(
        self,
        program: str,
        *words: str,
        code: int | None = 0,
        text: str | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end; its exit code must be the one named."""
        done = subprocess.run(
            [self.bin / program, *words],
            input=text,
            stdin=subprocess.DEVNULL if text is None else None,
            capture_output=True,
            text=True,
            cwd=self.folder,
            env={**self.environment, **(variables or {})},
            timeout=60,
            check=False,
        )
        assert code is None or done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done

    def submit(self, body: str, *words: str, variables: Mapping[str, str] | None = None) -> int:
        """Queue a bash script; returns its id."""
        script = self.folder / f"script-{time.monotonic_ns()}.sh"
        script.write_text(f"#!/bin/bash\n{body}\n")
        return int(self.run("sbatch", "--parsable", *words, str(script), variables=variables).stdout)

    def job(self, job_id: int) -> Job:
        job = queue.fetch_job(open_database(self.places), job_id)
        assert job is not None
        return job

    def wait(self, job_id: int, *states: State) -> Job:
        """Until the job is in one of the states; without any, until it is over."""
        return wait_for(
            lambda: job if (job := self.job(job_id)).state in states or (not states and job.state.is_final) else None
        )

    def output(self, job_id: int | str) -> str:
        return (self.folder / f"slurm-{job_id}.out").read_text()

    def see(self, name: str) -> Path:
        """Until a job has written the file."""
        return wait_for(lambda: path if (path := self.folder / name).exists() else None)

    def sacct(self, job_id: int | str, fields: str, *words: str) -> list[str]:
        return self.run("sacct", "-nP", "-j", str(job_id), "-o", fields, *words).stdout.splitlines()

    def squeue(self, form: str, *words: str) -> list[str]:
        return self.run("squeue", "-h", "-o", form, *words).stdout.splitlines()

    def keeper(self) -> int | None:
        return locks.holder(self.places.keeper_lock)

    def close(self) -> None:
        db = open_database(self.places)
        tokens = [job.token for job in queue.fetch_jobs(db) if job.token]
        pids = [self.keeper(), *(job.supervisor_pid for job in queue.fetch_active(db))]
        for pid in pids:
            if pid:
                processes.send([pid], signal.SIGKILL)
        table = processes.list_processes()
        for token in tokens:
            processes.send(processes.marked(token, table), signal.SIGKILL)


def wait_for(look: Callable[[], T | None]) -> T:
    """Look again and again, at most until the deadline."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


@pytest.fixture
def pocket(tmp_path: Path) -> Iterator[Pocket]:
    pocket = Pocket(tmp_path)
    yield pocket
    pocket.close()
