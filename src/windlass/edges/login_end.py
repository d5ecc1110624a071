"""Until when one can log in to a host, by the programs of this laptop: ssh-keygen, ssh-add, klist. No host is asked."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from windlass.core.logins import (
    LoginEnd,
    SshSettings,
    find_end,
    pick_certificates,
    read_certificates,
    read_ssh_settings,
    read_tickets,
)
from windlass.edges.ssh_target import SshTarget

_PATIENCE_S = 10.0
_MOST_BYTES = 1 << 20


def find_login_end(target: SshTarget, environ: Mapping[str, str], now: float) -> LoginEnd | None:
    """The first that will need a hand; None: nothing ends, or nobody can know."""
    settings = read_ssh_settings(_run(target.make_argv(options={}, flags=("-G",)), environ))
    ends = [_find_certificate(settings, environ, now)]
    if settings.uses_kerberos:
        ends.append(find_end("Kerberos ticket", read_tickets(_run(["klist"], environ)), now))
    return min((end for end in ends if end is not None), key=lambda end: end.until, default=None)


def _find_certificate(settings: SshSettings, environ: Mapping[str, str], now: float) -> LoginEnd | None:
    lines = [line for path in settings.certificates for line in pick_certificates(_load(path, environ))]
    if settings.asks_agent and (settings.agent or environ.get("SSH_AUTH_SOCK")):
        socket = {"SSH_AUTH_SOCK": _fill_home(settings.agent, environ)} if settings.agent else {}
        lines += pick_certificates(_run(["ssh-add", "-L"], {**environ, **socket}))
    if not lines:
        return None
    text = _run(["ssh-keygen", "-L", "-f", "-"], environ, given="\n".join([*dict.fromkeys(lines), ""]))
    return find_end("certificate", read_certificates(text), now)


def _load(path: str, environ: Mapping[str, str]) -> str:
    try:
        with Path(_fill_home(path, environ)).open("rb") as opened:
            return opened.read(_MOST_BYTES).decode(errors="replace")
    except OSError:
        return ""


def _fill_home(path: str, environ: Mapping[str, str]) -> str:
    return environ.get("HOME", "") + path[1:] if path.startswith("~/") else path


def _run(argv: Sequence[str], environ: Mapping[str, str], *, given: str = "") -> str:
    """What it says, with times of UTC; nothing where it is not there or does not answer."""
    plain = {**environ, "TZ": "UTC", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            argv,
            input=given.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=plain,
            timeout=_PATIENCE_S,
            check=False,
            start_new_session=True,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace")
