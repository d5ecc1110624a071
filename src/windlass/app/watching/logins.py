"""Until when one can log in to a site, noted by whoever watches it, for all who show alarms. No site is asked."""

from dataclasses import dataclass

from windlass.app.session import Session
from windlass.core.logins import LoginEnd

_KEY = "login-end:"
_AGAIN_S = 300.0  # ssh reads its configuration for it, and may run programs of the user's


@dataclass(frozen=True, kw_only=True)
class _Noted:
    end: LoginEnd | None = None


def note_login_end(session: Session, name: str) -> None:
    """Unless it was noted a moment ago."""
    if session.store.kept(_KEY + name, max_age_s=_AGAIN_S, kind=_Noted) is None:
        note_login_end_now(session, name)


def note_login_end_now(session: Session, name: str) -> None:
    """After a login, too: what is about to end may have been renewed."""
    from windlass.edges.login_end import find_login_end
    from windlass.edges.ssh_host import SshHost

    host = session.host(session.site(name))
    end = find_login_end(host.target, session.environ, session.clock()) if isinstance(host, SshHost) else None
    session.store.keep(_KEY + name, _Noted(end=end))


def load_login_end(session: Session, name: str) -> LoginEnd | None:
    noted = session.store.kept(_KEY + name, kind=_Noted)
    return noted.end if noted is not None else None
