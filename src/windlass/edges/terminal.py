"""A program of a site in the user's own terminal: a shell that one types into."""

import subprocess
import sys

from windlass.edges.host import Host
from windlass.edges.ssh_host import SshHost
from windlass.errors import HostUnreachable


def run_in_terminal(host: Host, line: str) -> int:
    """Until it ends; its exit code. Where our input is no terminal, it is read as it is."""
    has_terminal = sys.stdin.isatty()
    argv = ["bash", "-lc", line]
    if isinstance(host, SshHost):
        argv = host.make_terminal_argv(line, has_terminal=has_terminal)
    try:
        return subprocess.run(argv, check=False).returncode
    except OSError as error:
        raise HostUnreachable(f"cannot run {argv[0]}: {error.strerror}") from error
