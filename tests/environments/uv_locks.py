"""Locks as uv itself writes them, from an index of a test's own."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def lock_with_uv(project: Path, index: str, needs: Sequence[str]) -> None:
    """pyproject.toml and uv.lock of a project that needs these packages."""
    listed = ", ".join(f'"{one}"' for one in needs)
    (project / "pyproject.toml").write_text(
        f'[project]\nname = "mine"\nversion = "0.1.0"\nrequires-python = ">=3.9"\ndependencies = [{listed}]\n'
    )
    lock = [sys.executable, "-m", "uv", "lock", "--no-config", "--no-cache", "--default-index", index]
    subprocess.run([*lock, "--python", sys.executable], cwd=project, check=True, capture_output=True)
