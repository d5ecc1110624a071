"""The engine that builds environments at a site, run as a process of its own; and what it leaves."""

import json
import os
import subprocess
import sys
from pathlib import Path

from windlass_job import faults, wire

ID = "venv-0123456789"
GOOD = 'echo made > "$WINDLASS_PREFIX/thing"; echo \'{"python": "3.11.0"}\' > "$WINDLASS_FACTS"\n'
SRC = Path(__file__).parents[3] / "src"


def start_work(
    root: Path, script: str, *, die_at: str = "", host: str = "", hasty: bool = False, **more: object
) -> "subprocess.Popen[str]":
    """host: the name it pretends to have. hasty: it takes a holder for dead after half a second of silence."""
    request = {"verb": "build-env", "root": str(root), "id": ID, "script": script, "card": {"kind": "venv"}, **more}
    env = {**os.environ, "PYTHONPATH": str(SRC), faults.VARIABLE: die_at}
    env.update({faults.HOST_VARIABLE: host, faults.BEAT_VARIABLE: "0.05" if hasty else ""})
    argv = [sys.executable, "-m", "windlass_job", "work", "--request", json.dumps(request)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=env)


def work(root: Path, script: str, **more: object) -> tuple[int, dict[str, object]]:
    """Its exit code and its answer."""
    with start_work(root, script, **more) as process:  # type: ignore[arg-type]  # each what `start_work` wants
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
