"""Where control sockets live: a private folder with a short path."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from windlass.errors import UsageError

# 104 bytes on macOS, of which ssh takes 17 for the random suffix of the socket it makes first.
MAX_SOCKET_PATH = 104 - 17 - 1


def find_runtime_folder(environ: Mapping[str, str], uid: int) -> Path:
    """$XDG_RUNTIME_DIR/windlass, or a private folder in /tmp where that is missing or its path too long."""
    runtime = environ.get("XDG_RUNTIME_DIR")
    if runtime and Path(runtime).is_dir():
        folder = Path(runtime) / "windlass"
        if len(os.fsencode(folder / ("x" * 16 + ".s"))) <= MAX_SOCKET_PATH:
            return folder
    return Path(f"/tmp/windlass-{uid}")


def make_private_folder(folder: Path) -> None:
    """Mode 0700 and ours; refused otherwise: whoever owns the folder could use the connection in it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise UsageError(
            f"{folder} belongs to somebody else: refusing to keep connections there", hint=f"ls -ld {folder}"
        )
    if found.st_mode & 0o077:
        folder.chmod(0o700)
