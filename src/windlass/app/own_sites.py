"""Which sites are the user's own: a file that comes with Windlass is no account there."""

from pathlib import Path

from windlass.app.session import Session
from windlass.edges.settings import load_named_sites
from windlass.edges.site_files import list_added_names, list_site_names, load_sites
from windlass.errors import WindlassError

_LOGIN_KEY = "logged-in:"
_MOST = 1000


def find_own_sites(session: Session, project: Path) -> tuple[str, ...]:
    """Added, logged in to, named in the settings, or with runs; and this machine. The others are not asked unbidden."""
    local = {site.name for site in load_sites(session.folders).sites if site.is_local}
    used = {*session.store.sites(), *session.store.kept_below(_LOGIN_KEY, kind=str, limit=_MOST)}
    own = {*local, *used, *list_added_names(session.folders), *_find_named(session, project)}
    return tuple(name for name in list_site_names(session.folders) if name in own)


def note_login(session: Session, name: str) -> None:
    session.store.keep(_LOGIN_KEY + name, name)


def _find_named(session: Session, project: Path) -> frozenset[str]:
    """A mistake in a file must not hide the sites that are known otherwise."""
    try:
        return load_named_sites(project, session.environ)
    except WindlassError as problem:
        session.tell(f"sites that the settings name are not known: {problem.message}")
        return frozenset()
