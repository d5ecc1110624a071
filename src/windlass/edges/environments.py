"""Environments at a site: what was built there."""

import re
import secrets
from dataclasses import dataclass

from windlass.core.codec import from_json
from windlass.core.environment import MADE_FOR, PYTHON_NOW, Built, Damaged, Place, Remains, find_contradiction
from windlass.edges.host import Host, Request, expect, make_command, read_completed
from windlass.errors import EnvironmentFailed, EnvironmentNotFound
from windlass_job import wire

_HEAD = re.compile(rf"(?P<id>[a-z]+-[0-9a-z]+) (?P<what>card|{wire.ENVS}|{wire.WHEELS})")
_PATIENCE_S = 60.0  # modules, and a conda that starts from a slow disk


@dataclass(frozen=True, kw_only=True)
class Environments:
    """Those of a site."""

    built: tuple[Built, ...] = ()
    damaged: tuple[Damaged, ...] = ()
    remains: tuple[Remains, ...] = ()  # of what was not built to its end


def fetch_built(host: Host, root: str, env_id: str) -> Built | Damaged | None:
    """None: it is not built there. Its card is written last, so what has one is whole, unless somebody was at it."""
    folder = f"{root}/{wire.ENVS}/{env_id}"
    path = f"{folder}/{wire.ENV_CARD}"
    look = make_command(["sh", "-c", _FOLLOW, "sh", f"{folder}/{wire.ENV_CURRENT}"], idempotent=True)
    reply, followed = host.ask([Request(operation="read", arguments={"path": path}, idempotent=True), look])
    if reply.ok:
        found = _read_card(reply.payload, folder)
        return _compare(found, folder, read_completed(followed).out.strip()) if isinstance(found, Built) else found
    if reply.kind == "not-found":
        return None
    return Damaged(id=env_id, path=folder, problem=f"{wire.ENV_CARD} cannot be read: {reply.problem}")


# Where the link leads, with links on the way followed; nothing where it leads nowhere.
_FOLLOW = 'cd -P -- "$1" 2> /dev/null && pwd -P || exit 0'


def _compare(built: Built, folder: str, current: str) -> Built | Damaged:
    """Jobs enter by `current`: what it leads to must be what the card tells of."""
    name = current.rpartition("/")[2]
    if current and f"/{built.id}/{name}/" in f"{built.path}/":
        return built
    leads = f"leads to {name}" if current else "leads nowhere"
    problem = f"its link {wire.ENV_CURRENT} {leads}, and {wire.ENV_CARD} tells of {built.path}"
    return Damaged(id=built.id, path=folder, problem=problem)


def fetch_all(host: Host, root: str) -> Environments:
    """In one round trip. Each card comes behind a line that no card holds, so that a broken one hides no other."""
    mark = f"windlass-card-{secrets.token_hex(8)}"
    argv = ["sh", "-c", _LIST, "sh", root, wire.ENVS, wire.WHEELS, wire.ENV_CARD, wire.ENV_CURRENT, mark]
    [reply] = host.ask([make_command(argv, timeout_s=_PATIENCE_S, idempotent=True)])
    listed = [part.partition("\n") for part in read_completed(reply).out.split(f"{mark} ")[1:]]
    # Other folders are none of ours.
    parts = [(found, text) for head, _, text in listed if (found := _HEAD.fullmatch(head))]
    cards = [
        _read_card(text.encode(errors="replace"), f"{root}/{wire.ENVS}/{found['id']}")
        for found, text in parts
        if found["what"] == "card"
    ]
    known = {one.id for one in cards}
    return Environments(
        built=tuple(one for one in cards if isinstance(one, Built)),
        damaged=tuple(one for one in cards if isinstance(one, Damaged)),
        remains=_list_remains([(found["id"], found["what"]) for found, _ in parts if found["id"] not in known], root),
    )


def _list_remains(found: list[tuple[str, str]], root: str) -> tuple[Remains, ...]:
    """Each id once, though it has a build and wheels."""
    of_builds = {env_id for env_id, what in found if what == wire.ENVS}
    return tuple(
        Remains(id=env_id, path=f"{root}/{what}/{env_id}", has_build=what == wire.ENVS)
        for env_id, what in found
        if what == wire.ENVS or env_id not in of_builds
    )


# Also what has no card any more, but was built; what was never built to its end has neither, and perhaps wheels.
_LIST = """
cd "$1" 2> /dev/null || exit 0
for path in "$2"/*/ "$3"/*/; do
  path=${path%/}
  what=${path%%/*}
  if [ "$what" = "$2" ] && { [ -e "$path/$4" ] || [ -L "$path/$4" ] || [ -L "$path/$5" ]; }; then
    what=card
  fi
  printf '\\n%s %s %s\\n' "$6" "${path#*/}" "$what"
  [ "$what" != card ] || cat "$path/$4" 2> /dev/null
done
exit 0
"""


def _read_card(content: bytes, folder: str) -> Built | Damaged:
    env_id = folder.rpartition("/")[2]
    try:
        built = from_json(content, Built, error=EnvironmentFailed, what=wire.ENV_CARD)
    except EnvironmentFailed as unreadable:
        return Damaged(id=env_id, path=folder, problem=unreadable.message)
    if wrong := find_contradiction(built, env_id):
        return Damaged(id=env_id, path=folder, problem=f"{wire.ENV_CARD} cannot be right: {wrong}")
    return built


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


def fetch_own_python(host: Host) -> str | None:
    """As a command finds it that is started here: "3.11.4"; None: there is none."""
    [reply] = host.ask([make_command(["sh", "-c", _OWN_PYTHON], timeout_s=_PATIENCE_S, idempotent=True)])
    found = re.fullmatch(r"Python (\d[\w.+]*)", read_completed(reply).out.strip())
    return found[1] if found else None


_OWN_PYTHON = 'exec "$(command -v python || command -v python3)" -V 2> /dev/null'


def fetch_place(host: Host, script: str) -> Place:
    """The folder that the script prints last, run by a login shell; what it says of one that is not there is raised."""
    [reply] = host.ask([make_command(["bash", "-lc", script], timeout_s=_PATIENCE_S, idempotent=True)])
    done = read_completed(reply)
    lines = done.out.splitlines()
    if done.exit_code == 0 and lines and lines[-1].startswith("/"):
        return Place(path=lines[-1], python=_find_version(lines, PYTHON_NOW), made_for=_find_version(lines, MADE_FOR))
    if done.timed_out:
        raise EnvironmentFailed(f"{host.name} did not say within {_PATIENCE_S:g} s where the environment lies")
    said = [line.removeprefix("windlass: ") for line in done.err.splitlines() if line.startswith("windlass: ")]
    message, *details = said or done.err.strip().splitlines()[-1:] or ["the environment was not found"]
    raise EnvironmentNotFound(message, details=details, done="nothing was built or submitted")


def fetch_listed(host: Host, script: str) -> str:
    """What a kind's script tells of its packages."""
    [reply] = host.ask([make_command(["bash", "-c", script], timeout_s=_PATIENCE_S, idempotent=True)])
    done = read_completed(reply)
    if done.exit_code == 0:
        return done.out
    last = (done.err.strip().splitlines() or [f"no answer within {_PATIENCE_S:g} s"])[-1]
    raise EnvironmentFailed(f"{host.name} could not list its packages: {last}", done="nothing was written")


def _find_version(lines: list[str], mark: str) -> str | None:
    """What a start file prints may stand before it."""
    told = next((line.removeprefix(mark) for line in lines if line.startswith(mark)), "")
    found = re.match(r"\d+\.\d+(?:\.\d+)?", told)
    return found[0] if found else None
