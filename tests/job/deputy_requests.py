"""Requests that the deputy's tests ask."""

import hashlib
import sys
from pathlib import Path

from windlass.edges.bundle import BOOTSTRAP, PYTHON_FLAGS
from windlass.edges.host import Json, Request

DEPUTY = [sys.executable, *PYTHON_FLAGS, "-c", BOOTSTRAP]
CODE = "é = 1\n".encode()


def make_run(root: Path) -> Request:
    digest = hashlib.sha256(CODE).hexdigest()
    arguments: Json = {
        "root": str(root),
        "run_id": "a-11111",
        "manifest": {"files": [{"path": "é.py", "sha256": digest, "mode": 0o644, "link": None}]},
        "blobs": [{"sha256": digest, "bytes": len(CODE)}],
        "files": [{"path": "run.json", "bytes": 2, "mode": 0o644}],
    }
    return Request(operation="prepare_run", arguments=arguments, payload=CODE + b"{}")


def make_submit(folder: Path, argv: list[str], number: int = 1) -> Request:
    arguments: Json = {
        "folder": str(folder),
        "number": number,
        "token": f"windlass:a-11111:{number}",
        "argv": argv,
        "path_prefix": None,
        "timeout_s": 20,
        "cwd": str(folder),
    }
    return Request(operation="submit", arguments=arguments)
