"""A process at the end of three pipes: how one is started, and how it is brought to its end."""

import contextlib
import subprocess
from collections.abc import Mapping, Sequence
from typing import IO


def start_piped(argv: Sequence[str], env: Mapping[str, str] | None = None) -> "subprocess.Popen[bytes]":
    """In a session of its own: Ctrl-C in the terminal is for us, and must not cut in two what it does."""
    return subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        start_new_session=True,
        bufsize=0,
    )


def take_pipes(process: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    """Its input, output and complaints: `subprocess` types each as one that may be missing."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    return process.stdin, process.stdout, process.stderr


def end_piped(process: "subprocess.Popen[bytes]", patience_s: float) -> None:
    """Its input ends, and with that the far end; whoever does not leave by that is told to."""
    with contextlib.suppress(OSError):
        take_pipes(process)[0].close()
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience_s)
