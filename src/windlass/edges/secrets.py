"""Secrets by reference: read on the laptop at the last moment, sent as a file only the user can read.

What a source says when it fails is not shown: it may hold the very secret.
"""

import json
import os
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

from windlass.errors import ConfigError

_COMMAND_S = 30
_MOST_BYTES = 1_000_000


def resolve_secrets(references: Mapping[str, str], environ: Mapping[str, str]) -> bytes:
    """NAME=json lines for secrets.env; empty when there are none."""
    lines = [f"{name}={json.dumps(_resolve(name, text, environ))}\n" for name, text in sorted(references.items())]
    return "".join(lines).encode()


def _resolve(name: str, reference: str, environ: Mapping[str, str]) -> str:
    kind, _, rest = reference.partition(":")
    match kind:
        case "env":
            if rest not in environ:
                raise _missing(name, f"the variable {rest} is not set on this machine", f"export {rest}=…")
            return _check_text(name, environ[rest], f"the variable {rest}")
        case "file":
            return _read_file(name, rest)
        case _:
            return _run_command(name, rest)


def _read_file(name: str, written: str) -> str:
    try:
        path = Path(written).expanduser()
    except RuntimeError:
        raise _missing(name, f"there is no home folder for {written.partition('/')[0]}", None) from None
    try:
        # Not blocking: a pipe that nobody writes into would be waited for.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise _missing(name, f"{path} is not a regular file", f"ls -l {path}")
        with open(handle, "rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _missing(name, f"{path} cannot be read: {why}", f"ls -l {path}") from None
    return _decode(name, content, str(path))


def _run_command(name: str, command: str) -> str:
    try:
        done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=_COMMAND_S, check=False)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise _missing(name, f"its command could not be run: {type(error).__name__}", command) from None
    if done.returncode:
        raise _missing(name, f"its command ended with exit code {done.returncode}", command)
    return _decode(name, done.stdout, "the output of its command")


def _decode(name: str, content: bytes, where: str) -> str:
    if len(content) > _MOST_BYTES:
        raise _missing(name, f"{where} has more than {_MOST_BYTES // 1_000_000} MB; no secret is that long", None)
    try:
        return content.decode().strip()
    except UnicodeDecodeError:
        raise _missing(name, f"{where} is not UTF-8", None) from None


def _check_text(name: str, text: str, where: str) -> str:
    """A variable's bytes that are no text come as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _missing(name, f"{where} is not UTF-8", None) from None
    return text


def _missing(name: str, why: str, hint: str | None) -> ConfigError:
    return ConfigError(f"the secret {name} cannot be had: {why}", hint=hint, done="nothing was sent")
