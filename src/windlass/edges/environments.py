"""Environments at a site: what was built there."""

from contextlib import suppress

from windlass.core.codec import from_json
from windlass.core.environment import Built
from windlass.edges.host import Host, Request, expect, make_command, read_completed
from windlass.errors import EnvironmentFailed, EnvironmentNotFound
from windlass_job import wire

_PATIENCE_S = 60.0  # modules, and a conda that starts from a slow disk


def fetch_built(host: Host, root: str, env_id: str) -> Built | None:
    """None: it is not built there. Its card is written last, so what has one is whole."""
    path = f"{root}/{wire.ENVS}/{env_id}/{wire.ENV_CARD}"
    (reply,) = host.ask([Request(operation="read", arguments={"path": path}, idempotent=True)])
    if not reply.ok:
        return None
    return from_json(reply.payload, Built, error=EnvironmentFailed, what=path)


def fetch_all_built(host: Host, root: str) -> tuple[Built, ...]:
    """In one round trip. A card that cannot be read does not hide the others."""
    script = 'cd "$1" 2> /dev/null || exit 0; for card in */"$2"; do [ ! -f "$card" ] || cat "$card"; done'
    argv = ["sh", "-c", script, "sh", f"{root}/{wire.ENVS}", wire.ENV_CARD]
    [reply] = host.ask([make_command(argv, timeout_s=_PATIENCE_S, idempotent=True)])
    found = []
    for text in read_completed(reply).out.split("\n}\n"):  # a card is one object, indented, with an end of line
        with suppress(EnvironmentFailed):
            found.append(from_json(f"{text}\n}}".encode(), Built, error=EnvironmentFailed, what="a card"))
    return tuple(found)


def fetch_log(host: Host, root: str, env_id: str) -> bytes | None:
    """What its last build said; None: nothing of that name was ever built there."""
    path = f"{root}/{wire.ENVS}/{env_id}/{wire.ENV_LOG}"
    (reply,) = host.ask([Request(operation="read", arguments={"path": path}, idempotent=True)])
    return reply.payload if reply.ok else None


def find_damage(host: Host, built: Built) -> str | None:
    """What befell an image since it was built: by its size, and by its sum where it was written to after that.

    A sum of 8 GB takes half a minute, so it is not taken each time.
    """
    if built.digest is None:
        return None
    [reply] = host.ask([make_command(["stat", "-L", "-c", "%s %Y", built.path], idempotent=True)])
    words = read_completed(reply).out.split()
    if len(words) != 2:
        return f"{built.path} is gone"
    if int(words[0]) != built.bytes:
        return f"{built.path} has {words[0]} bytes, and had {built.bytes} when it was built"
    return fetch_changed_sum(host, built) if float(words[1]) > built.made + 1 else None


def fetch_changed_sum(host: Host, built: Built) -> str | None:
    """None: its content is what was built."""
    folder, _, name = built.path.rpartition("/")
    request = Request(operation="hash_files", arguments={"folder": folder, "paths": [name]}, idempotent=True)
    reply = expect(host.ask([request])[0], EnvironmentFailed, f"{host.name}: {built.path} could not be read")
    found = f"sha256:{reply.values['sha256'][0]}"
    if found == built.digest:
        return None
    return f"{built.path} has the checksum {found[:19]}…, and had {(built.digest or '')[:19]}… when it was built"


def fetch_place(host: Host, script: str) -> str:
    """The folder that the script prints last, run by a login shell; what it says of one that is not there is raised."""
    [reply] = host.ask([make_command(["bash", "-lc", script], timeout_s=_PATIENCE_S, idempotent=True)])
    done = read_completed(reply)
    lines = done.out.splitlines()
    if done.exit_code == 0 and lines and lines[-1].startswith("/"):
        return lines[-1]
    if done.timed_out:
        raise EnvironmentFailed(f"{host.name} did not say within {_PATIENCE_S:g} s where the environment lies")
    said = [line.removeprefix("windlass: ") for line in done.err.splitlines() if line.startswith("windlass: ")]
    message, *details = said or done.err.strip().splitlines()[-1:] or ["the environment was not found"]
    raise EnvironmentNotFound(message, details=details, done="nothing was built or submitted")
