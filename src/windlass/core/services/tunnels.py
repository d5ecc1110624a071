"""The ways from a laptop to a port on the node of a job, and the lines that open them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from windlass.core.shell import quote, quote_all
from windlass.core.site import Site
from windlass.errors import UsageError

_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
_LAST_PORT = 65_535


class Way(StrEnum):
    FORWARD = "forward"  # ssh -O forward: where the login node reaches the port of the node
    SRUN = "srun"  # a step in the job calls the service on its own node
    SSH = "ssh"  # the same by ssh from the login node, for sites without srun --overlap


@dataclass(frozen=True, kw_only=True)
class Ports:
    """Of the service on its node, and of the laptop."""

    there: int
    here: int
    is_named: bool = False  # the laptop's was asked for


@dataclass(frozen=True, kw_only=True)
class Spot:
    """Where a service is: on which node of which job."""

    site: Site
    job_id: str  # as srun wants it: of a task of an array its own number
    node: str
    port: int


def read_ports(text: str) -> Ports:
    """`8888`, or `8888:9999` where the laptop's port is another."""
    there, colon, here = text.partition(":")
    return Ports(there=_read_port(there), here=_read_port(here if colon else there), is_named=bool(colon))


def _read_port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= _LAST_PORT:
        hint = "windlass tunnel RUN 8888, or 8888:9999 for another port here"
        raise UsageError(f"{text[:40]!r} is no port", hint=hint)
    return int(text)


def check_host(name: str) -> str:
    """A name that is nothing else to ssh and srun."""
    if not _HOST.fullmatch(name):
        raise UsageError(f"{name[:80]!r} is no name of a node")
    return name


def list_ways(site: Site, *, is_reachable: bool, wanted: Way | None = None) -> tuple[Way, ...]:
    """In the order in which they are tried. is_reachable: the login node could connect to the port just now."""
    if wanted is not None:
        return (wanted,)
    steps = (Way.SRUN,) if site.is_local else (Way.SRUN, Way.SSH)
    return (Way.FORWARD, *steps) if is_reachable and not site.is_local else steps


def make_step_line(site: Site, options: Sequence[str], command: Sequence[str], *, flags: str = "") -> str:
    """A step of a job. flags: shell text before the options, as it is."""
    path = f"export PATH={quote(site.software.slurm_path)}:$PATH; " if site.software.slurm_path else ""
    words = f"{flags} {quote_all(options)}" if flags else quote_all(options)
    return f"{path}exec srun {words} {quote_all(command)}"


def make_relay_line(way: Way, spot: Spot, program: Sequence[str]) -> str:
    """What a login shell of the site runs: our program, on the node, with its input and output."""
    if way is Way.SSH:
        flags = "-T -o BatchMode=yes -o ConnectTimeout=10"
        return f"exec ssh {flags} {quote(check_host(spot.node))} {quote('exec ' + quote_all(program))}"
    options = (
        f"--jobid={spot.job_id}",
        "--overlap",  # beside the training, whatever it holds
        "--quiet",
        "--nodes=1",
        "--ntasks=1",
        f"--nodelist={check_host(spot.node)}",
        "--gres=none",
        "--mpi=none",
        "--job-name=relay",
    )
    return make_step_line(spot.site, options, program)
