"""Small built environments for the tests of packing: a real venv with a package that pip has installed."""

import base64
import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

from windlass_job.working.env_packing import VERBS

ENV_ID = "venv-0123456789"

_FILES = {
    "greet/__init__.py": "import os, sys\n\n\ndef main():\n    print('hello from', __file__, 'in', sys.prefix)\n",
    "greet-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: greet\nVersion: 1.0\n",
    "greet-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "greet-1.0.dist-info/entry_points.txt": "[console_scripts]\ngreet = greet:main\n",
}


def make_environment(root: Path, *, python: str = sys.executable) -> Path:
    """ROOT/envs/ID with what a build leaves there; its prefix."""
    prefix = root / "envs" / ENV_ID / "build-1"
    prefix.parent.mkdir(parents=True)
    subprocess.run([python, "-m", "venv", "--without-pip", prefix], check=True)
    wheel = _make_wheel(prefix.parent)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", f"{prefix}/bin/python"]
    subprocess.run([*pip, "install", "--no-index", "--no-deps", str(wheel)], check=True)
    wheel.unlink()
    put_in_place(prefix)
    return prefix


def put_in_place(prefix: Path) -> None:
    """`current` and the card, as at the end of a build."""
    link = prefix.parent / "current"
    link.unlink(missing_ok=True)
    link.symlink_to(prefix.name)
    card = {"id": ENV_ID, "kind": "venv", "path": str(prefix), "python": "3.11.0"}
    (prefix.parent / "env.json").write_text(json.dumps(card))


def copy_environment(root: Path, target: Path) -> Path:
    """For what looks at files only: the paths in them are still the old ones. Its prefix."""
    shutil.copytree(root, target, symlinks=True, ignore=shutil.ignore_patterns("env.tar*"))
    prefix = target / "envs" / ENV_ID / "build-1"
    put_in_place(prefix)
    return prefix


def pack(root: Path, **more: Any) -> dict[str, Any]:
    """By the verb that runs at a site."""
    packed: dict[str, Any] = VERBS["pack-env"]({"root": str(root), "id": ENV_ID, **more}, lambda *_: None)
    return packed


def _make_wheel(folder: Path) -> Path:
    path = folder / "greet-1.0-py3-none-any.whl"
    lines = [f"{name},sha256={_hash(text)},{len(text)}" for name, text in _FILES.items()]
    record = "greet-1.0.dist-info/RECORD"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in {**_FILES, record: "\n".join([*lines, f"{record},,\n"])}.items():
            wheel.writestr(name, text)
    return path


def _hash(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
