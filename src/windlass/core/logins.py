"""When one will have to log in anew: certificates of ssh and tickets of Kerberos, as their own programs tell of them.

Of a password or a second factor nobody knows how long it holds; of a shared connection neither: it lasts as long as it
is used. A certificate or a ticket says it itself.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

_VALID = re.compile(r"^\s+Valid: (?:from (?P<begin>\S+) )?(?:after (?P<after>\S+))?(?:(?:to|before) (?P<end>\S+))?")
_CERTIFICATE_LINE = re.compile(r"^\S+-cert-v0\d@openssh\.com ")
_TICKET = re.compile(r"^(?P<begin>\S+ \S+)\s{2,}(?P<end>\S+ \S+)\s{2,}krbtgt/")
_TICKET_FORMS = ("%m/%d/%y %H:%M:%S", "%m/%d/%Y %H:%M:%S")


@dataclass(frozen=True, kw_only=True)
class LoginEnd:
    what: str  # "certificate"
    until: float  # seconds since 1970


@dataclass(frozen=True, kw_only=True)
class Validity:
    """None: without a bound on that side."""

    begin: float | None = None
    end: float | None = None

    def holds(self, now: float) -> bool:
        return (self.begin is None or self.begin <= now) and (self.end is None or now < self.end)


@dataclass(frozen=True, kw_only=True)
class SshSettings:
    """What `ssh -G` tells of the keys for one host."""

    certificates: tuple[str, ...] = ()  # files that may be there, "~" not filled in
    agent: str | None = None  # its socket, where another than the usual one is set; "none": no agent is asked
    asks_agent: bool = True
    uses_kerberos: bool = False


def read_ssh_settings(text: str) -> SshSettings:
    pairs = [(name, value) for line in text.splitlines() for name, _, value in [line.partition(" ")]]
    values = dict(pairs)
    keys = [value for name, value in pairs if name == "identityfile"]
    named = [value for name, value in pairs if name == "certificatefile"]
    agent = values.get("identityagent")
    return SshSettings(
        certificates=tuple(dict.fromkeys([*named, *(f"{key}-cert.pub" for key in keys)])),
        agent=None if agent in (None, "SSH_AUTH_SOCK") else agent,
        asks_agent=values.get("identitiesonly") != "yes" and agent != "none",
        uses_kerberos=values.get("gssapiauthentication") == "yes",
    )


def pick_certificates(text: str) -> tuple[str, ...]:
    """Of a file of public keys, or of `ssh-add -L`: the lines that are certificates."""
    return tuple(line for line in text.splitlines() if _CERTIFICATE_LINE.match(line))


def read_certificates(text: str) -> tuple[Validity, ...]:
    """Of `ssh-keygen -L`, called with TZ=UTC: users' certificates; those of hosts are passed over."""
    return tuple(_read_certificates(text))


def read_tickets(text: str) -> tuple[Validity, ...]:
    """Of MIT's `klist`, called with LC_ALL=C and TZ=UTC: tickets that get others. A renewal begins a new one."""
    found = (_TICKET.match(line) for line in text.splitlines())
    times = [(_read_ticket_time(one["begin"]), _read_ticket_time(one["end"])) for one in found if one is not None]
    return tuple(Validity(begin=begin, end=end) for begin, end in times if end is not None)


def find_end(what: str, validities: Sequence[Validity], now: float) -> LoginEnd | None:
    """The last of those that hold now: each of them may be the one that opens the door.

    None where none holds (an old one that lies about opens nothing, and whoever asks the site will be told) and where
    one holds for ever.
    """
    holding = [one for one in validities if one.holds(now)]
    ends = [one.end for one in holding if one.end is not None]
    return LoginEnd(what=what, until=max(ends)) if ends and len(ends) == len(holding) else None


def _read_certificates(text: str) -> Iterator[Validity]:
    is_users = False
    for line in text.splitlines():
        if line.strip().startswith("Type: "):
            is_users = line.rstrip().endswith("user certificate")
        found = _VALID.match(line)
        if found is not None and is_users:
            yield Validity(begin=_read_time(found["begin"] or found["after"]), end=_read_time(found["end"]))


def _read_time(text: str | None) -> float | None:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() if text else None
    except ValueError:
        return None


def _read_ticket_time(text: str) -> float | None:
    for form in _TICKET_FORMS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    return None
