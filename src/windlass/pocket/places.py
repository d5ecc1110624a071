"""Where pocket keeps its things."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "WINDLASS_POCKET_DIR"


@dataclass(frozen=True)
class Places:
    state: Path

    @property
    def database(self) -> Path:
        return self.state / "pocket.db"

    @property
    def settings(self) -> Path:
        return self.state / "pocket.toml"

    @property
    def bin(self) -> Path:
        return self.state / "bin"

    @property
    def keeper_lock(self) -> Path:
        return self.state / "keeper.lock"

    @property
    def bell(self) -> Path:
        """A named pipe: a byte in it wakes the keeper."""
        return self.state / "keeper.bell"

    @property
    def log(self) -> Path:
        return self.state / "pocket.log"

    @property
    def highest_id(self) -> Path:
        return self.state / "highest_id"

    def spool(self, job_id: int) -> Path:
        return self.state / "spool" / f"job{job_id:05}"

    def environment(self, job_id: int) -> Path:
        """What the job, or all tasks of the array, were submitted with."""
        return self.state / "environments" / f"job{job_id:05}"

    def hosts(self, job_id: int) -> Path:
        """The job's own /etc/hosts; there only where nodes can have names."""
        return self.spool(job_id) / "hosts"

    def job_lock(self, job_id: int) -> Path:
        return self.state / "locks" / f"job{job_id:05}"

    def node_tmp(self, job_id: int, node: str) -> Path:
        return self.job_tmp(job_id) / node

    def job_tmp(self, job_id: int) -> Path:
        return self.state / "tmp" / f"job{job_id:05}"

    def make(self) -> None:
        self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self.state / "spool").mkdir(mode=0o700, exist_ok=True)
        (self.state / "locks").mkdir(mode=0o700, exist_ok=True)


def find_places() -> Places:
    """The state folder: $WINDLASS_POCKET_DIR, else the user's state folder."""
    if named := os.environ.get(VARIABLE):
        return Places(Path(named).absolute())
    return Places(_user_state() / "windlass" / "pocket")


def _user_state() -> Path:
    # platformdirs' answer without its import, which costs a third of a squeue; a test compares the two.
    if sys.platform == "darwin":
        return Path("~/Library/Application Support").expanduser()
    named = os.environ.get("XDG_STATE_HOME", "").strip()
    return Path(named) if named else Path("~/.local/state").expanduser()
