"""Start the agent as a job does: the zip, an old Python, a run folder and Slurm's variables."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from windlass.edges.job_zip import make_job_zip

_QUICK = ("--gauge-interval=0", "--fence-interval=0.1")
_VERSIONS = tuple(f"3.{minor}" for minor in range(6, 14))


def find_pythons() -> dict[str, str]:
    """Version -> program, of pyenv or on the PATH."""
    found = {}
    for version in _VERSIONS:
        candidates = [
            *sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python")),
            Path("/usr/bin") / f"python{version}",
        ]
        program = next((str(path) for path in candidates if path.exists()), None)
        if program:
            found[version] = program
    return found or {"current": sys.executable}


PYTHONS = find_pythons()
OLDEST_AND_NEWEST = {version: PYTHONS[version] for version in (next(iter(PYTHONS)), list(PYTHONS)[-1])}


@dataclass
class Job:
    """One job of a run. `folder` is the run folder, `home` the working folder."""

    home: Path
    python: str = sys.executable
    env: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    pass_fds: tuple[int, ...] = ()

    @property
    def folder(self) -> Path:
        return self.home / "run"

    @property
    def log_path(self) -> Path:
        return self.home / "job.log"

    @property
    def log(self) -> str:
        return self.log_path.read_text()

    @property
    def printed(self) -> str:
        """What the command itself said."""
        return "".join(line for line in self.log.splitlines(keepends=True) if not line.startswith("windlass: "))

    @property
    def status(self) -> dict[str, Any]:
        return _read(self.folder.joinpath("status.json").read_text())

    @property
    def events(self) -> list[dict[str, Any]]:
        return [_read(line) for line in (self.folder / "events.jsonl").read_text().splitlines()]

    @property
    def kinds(self) -> list[str]:
        return [event["kind"] for event in self.events]

    def find_event(self, kind: str) -> dict[str, Any]:
        return next(event for event in self.events if event["kind"] == kind)

    def run(self, *command: str) -> int:
        with self.start(*command) as process:
            return process.wait(30)

    @contextmanager
    def start(self, *command: str) -> Iterator["subprocess.Popen[bytes]"]:
        self.folder.mkdir(exist_ok=True)
        if "PATH" not in self.env or str(self.home / "bin") in self.env["PATH"]:
            self._add_squeue()
        zip_path = self.home / "windlass_job.pyz"
        zip_path.write_bytes(make_job_zip())
        argv = [self.python, "-I", str(zip_path), "agent", *_QUICK, *self.options, "--", *command]
        self.log_path.parent.mkdir(parents=True, exist_ok=True)
        with self.log_path.open("ab") as log:
            process = subprocess.Popen(
                argv, cwd=self.home, env=self._make_env(), stdout=log, stderr=log, pass_fds=self.pass_fds
            )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGKILL)
            process.wait()

    def _make_env(self) -> dict[str, str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "WINDLASS_"))}
        ours = {
            "WINDLASS_RUN_DIR": str(self.folder),
            "WINDLASS_RUN_ID": "digits-k3f9w",
            "WINDLASS_LINK": "1",
            "WINDLASS_LINKS": "3",
            "WINDLASS_SUBMISSION": "1",
            "WINDLASS_TOKEN": "windlass:digits-k3f9w:1",
            "SLURM_JOB_ID": "45",
        }
        return {**clean, **ours, **self.env}

    def _add_squeue(self) -> None:
        """The job is known and runs, whatever Slurm this machine has; a test may say otherwise."""
        if not (self.home / "bin" / "squeue").exists():
            self.add_program("squeue", "echo RUNNING")

    def add_program(self, name: str, script: str) -> Path:
        """A program in front of the PATH of the job."""
        folder = self.home / "bin"
        folder.mkdir(exist_ok=True)
        path = folder / name
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)
        self.env["PATH"] = f"{folder}:{os.environ['PATH']}"
        return path


def _read(text: str) -> dict[str, Any]:
    value = json.loads(text)
    assert isinstance(value, dict)
    return value
