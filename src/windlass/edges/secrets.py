"""Secrets by reference: read on the laptop at the last moment, sent as a file only the user can read."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

from windlass.errors import ConfigError

_COMMAND_S = 30


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
            return environ[rest]
        case "file":
            return _read_file(name, Path(rest).expanduser())
        case _:
            return _run_command(name, rest)


def _read_file(name: str, path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise _missing(name, f"{path} cannot be read: {error}", f"ls -l {path}") from error


def _run_command(name: str, command: str) -> str:
    try:
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=_COMMAND_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _missing(name, f"its command could not be run: {type(error).__name__}", command) from error
    if done.returncode:
        raise _missing(name, f"its command ended with {done.returncode}: {done.stderr.strip()[:200]}", command)
    return done.stdout.strip()


def _missing(name: str, why: str, hint: str) -> ConfigError:
    return ConfigError(f"the secret {name} cannot be had: {why}", hint=hint, done="nothing was sent")
