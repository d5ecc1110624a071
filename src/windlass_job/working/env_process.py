"""The script of a build, run in a process group of its own that does not outlive us."""

import os
import signal
import subprocess
import time
from typing import Callable, List, Mapping

from windlass_job import disk

_LOOK_S = 0.2
_GRACE_S = 5.0


def run_script(
    argv: "List[str]", folder: bytes, env: "Mapping[str, str]", log: bytes, look: "Callable[[], None]"
) -> int:
    """Its exit code; less than 0: by which signal it was killed. What `look` raises ends it."""
    disk.remove_if_there(log)  # not the old file: on another host somebody who was taken for dead may still write to it
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    try:
        process = subprocess.Popen(
            argv,
            cwd=folder,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    finally:
        os.close(handle)
    release = _guard(process.pid)
    try:
        while True:
            try:
                return process.wait(timeout=_LOOK_S)
            except subprocess.TimeoutExpired:
                look()
    finally:
        _end_group(process)
        release()


def _guard(group: int) -> "Callable[[], None]":
    """A process that ends the group when we are killed, which no handler of ours would notice."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(writer)
        os.closerange(3, reader)
        os.closerange(reader + 1, 1024)
        word = os.read(reader, 1)  # nothing: the other end was closed by the kernel
        if not word:
            _signal(group, signal.SIGKILL)
        os._exit(0)
    os.close(reader)

    def release() -> None:
        try:
            os.write(writer, b".")
        except OSError:  # somebody killed it
            pass
        os.close(writer)
        os.waitpid(child, 0)

    return release


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """Whatever of it still lives, also what the script left behind."""
    if process.poll() is None:
        _signal(process.pid, signal.SIGTERM)
        end = time.monotonic() + _GRACE_S
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
    _signal(process.pid, signal.SIGKILL)
    process.wait()


def _signal(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except OSError:  # nobody is left
        pass
