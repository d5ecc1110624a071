"""A command on a login node that ends with the connection it was started through: without a terminal nobody tells it.

sshd closes its end of our output when the connection is gone, and nothing else.
"""

import argparse
import select
import signal
import subprocess
import threading
from typing import Any, Mapping, Optional

from windlass_job.command import as_exit_code

_LEAVE_S = 10.0
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_OUTPUT = 1


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--end", help="a line of bash that ends what COMMAND has started elsewhere")
    parser.add_argument("command", nargs=argparse.REMAINDER)


def run(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    child = subprocess.Popen(options.command)
    for number in _PASSED_ON:
        signal.signal(number, lambda received, _: _send(child, received))
    threading.Thread(target=_end_with_connection, args=(child, options.end), daemon=True).start()
    return as_exit_code(child.wait())


def _end_with_connection(child: "subprocess.Popen[bytes]", end: Optional[str]) -> None:
    wait_for_hangup(_OUTPUT)
    if end:
        subprocess.call(["bash", "-c", end], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    else:
        _send(child, signal.SIGTERM)
    try:
        child.wait(_LEAVE_S)
    except subprocess.TimeoutExpired:
        _send(child, signal.SIGKILL)


def wait_for_hangup(descriptor: int) -> None:
    """Until nobody can read what is written there: of a file or a terminal that stays, for ever."""
    poller = select.poll()
    poller.register(descriptor, 0)
    poller.poll()


def _send(child: "subprocess.Popen[bytes]", number: Any) -> None:
    try:
        child.send_signal(number)
    except OSError:
        pass  # it has just ended
