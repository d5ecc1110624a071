"""Starting pocket's own long-lived processes, and waking them."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

from windlass.pocket import locks
from windlass.pocket.environment import clean
from windlass.pocket.places import VARIABLE, Places

# The folder that holds the package: with it, an editable install, a venv and a wheel all work under -I -S.
ROOT = str(Path(__file__).resolve().parents[2])
BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); from windlass.pocket.programs import main; "
    "sys.exit(main(sys.argv[2], sys.argv[3:]))"
)


def command(*words: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", BOOT, ROOT, *words]


def run_detached(places: Places, *words: str) -> None:
    """Start one of pocket's own programs without terminal, in a session of its own."""
    with open(places.log, "ab") as log:
        process = subprocess.Popen(
            command(*words),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env={**clean(os.environ), VARIABLE: str(places.state)},
            start_new_session=True,
        )
    # It outlives this program on purpose; without this Popen warns about it.
    process.returncode = 0


def wake_keeper(places: Places) -> None:
    """See to it that a keeper looks at the queue now."""
    if locks.holder(places.keeper_lock) is None:
        run_detached(places, "keeper")
    else:
        ring(places)


def ring(places: Places) -> None:
    with contextlib.suppress(OSError):
        fd = os.open(places.bell, os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.write(fd, b".")
        finally:
            os.close(fd)


def be_wakeable() -> None:
    """For a supervisor, before it takes its job's lock: from then on it may be woken, and an unprepared
    process dies of that signal."""
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)


def wake_supervisor(places: Places, job_id: int) -> None:
    """Let a job's supervisor look at its orders now; it looks every second anyway."""
    pid = locks.holder(places.job_lock(job_id))
    if pid:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGUSR1)
