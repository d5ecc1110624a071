"""The disposable Slurm cluster of this folder, as tests see it."""

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tests.waiting import wait_until

_SCRIPTS = Path(__file__).parent
_USERS = ("alice", "bob", "carol", "root")

NODES = ("node1", "node2", "node3", "node4")


def reason_it_cannot_run() -> str | None:
    check = subprocess.run([_SCRIPTS / "check.sh"], capture_output=True, text=True, check=False)
    return check.stderr.strip() or None if check.returncode else None


def _find_root() -> Path:
    return Path(os.environ.get("WINDLASS_CLUSTER_ROOT", "/srv/windlass-cluster"))


@dataclass(frozen=True, kw_only=True)
class SlurmCluster:
    """Nodes are named by number, 1 to 4. What a method stops stays so until it is started, or `reset`."""

    root: Path = field(default_factory=_find_root)

    @property
    def ssh_config(self) -> Path:
        """Hosts `login` (through the jump host), `login-direct`, `jump`; `login-bob`, `login-carol`."""
        return self.root / "ssh" / "config"

    @property
    def has_cgroups(self) -> bool:
        """Without them neither memory nor devices are limited."""
        return (self.root / "run" / "cgroups").read_text().strip() == "yes"

    def home(self, user: str) -> Path:
        return self.root / "home" / user

    def is_up(self) -> bool:
        return self._call("status.sh", check=False).returncode == 0

    def start(self) -> None:
        """Returns at once when it is up; what is half up is started anew."""
        self._call("up.sh", timeout_s=180)

    def stop(self) -> None:
        self._call("down.sh", timeout_s=180)

    def run_as(
        self, user: str, command: str, *, stdin: str | None = None, timeout_s: float = 60, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a shell command as that user, freshly logged in on the login node."""
        return self._call("as.sh", user, command, stdin=stdin, timeout_s=timeout_s, check=check)

    def run_on_node(self, node: int, command: str) -> subprocess.CompletedProcess[str]:
        """Run a shell command as root on a node."""
        return self._break("on", f"node{node}", "bash", "-c", command)

    def kill_node(self, node: int) -> None:
        """As a power cut: every process on it is gone. Slurm sees it after some 35 s."""
        self._break("kill-node", f"node{node}")

    def start_node(self, node: int) -> None:
        self._break("start-node", f"node{node}")

    def cut_network(self, node: int) -> None:
        """The processes on it go on, unseen."""
        self._break("cut-network", f"node{node}")

    def plug_network(self, node: int) -> None:
        """Slurm sees it again at its next ping, up to 30 s later."""
        self._break("plug-network", f"node{node}")

    def mute_node(self, node: int) -> None:
        """Nobody can talk to it over the fabric (names nodeNi); Slurm goes on as if nothing were wrong."""
        self._break("mute", f"node{node}")

    def unmute_node(self, node: int) -> None:
        self._break("unmute", f"node{node}")

    def stop_controller(self, *, kill: bool = False) -> None:
        """Killed, slurmctld forgets what happened in its last seconds."""
        self._break("stop-controller", *(["-k"] if kill else []))

    def start_controller(self) -> None:
        self._break("start-controller")

    def stop_database(self) -> None:
        self._break("stop-database")

    def start_database(self) -> None:
        self._break("start-database")

    def cancel_all(self) -> None:
        for user in _USERS:
            self._slurm("scancel", "--quiet", "--user", user)

    def is_idle(self) -> bool:
        states = set(self._slurm("sinfo", "--noheader", "--Node", "--format=%N %T").splitlines())
        are_there = states >= {f"{node} idle" for node in NODES} and all(one.endswith(" idle") for one in states)
        return are_there and not self._slurm("squeue", "--noheader")

    def wait_until_idle(self, *, timeout_s: float = 60) -> None:
        wait_until(self.is_idle, "four idle nodes and an empty queue", timeout_s=timeout_s)

    def reset(self) -> None:
        """Cancel every job and mend what is broken; start anew where that does not help."""
        if self.is_up() and self.is_idle():
            return
        try:
            self.mend()
            self.cancel_all()
            self.wait_until_idle()
        except (subprocess.SubprocessError, TimeoutError):
            self.stop()
            self.start()

    def mend(self) -> None:
        """Start what is down, plug in what was cut."""
        self._break("mend", timeout_s=120)

    def _slurm(self, *command: str) -> str:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout

    def _break(self, *arguments: str, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
        return self._call("break.sh", *arguments, timeout_s=timeout_s)

    def _call(
        self,
        script: str,
        *arguments: str,
        stdin: str | None = None,
        timeout_s: float = 60,
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [_SCRIPTS / script, *arguments],
            input=stdin or "",
            env={**os.environ, "WINDLASS_CLUSTER_ROOT": str(self.root)},
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
        )
        if check and done.returncode:
            # CalledProcessError alone does not show what the command said.
            raise subprocess.SubprocessError(
                f"{script} {' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
            )
        return done
