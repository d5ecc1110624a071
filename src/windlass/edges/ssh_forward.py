"""A port forwarded by the shared connection itself: `ssh -O forward`, undone by `ssh -O cancel`."""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from windlass.edges.ssh_master import SshMaster
from windlass.edges.ssh_target import SshTarget

_ANSWER_S = 15.0
_PID = re.compile(r"pid=(\d+)")


@dataclass(frozen=True, kw_only=True)
class Forward:
    """127.0.0.1:local of the laptop is host:port as the login node sees it."""

    local: int
    host: str
    port: int

    @property
    def spec(self) -> str:
        # The address must be named: without it ssh is content with [::1] where 127.0.0.1 is taken.
        return f"127.0.0.1:{self.local}:{self.host}:{self.port}"


class ForwardFailed(Exception):
    """In ssh's words."""


class Forwarder:
    """Asks whichever connection is shared: ours, or the user's own."""

    def __init__(self, target: SshTarget, master: SshMaster) -> None:
        self._target = target
        self._master = master

    def open(self, forward: Forward) -> int:
        """The process of the connection that holds it: another one has not got it."""
        path = self._find_socket(self._master.open(interactive=False))
        done = self._ask(path, "forward", "-L", forward.spec)
        if done.returncode:
            raise ForwardFailed(done.stderr.decode(errors="replace").strip() or f"ssh ended with {done.returncode}")
        return self.find_process() or 0

    def close(self, forward: Forward) -> None:
        shared = self._master.find()
        if shared is not None:
            self._ask(self._find_socket(shared), "cancel", "-L", forward.spec)

    def find_process(self) -> int | None:
        """None: no connection is open."""
        shared = self._master.find()
        if shared is None:
            return None
        found = _PID.search(self._ask(self._find_socket(shared), "check").stderr.decode(errors="replace"))
        return int(found[1]) if found else None

    def _find_socket(self, shared: dict[str, str]) -> str:
        """Of the user's own connection their configuration knows it."""
        if "ControlPath" in shared:
            return shared["ControlPath"]
        told = self._run(self._target.make_argv(options=shared, flags=("-G",))).stdout.decode(errors="replace")
        lines = dict(line.split(" ", 1) for line in told.splitlines() if " " in line)
        return lines.get("controlpath", "none")

    def _ask(self, socket: str, *words: str) -> subprocess.CompletedProcess[bytes]:
        """Without any configuration: what it forwards for interactive use would be asked for too."""
        program, path = self._target.program, f"ControlPath={socket}"
        return self._run([program, "-F", "/dev/null", "-o", path, "-O", *words, self._target.host])

    def _run(self, argv: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_ANSWER_S,
                check=False,
                start_new_session=True,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ForwardFailed(f"{argv[0]} does not answer: {type(error).__name__}") from error
