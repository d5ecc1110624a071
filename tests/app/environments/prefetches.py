"""The engine that fetches and verifies at a site, run as a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

ID = "0123456789ab"
_SRC = Path(__file__).parents[3] / "src"


def make_step(command: str, *, may_unshare: bool = False) -> dict[str, object]:
    """As `core.prefetch` writes its script."""
    script = f'export PYTHONPATH="$WINDLASS_HOOK${{PYTHONPATH:+:$PYTHONPATH}}"\nexec {command}\n'
    return {"script": script, "limit_s": 30, "login_shell": False, "record": True, "may_unshare": may_unshare}


def make_request(root: Path, **more: object) -> dict[str, object]:
    return {
        "verb": "prefetch",
        "root": str(root),
        "id": ID,
        "workdir": ".",
        "manifest": {"files": []},
        "paths": [],
        "folders": ["torch"],
        "files": {},
        "card": {"id": ID},
        **more,
    }


def work(root: Path, *, behind: Path | None = None, **more: object) -> dict[str, object]:
    """Its answer; behind: a folder for work that goes on when this returns."""
    request = json.dumps(make_request(root, **more))
    words = ["--request", request]
    if behind is not None:
        behind.mkdir()
        (behind / "request.json").write_text(request)
        words = ["--folder", str(behind)]
    argv = [sys.executable, "-m", "windlass_job", "work", *words]
    env = {**os.environ, "PYTHONPATH": str(_SRC)}
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, env=env, timeout=60, check=False)
    if behind is not None:
        return {"word": done.stdout.strip()}
    answer = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(answer, dict)
    return answer
