"""Horovod on Gloo: what `horovodrun` would set, from Slurm's variables. horovodrun itself needs ssh to every node.

Horovod's ranks find each other through a small store that speaks HTTP. Rank 0's first process keeps it
(`key_store.py`): Horovod's own would have to be imported with all that hangs on it, and differs by version.
"""

import socket
import time
from typing import Dict, Mapping, Optional

from windlass_job.bounded import describe
from windlass_job.starting.interfaces import find_interface
from windlass_job.starting.steps import Step, read_step

PATIENCE_S = 60.0
TIMEOUT_S = "120"  # Horovod's own 30 s are over before a shared disk has given hundreds of ranks their imports


def make_horovod(env: Mapping[str, str]) -> Dict[str, str]:
    step = read_step(env)
    column = [count > step.local_rank for count in step.counts]  # the nodes that have a rank in this place
    made = {
        "HOROVOD_RANK": str(step.rank),
        "HOROVOD_SIZE": str(step.size),
        "HOROVOD_LOCAL_RANK": str(step.local_rank),
        "HOROVOD_LOCAL_SIZE": str(step.counts[step.node] if step.node < len(step.counts) else 1),
        "HOROVOD_CROSS_RANK": str(sum(column[: step.node])),
        "HOROVOD_CROSS_SIZE": str(sum(column)),
        "HOROVOD_HOSTNAME": step.hosts[step.node] if step.node < len(step.hosts) else "localhost",
        "HOROVOD_GLOO_RENDEZVOUS_ADDR": step.hosts[0],
        "HOROVOD_GLOO_RENDEZVOUS_PORT": str(step.first_port),
    }
    wishes = {
        "HOROVOD_CONTROLLER": "gloo",
        "HOROVOD_CPU_OPERATIONS": "gloo",
        "HOROVOD_GLOO_TIMEOUT_SECONDS": TIMEOUT_S,
    }
    interface = _choose_interface(step)
    if interface is not None:
        wishes["HOROVOD_GLOO_IFACE"] = interface
    made.update({name: value for name, value in wishes.items() if name not in env})
    return made


def _choose_interface(step: Step) -> Optional[str]:
    """The one that leads to another node; a host's own name often means its loopback."""
    others = [host for host in step.hosts if host != step.hosts[step.node]]
    return find_interface(others[0] if others else "127.0.0.1")


def find_store(env: Mapping[str, str], patience_s: float = PATIENCE_S) -> Optional[str]:
    """Rank 0 keeps the store for as long as it lives, the others wait for it. What went wrong, in words, or None."""
    host, port = env["HOROVOD_GLOO_RENDEZVOUS_ADDR"], int(env["HOROVOD_GLOO_RENDEZVOUS_PORT"])
    try:
        if env["HOROVOD_RANK"] == "0":
            _keep_store(port)
        else:
            _wait_for_store(host, port, patience_s)
    except OSError as error:
        return "Horovod's rank {} on {} cannot meet the others at {}:{}: {}".format(
            env["HOROVOD_RANK"], env["HOROVOD_HOSTNAME"], host, port, describe(error)
        )
    return None


def _keep_store(port: int) -> None:
    from windlass_job.starting.key_store import KeyStore  # http.server is slow to import, and one rank needs it

    KeyStore(port).start()


def _wait_for_store(host: str, port: int, patience_s: float) -> None:
    """Horovod itself asks for two seconds, and a node may start its tasks later than another."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            socket.create_connection((host, port), timeout=5.0).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.2)
