"""The program as a user runs it: a process with its own home."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Places

Windlass = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def windlass(places: Places, project: Path) -> Iterator[Windlass]:
    """Runs `windlass ARGS` in the project; `stdin`, `env` and `cwd` may be given."""
    (places.pocket / "pocket.toml").write_text("idle_s = 1\nkill_wait_s = 2\ncpus = 4\nmemory_mb = 4000\n")

    def run(*args: str, env: dict[str, str] | None = None, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "windlass", *args],
            cwd=cwd or project,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    yield run
    scancel = places.pocket / "bin" / "scancel"
    if scancel.exists():
        subprocess.run([scancel, "--me"], check=False, capture_output=True)
