"""What ssh said, and what it means for the user. Pure: text in, error out."""

import re
from dataclasses import dataclass

from windlass.core.shell import quote
from windlass.core.site import Site
from windlass.errors import ConnectionLost, HostKeyChanged, HostUnreachable, LoginNeeded, WindlassError

SESSION_REFUSED = "Session open refused by peer"


@dataclass(frozen=True)
class _Meaning:
    words: str  # a regular expression, looked for without regard to case
    error: type[WindlassError]
    message: str  # {host}
    hint: str = ""  # {host} {site} {key_host}


# The first that matches counts: a failure at the jump host ends with the words of the connection behind it.
_MEANINGS = (
    _Meaning(
        r"REMOTE HOST IDENTIFICATION HAS CHANGED|Host key for \S+ has changed",
        HostKeyChanged,
        "{host} answers with another host key than the one you know",
        "compare the fingerprint with the centre's, then: ssh-keygen -R {key_host}",
    ),
    _Meaning(
        r"Host key verification failed|No \S+ host key is known for",
        LoginNeeded,
        "the host key of {host} is not known yet, and ssh wants you to confirm it",
        "windlass login {site}",
    ),
    _Meaning(
        r"Could not resolve hostname|Name or service not known|nodename nor servname",
        HostUnreachable,
        "the name {host} cannot be found",
        "check the network, and the name: ssh {host}",
    ),
    _Meaning(
        r"Permission denied|Too many authentication failures|No more authentication methods|authentication failed",
        LoginNeeded,
        "{host} wants you to log in",
        "windlass login {site}",
    ),
    _Meaning(r"timed out|Timeout, server", HostUnreachable, "{host} does not answer", "ssh {host}"),
    _Meaning(r"Connection refused", HostUnreachable, "{host} refuses connections", "ssh {host}"),
    _Meaning(
        r"No route to host|Network is unreachable|Network is down",
        HostUnreachable,
        "there is no way to {host} from this network",
        "ssh {host}",
    ),
    _Meaning(
        r"kex_exchange_identification|Connection (closed|reset) by|stdio forwarding failed|banner exchange",
        HostUnreachable,
        "{host} closed the connection before the login",
        "ssh {host}",
    ),
    _Meaning(
        SESSION_REFUSED,
        ConnectionLost,
        "{host} allows no further session on the shared connection",
        "close a terminal that uses it, or: windlass logout {site}",
    ),
    _Meaning(
        r"Bad configuration option|no argument after keyword|bad configuration options|Bad owner or permissions",
        HostUnreachable,
        "ssh does not accept its configuration",
        "ssh -G {host}",
    ),
)


def explain_ssh(words: str, site: Site) -> WindlassError:
    """The error for ssh's own failure (exit code 255)."""
    host = site.login.host or site.name
    for meaning in _MEANINGS:
        if re.search(meaning.words, words, re.IGNORECASE):
            names = {"host": host, "site": site.name, "key_host": _find_key_host(words, host)}
            return meaning.error(
                meaning.message.format(**names),
                said=pick_words(words),
                details=_make_details(meaning.error, site),
                hint=meaning.hint.format(**names) or None,
            )
    return ConnectionLost(f"the connection to {host} broke", said=pick_words(words), hint=f"ssh {host}")


def pick_words(words: str) -> str | None:
    """The last lines, where ssh says what happened; banners come before."""
    lines = [line.rstrip() for line in words.splitlines() if line.strip()]
    return "\n".join(lines[-8:]) or None


def _make_details(error: type[WindlassError], site: Site) -> tuple[str, ...]:
    if error is HostUnreachable and site.login.vpn:
        return (f"{site.name} is reached through a VPN: {site.login.vpn}",)
    return ()


def _find_key_host(words: str, host: str) -> str:
    """The name under which the old key is known: of the jump host perhaps, with a port perhaps."""
    told = re.search(r"ssh-keygen -f \S+ -R [\"']?([^\"'\s]+)", words) or re.search(
        r"Host key for (\S+) has changed", words
    )
    return quote(told.group(1) if told else host)
