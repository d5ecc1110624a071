"""A block of ports for each job, so that two jobs on one node never clash.

The number of the job says which block to try first. The agent keeps the block's first port bound as long as it lives:
another agent finds it taken and goes on to the next block.
"""

import errno
import socket
from typing import Dict, Mapping, Optional

from windlass_job import wire

# Places in the block: 0 is held by the agent, wire.MASTER_PLACE is MASTER_PORT.
MEETING_PLACE = 2  # where the nodes meet before the training
FIRST_FREE = 3  # from here on for launchers; the network test takes from the other end
_MOST_TRIES = 200


class PortBlock:
    """Held until it is closed, or its process ends; a command does not inherit it."""

    def __init__(self, first: int, held: socket.socket) -> None:
        self.first = first
        self._held = held

    def close(self) -> None:
        self._held.close()


def take_block(job: int) -> Optional[PortBlock]:
    """The first block, from the job's own on, of which every port is free on this node."""
    for number in range(job, job + _MOST_TRIES):
        first = get_first_port(number)
        held = _bind(first)
        if held is None:
            continue
        if all(_is_free(port) for port in range(first + 1, first + wire.PORT_BLOCK)):
            return PortBlock(first, held)
        held.close()
    return None


def get_first_port(job: int) -> int:
    return wire.FIRST_PORT + wire.PORT_BLOCK * (job % wire.PORT_BLOCKS)


def get_master_port(job: int) -> int:
    """The one of the job's own block; the script has the same formula."""
    return get_first_port(job) + wire.MASTER_PLACE


def make_variables(env: Mapping[str, str], first: int) -> Dict[str, str]:
    """Somebody's own MASTER_PORT is left as it is; what the script reckoned from the job's number is not."""
    made = {wire.ENV_PORTS: str(first)}
    job = env.get("SLURM_JOB_ID", "")
    reckoned = str(get_master_port(int(job))) if job.isdigit() else None
    if env.get("MASTER_PORT") in (None, "", reckoned):
        made["MASTER_PORT"] = str(first + wire.MASTER_PLACE)
    return made


def _is_free(port: int) -> bool:
    probe = _bind(port)
    if probe is None:
        return False
    probe.close()
    return True


def _bind(port: int) -> Optional[socket.socket]:
    """Bound on every address of the node, IPv4 and IPv6, and not listening; None when the port is taken."""
    for family, address in ((socket.AF_INET6, "::"), (socket.AF_INET, "")):
        try:
            found = socket.socket(family)
        except OSError:  # a kernel without IPv6
            continue
        try:
            if family == socket.AF_INET6:
                found.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            found.bind((address, port))
            return found
        except OSError as error:
            found.close()
            if error.errno == errno.EADDRINUSE:
                return None
    return None
