"""A program of a site in the user's own terminal: a shell that one types into."""

import subprocess
import sys

from windlass.edges.host import Host
from windlass.edges.ssh_host import SshHost
from windlass.errors import HostUnreachable


def run_in_terminal(host: Host, line: str, *, login_shell: bool = True) -> int:
    """Until it ends; its exit code. Where our input is no terminal, it is read as it is.

    login_shell: on this very machine; start files may replace the environment that one is in.
    """
    has_terminal = sys.stdin is not None and sys.stdin.isatty()
    argv = ["bash", "-lc" if login_shell else "-c", line]
    if isinstance(host, SshHost):
        argv = host.make_terminal_argv(line, has_terminal=has_terminal)
    try:
        return subprocess.run(argv, check=False).returncode
    except OSError as error:
        raise HostUnreachable(f"cannot run {argv[0]}: {error.strerror}") from error
