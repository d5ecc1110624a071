"""The one shared connection to a site: ssh's ControlMaster, the user's own where there is one, else ours."""

import fcntl
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import IO

from windlass.edges.runtime_folder import find_runtime_folder, make_private_folder
from windlass.edges.ssh_ciphers import find_ciphers
from windlass.edges.ssh_target import SshTarget
from windlass.edges.ssh_words import explain_ssh
from windlass.errors import HostUnreachable, LoginNeeded, WindlassError

_CHECK_S = 10.0
_OPEN_S = 30.0  # without a person; ConnectTimeout is 10 s for each hop
LOGIN_PERSIST = timedelta(hours=8)
UNATTENDED_PERSIST = timedelta(minutes=10)


class SshMaster:
    """Finds, opens and closes the shared connection. Never closes one that is not ours."""

    def __init__(self, target: SshTarget, *, runtime: Path | None = None) -> None:
        self._target = target
        self._folder = runtime or find_runtime_folder(os.environ, os.getuid())
        self.path = self._folder / f"{target.make_id()}.s"

    def find(self) -> dict[str, str] | None:
        """The ssh options that use a connection which is open now: ours, else the user's; None when there is none."""
        ours = self._make_ours()
        if self.path.exists() and self._check(ours):
            return ours
        return {"ControlMaster": "no"} if self.is_users() else None

    def is_users(self) -> bool:
        """Whether the user has a master of their own open, as their configuration names it."""
        return self._check({"ControlMaster": "no"})

    def open(self, *, interactive: bool, persist: timedelta | None = None) -> dict[str, str]:
        """The options of the open connection; opens ours when there is none.

        interactive: ssh may ask in the user's terminal. Otherwise it fails within seconds and the error says why.
        """
        with self._lock():
            found = self.find()
            if found is not None:
                return found
            # A socket that nobody answers: `ssh -M` would leave it, and stay behind as a connection nobody can use.
            self.path.unlink(missing_ok=True)
            keep = persist or (LOGIN_PERSIST if interactive else UNATTENDED_PERSIST)
            self._start(interactive=interactive, persist_s=max(1, int(keep.total_seconds())))
            return self._make_ours()

    def close(self) -> bool:
        """Ends ours; True when there was one."""
        if not self.path.exists():
            return False
        was_open = self._check(self._make_ours())
        if was_open:
            self._run(self._target.make_argv(options=self._make_ours(), flags=("-O", "exit")), _CHECK_S)
        self.path.unlink(missing_ok=True)
        return was_open

    def _make_ours(self) -> dict[str, str]:
        return {"ControlMaster": "no", "ControlPath": str(self.path)}

    def _check(self, options: Mapping[str, str]) -> bool:
        argv = self._target.make_argv(options=options, flags=("-O", "check"))
        try:
            return self._run(argv, _CHECK_S).returncode == 0
        except HostUnreachable:  # a master that does not even answer its socket, or no ssh at all
            return False

    def _start(self, *, interactive: bool, persist_s: int) -> None:
        options = {
            "ControlMaster": "yes",
            "ControlPath": str(self.path),
            "ControlPersist": str(persist_s),
            "BatchMode": "no" if interactive else "yes",
        }
        options |= {} if interactive else {"LogLevel": "ERROR"}
        ciphers = find_ciphers(self._target.make_argv(options={}, flags=("-G",)))
        options |= {"Ciphers": ciphers} if ciphers else {}
        argv = self._target.make_argv(options=options, flags=("-N", "-f"))
        if interactive:
            code = self._run_in_terminal(argv)
            if code != 0:
                host = self._target.host  # ssh's own words are on the terminal already
                raise LoginNeeded(f"ssh could not log in to {host} (exit code {code})", hint=f"ssh -v {host}")
            return
        # A file, not a pipe: the master lives on, and would hold a pipe open.
        with tempfile.TemporaryFile() as words:
            done = self._run(argv, _OPEN_S, words)
            words.seek(0)
            said = words.read().decode(errors="replace")
        if done.returncode != 0:
            raise explain_ssh(said, self._target.site)

    def _run_in_terminal(self, argv: Sequence[str]) -> int:
        try:
            return subprocess.run(argv, check=False).returncode
        except OSError as error:
            raise _make_no_ssh(argv[0], error) from error

    def _run(
        self,
        argv: Sequence[str],
        limit_s: float,
        words: IO[bytes] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        nowhere = subprocess.DEVNULL
        try:
            return subprocess.run(
                argv,
                stdin=nowhere,
                stdout=nowhere,
                stderr=words or nowhere,
                timeout=limit_s,
                check=False,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            raise explain_ssh(f"timed out: no answer within {limit_s:.0f} s", self._target.site) from None
        except OSError as error:
            raise _make_no_ssh(argv[0], error) from error

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """One at a time: two masters on one path, and the second could not be used nor ended."""
        make_private_folder(self._folder)
        with open(self.path.with_suffix(".lock"), "w") as file:
            deadline = time.monotonic() + _OPEN_S
            while not _is_locked_now(file.fileno()):
                if time.monotonic() > deadline:
                    site = self._target.site.name
                    raise LoginNeeded(f"a login to {site} is under way in another terminal", hint="finish it there")
                time.sleep(0.1)
            yield


def _is_locked_now(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _make_no_ssh(program: str, error: OSError) -> WindlassError:
    return HostUnreachable(
        f"cannot run {program}: {error.strerror}",
        hint="install the OpenSSH client, for example: apt install openssh-client",
    )
