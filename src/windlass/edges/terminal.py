"""A program of a site in the user's own terminal: a shell that one types into."""

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

from windlass.edges.host import Host
from windlass.edges.ssh_host import SshHost
from windlass.errors import HostUnreachable

_LEAVE_S = 5.0
# Nobody can be told of a `kill -9`; but the kernel closes what the killed had open. The pipe's number is $0.
_TIE = '{ read -r _ <&"$0" || kill -HUP $$; } </dev/null >/dev/null 2>&1 & exec "$@"'


def run_in_terminal(host: Host, line: str, *, login_shell: bool = True) -> int:
    """Until it ends; its exit code. Where our input is no terminal, it is read as it is.

    login_shell: on this very machine; start files may replace the environment that one is in.
    """
    has_terminal = sys.stdin is not None and sys.stdin.isatty()
    argv = ["bash", "-lc" if login_shell else "-c", line]
    if isinstance(host, SshHost):
        argv = host.make_terminal_argv(line, has_terminal=has_terminal)
    try:
        return _run_tied(argv)
    except OSError as error:
        raise HostUnreachable(f"cannot run {argv[0]}: {error.strerror}") from error


def _run_tied(argv: Sequence[str]) -> int:
    """Ends with this process, however that ends."""
    theirs, ours = os.pipe()
    process = subprocess.Popen(["bash", "-c", _TIE, str(theirs), *argv], pass_fds=(theirs,))
    os.close(theirs)
    try:
        code = process.wait()
    except BaseException:
        os.close(ours)
        _leave(process)
        raise
    with suppress(BrokenPipeError):  # a Slurm that cleans up has ended who reads
        os.write(ours, b"\n")
    os.close(ours)
    return code


def _leave(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(_LEAVE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
