"""The seam between Windlass and a machine: requests travel together, answers come back together.

On the other end sits the *deputy* (`windlass_job/deputy.py`): a small program of ours, started over ssh or as a
child process, that does what it is asked and decides nothing. One call of `ask` is one round trip.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from windlass.errors import WindlassError

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Request:
    """One thing to do: an operation of the deputy's, its arguments (JSON) and a payload of bytes."""

    operation: str
    arguments: Json = field(default_factory=dict)
    payload: bytes = b""
    only_if_ok: bool = False  # skipped when the request before it in the same `ask` failed
    idempotent: bool = False  # a command that may run twice, when the connection breaks before its answer


@dataclass(frozen=True, kw_only=True)
class Reply:
    """`ok` False: the operation could not be done; `problem` says why in words, `kind` in one word."""

    ok: bool
    values: Json = field(default_factory=dict)
    payload: bytes = b""
    problem: str = ""
    kind: str = ""  # "not-found", "no-space", "denied", "exists", "skipped", "failed"


@dataclass(frozen=True, kw_only=True)
class Completed:
    """A command that ran on the host."""

    exit_code: int
    out: str
    err: str
    timed_out: bool = False


class Host(Protocol):
    """A machine we run commands on."""

    @property
    def name(self) -> str: ...

    @property
    def round_trips(self) -> int:
        """How often this host was asked; for tests and benchmarks."""
        ...

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        """Send all, then read all: one round trip. Raises WindlassError when the host cannot be reached."""
        ...

    def close(self) -> None: ...


def make_command(
    argv: Sequence[str],
    *,
    stdin: bytes = b"",
    timeout_s: float = 60,
    path_prefix: str | None = None,
    env: Mapping[str, str] | None = None,
    idempotent: bool = False,
) -> Request:
    """A command without a shell in between; SLURM_* and SBATCH_* of an outer job are not passed on."""
    arguments: Json = {
        "argv": list(argv),
        "timeout_s": timeout_s,
        "path_prefix": path_prefix,
        "env": dict(env or {}),
    }
    return Request(operation="run", arguments=arguments, payload=stdin, idempotent=idempotent)


def read_completed(reply: Reply) -> Completed:
    """The answer to `make_command`; a command that could not be started at all has exit code 127."""
    if not reply.ok:
        return Completed(exit_code=127, out="", err=reply.problem)
    split = int(reply.values["out_bytes"])
    return Completed(
        exit_code=int(reply.values["exit_code"]),
        out=reply.payload[:split].decode(errors="replace"),
        err=reply.payload[split:].decode(errors="replace"),
        timed_out=bool(reply.values.get("timed_out", False)),
    )


def make_commands(commands: Sequence[Request], *, limit_s: float | None = None) -> Request:
    """Several of `make_command` as one request: the deputy runs some of them at the same time.

    limit_s: for all of them together; what has not ended by then has timed out.
    """
    arguments = [{**one.arguments, "stdin_bytes": len(one.payload)} for one in commands]
    return Request(
        operation="run_all",
        arguments={"commands": arguments, "limit_s": limit_s},
        payload=b"".join(one.payload for one in commands),
        idempotent=all(one.idempotent for one in commands),
    )


def read_all_completed(reply: Reply, count: int) -> list[Completed]:
    """The answers to `make_commands`, in its order."""
    if not reply.ok:
        return [read_completed(reply)] * count
    done, begin = [], 0
    for values in reply.values["answers"]:
        end = begin + int(values["bytes"])
        one = Reply(
            ok="problem" not in values,
            values=values,
            payload=reply.payload[begin:end],
            problem=values.get("problem", ""),
        )
        done.append(read_completed(one))
        begin = end
    return done


class RequestFailed(Exception):
    """The deputy's answer, as the cause of the error that `expect` makes of it."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.problem)
        self.reply = reply


def expect(reply: Reply, error: type[WindlassError], what: str) -> Reply:
    """The reply, or the deputy's words as the given error."""
    if not reply.ok:
        raise error(f"{what}: {reply.problem or reply.kind}") from RequestFailed(reply)
    return reply


def find_kind(problem: WindlassError) -> str:
    """The deputy's one word for what is behind an error; empty when something else is."""
    return problem.__cause__.reply.kind if isinstance(problem.__cause__, RequestFailed) else ""
