"""Whether a line of what a link printed matches a pattern: in a process of its own, which can be ended.

A search holds up all threads of its process, and some patterns take hours over an unlucky line.
"""

import os
import re
import subprocess
import sys
from typing import IO, Optional, Pattern

import windlass_job

_PIECE = 1 << 20
_HALF = 1 << 13  # bytes of a line that are looked at from either end of it
_FOUND, _NOT_FOUND = 10, 11  # no codes of Python's own
_PROGRAM = "import sys; sys.path.insert(0, sys.argv.pop(1)); from windlass_job.agent import searching; searching.main()"


def search_file(path: bytes, start: int, pattern: str, limit_s: float) -> Optional[bool]:
    """From this byte on; None when it could not be told in time. May raise OSError."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(windlass_job.__file__)))  # the zip
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", 0) as log:
        log.seek(start)
        child = subprocess.Popen(
            [sys.executable, "-I", "-c", _PROGRAM, package, pattern],
            stdin=log,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    try:
        code = child.wait(limit_s)
    except subprocess.TimeoutExpired:
        child.kill()
        return None
    return code == _FOUND if code in (_FOUND, _NOT_FOUND) else None


def compile_pattern(pattern: str) -> "Pattern[str]":
    """As it was meant, also where this session has no locale. May raise re.error."""
    return re.compile(os.fsencode(pattern).decode("utf-8", "replace"))


def has_match(log: "IO[bytes]", pattern: "Pattern[str]") -> bool:
    """In one line; a carriage return ends one too, as progress bars mean it."""
    rest = b""
    while True:
        piece = log.read(_PIECE)
        lines = (rest + piece).replace(b"\r", b"\n").split(b"\n")
        rest = _shorten(lines.pop()) if piece else b""
        for line in lines:
            # What a training prints need not be text.
            if line and pattern.search(_shorten(line).decode("utf-8", "replace")):
                return True
        if not piece:
            return False


def main() -> None:
    """The log is the standard input, the pattern the only argument."""
    # Unbuffered: what is read is what is there.
    with open(0, "rb", 0) as log:
        found = has_match(log, compile_pattern(sys.argv[1]))
    sys.exit(_FOUND if found else _NOT_FOUND)


def _shorten(line: bytes) -> bytes:
    """Without the middle of a long one: its begin and its end stay where a pattern may ask for them."""
    return line if len(line) <= 2 * _HALF + 1 else line[:_HALF] + b"\0" + line[-_HALF:]
