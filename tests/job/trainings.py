"""Trainings as real processes: Python scripts that import `run` from the zip, with the variables a job gives them."""

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from windlass.edges.job_zip import make_job_zip

LIMIT_S = 120
Attempt = tuple[int, int, int]  # submission, link and attempt
FIRST = (1, 1, 1)
NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass
class Home:
    """A run folder, a folder for checkpoints, and the processes that were started."""

    path: Path
    python: str = sys.executable
    started: list["subprocess.Popen[str]"] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.run.mkdir(exist_ok=True)
        self.archive.write_bytes(make_job_zip())

    @property
    def run(self) -> Path:
        return self.path / "run"

    @property
    def archive(self) -> Path:
        return self.path / "windlass_job.pyz"

    @property
    def saves(self) -> Path:
        return self.path / "checkpoints"

    def make_env(self, attempt: Attempt | None, more: Mapping[str, str]) -> dict[str, str]:
        """attempt: None for a training outside of Windlass."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "WINDLASS_"))}
        env = {**clean, "PYTHONPATH": str(self.archive), "PYTHONUNBUFFERED": "1"}
        if attempt is not None:
            names = ("WINDLASS_SUBMISSION", "WINDLASS_LINK", "WINDLASS_ATTEMPT")
            env |= dict(zip(names, map(str, attempt), strict=True))
            env |= {"WINDLASS_RUN_DIR": str(self.run), "WINDLASS_RUN_ID": "line-k3f9w", "WINDLASS_TRY": "1"}
        return {**env, **more}

    def start(
        self, script: str, *arguments: object, attempt: Attempt | None = FIRST, env: Mapping[str, str] = NOTHING
    ) -> "subprocess.Popen[str]":
        argv = [self.python, "-c", script, *map(str, arguments)]
        made = self.make_env(attempt, env)
        pipe = subprocess.PIPE
        process = subprocess.Popen(argv, cwd=self.path, env=made, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        self.started.append(process)
        return process

    def train(
        self, script: str, *arguments: object, attempt: Attempt | None = FIRST, env: Mapping[str, str] = NOTHING
    ) -> "Ended":
        return end(self.start(script, *arguments, attempt=attempt, env=env))

    def start_ranks(
        self, size: int, script: str, *arguments: object, attempt: Attempt = FIRST, env: Mapping[str, str] = NOTHING
    ) -> list["subprocess.Popen[str]"]:
        ranks = [{"RANK": str(rank), "WORLD_SIZE": str(size)} for rank in range(size)]
        return [self.start(script, *arguments, attempt=attempt, env={**env, **one}) for one in ranks]

    def list_saves(self) -> list[str]:
        return sorted(one.name for one in self.saves.glob("step-*"))

    def stop(self) -> None:
        for process in self.started:
            with suppress(ProcessLookupError):
                process.kill()
            process.communicate()


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


def end(process: "subprocess.Popen[str]") -> Ended:
    out, err = process.communicate(timeout=LIMIT_S)
    return Ended(process.returncode, out, err)


def read_lines(process: "subprocess.Popen[str]", word: str) -> str:
    """Until the process has said a line that begins with this word."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(word):
            return line
    raise AssertionError(f"{word!r} was never said: {process.stderr and process.stderr.read()}")
