"""What a service tells of itself: a card in a folder that only its user can read, with the token beside it."""

import os
import secrets
import time
from typing import Any, Dict

from windlass_job import disk, slurm, wire


class Card:
    """`folder` is made anew: what an earlier link left there is of no use."""

    def __init__(self, run_folder: str, kind: str, env: Dict[str, str]) -> None:
        self.folder = os.path.join(run_folder, wire.SERVICE)
        self.token_path = os.path.join(self.folder, wire.SERVICE_TOKEN)
        self._path = disk.as_path(os.path.join(self.folder, wire.SERVICE_CARD))
        self._values: Dict[str, Any] = {
            "kind": kind,
            "state": "",
            "node": slurm.load_node(env),
            "job": slurm.get_job(env),
            "port": None,
            "host": "",  # where others reach it; empty: on its node alone
            "warning": "",
            "problem": "",
            "program": "",
            "idle_after_s": None,
            "deadline": slurm.read_number(env, wire.ENV_DEADLINE, 0) or None,
        }

    def make_folder(self) -> None:
        os.makedirs(self.folder, 0o700, exist_ok=True)
        os.chmod(self.folder, 0o700)  # files of others' making in it are not all as careful
        disk.remove_if_there(self._path)
        disk.remove_if_there(disk.as_path(self.token_path))

    def make_token(self) -> str:
        """A word that nobody can guess, in a file that nobody else can read."""
        token = secrets.token_hex(24)
        disk.write_new(disk.as_path(self.token_path), token.encode("ascii"), 0o600)
        return token

    def forget_token(self) -> None:
        """It opens nothing any more."""
        disk.remove_if_there(disk.as_path(self.token_path))

    def put(self, state: str, **values: Any) -> None:
        self._values.update(values, state=state, updated=time.time())
        disk.replace(self._path, disk.make_json(self._values), 0o600)

    @property
    def state(self) -> str:
        state: str = self._values["state"]
        return state
