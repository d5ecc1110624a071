"""The engine that builds environments at a site, run as a process of its own; and what it leaves."""

import json
import os
import subprocess
import sys
from pathlib import Path

from windlass_job import faults, wire

ID = "venv-0123456789"
GOOD = 'echo made > "$WINDLASS_PREFIX/thing"; echo \'{"python": "3.11.0"}\' > "$WINDLASS_FACTS"\n'
_SRC = Path(__file__).parents[3] / "src"


def start_work(root: Path, script: str, *, die_at: str = "", **more: object) -> "subprocess.Popen[str]":
    request = {"verb": "build-env", "root": str(root), "id": ID, "script": script, "card": {"kind": "venv"}, **more}
    env = {**os.environ, "PYTHONPATH": str(_SRC), faults.VARIABLE: die_at}
    argv = [sys.executable, "-m", "windlass_job", "work", "--request", json.dumps(request)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=env)


def work(root: Path, script: str, *, die_at: str = "", **more: object) -> tuple[int, dict[str, object]]:
    """Its exit code and its answer."""
    with start_work(root, script, die_at=die_at, **more) as process:
        lines = process.communicate(timeout=60)[0].splitlines()
    return process.returncode, json.loads(lines[-1]) if lines else {}


def read_thing(root: Path) -> str:
    return (root / wire.ENVS / ID / wire.ENV_CURRENT / "thing").read_text()


def list_builds(root: Path) -> list[str]:
    return sorted(one.name for one in (root / wire.ENVS / ID).iterdir() if one.name[0] in "bst" and one.is_dir())


def is_alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
