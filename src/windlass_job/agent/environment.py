"""The environment of the user's command: what the script gave, its secrets, and what helps and is not set."""

import os
import time
from typing import Callable, Dict, Mapping, Optional

from windlass_job import slurm, wire
from windlass_job.bounded import PATIENCE_S, describe, within
from windlass_job.secrets_file import read_secrets as read_secrets
from windlass_job.starting.ranks import make_rendezvous

HELPFUL = {
    "PYTHONUNBUFFERED": "1",  # else the log stays empty for as long as 8 kB of it are missing
    "PYTHONFAULTHANDLER": "1",  # a crash in a library shows where
}

_BEGAN = time.time()


def make_environment(env: Mapping[str, str], note: Callable[[str], None]) -> Dict[str, str]:
    made = dict(HELPFUL)
    made.update(make_rendezvous(env))
    made.update(env)
    folder = env.get(wire.ENV_RUN_DIR)
    if folder:
        made.update(_load_secrets(os.path.join(folder, wire.SECRETS), note))
        made["PYTHONPATH"] = _add_job_zip(folder, made.get("PYTHONPATH"))
    made.update(_make_deadline(env))
    _make_checkpoint_folder(env.get(wire.ENV_CHECKPOINTS), note)
    return made


def _add_job_zip(folder: str, path: Optional[str]) -> str:
    """So that `from windlass_job import run` works in the command, whatever environment it activates."""
    return os.pathsep.join([os.path.join(folder, wire.JOB_ZIP)] + ([path] if path else []))


def _make_deadline(env: Mapping[str, str]) -> Dict[str, str]:
    """Slurm 22.05 does not say when a job ends: it is when the agent began, and as long as a link may last."""
    seconds = slurm.read_number(env, wire.ENV_LINK_S, 0)
    return {wire.ENV_DEADLINE: str(int(_BEGAN + seconds)) if seconds else ""}


def _load_secrets(path: str, note: Callable[[str], None]) -> Dict[str, str]:
    try:
        text = within(PATIENCE_S, _read, path)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        note("the secrets cannot be read, the command runs without them: {}".format(describe(error)))
        return {}
    secrets, bad_lines = read_secrets(text)
    if bad_lines:
        note("{} lines of {} cannot be read".format(bad_lines, wire.SECRETS))
    return secrets


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _make_checkpoint_folder(path: Optional[str], note: Callable[[str], None]) -> None:
    if not path:
        return
    try:
        within(PATIENCE_S, os.makedirs, path, 0o777, True)
    except OSError as error:
        note("cannot make the folder for checkpoints {}: {}".format(path, describe(error)))
