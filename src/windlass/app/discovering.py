"""`site discover`: a first site file for a machine, drafted from its living Slurm."""

import time
from dataclasses import dataclass, replace

from windlass.app.session import Session
from windlass.core.seen.discovery import Discovered
from windlass.core.seen.draft import make_draft
from windlass.core.shell import quote
from windlass.core.site import Login, Site
from windlass.edges.discovery import discover
from windlass.edges.site_files import check_site_text
from windlass.errors import SiteNotReady


@dataclass(frozen=True, kw_only=True)
class Draft:
    seen: Discovered
    text: str  # of the site file

    @property
    def questions(self) -> int:
        """How many facts nobody but the centre can tell."""
        return sum(line.startswith("# ?") for line in self.text.splitlines())


def discover_site(session: Session, name: str, login: Login) -> Draft:
    """Nothing is written and nothing submitted. Raises when the host or its Slurm does not answer."""
    site = Site(name=name, root="$HOME", login=login)
    day = time.strftime("%Y-%m-%d", time.gmtime(session.clock()))
    seen = _look(session, site, day)
    text = make_draft(seen)
    check_site_text(name, text, session.folders)
    return Draft(seen=seen, text=text)


def pick_name(host: str) -> str:
    """`login1.narval.example.org`: narval would be better, but only a person knows; the first part is certain."""
    first = host.rpartition("@")[2].partition(".")[0]
    return "".join(char for char in first if char.isascii() and (char.isalnum() or char in "-_")).lstrip("-_") or "site"


def format_command(name: str, login: Login) -> str:
    """What to type to save this very site."""
    words = ["windlass", "site", "discover", login.host or "", "--name", name]
    words += ["--user", login.user] if login.user else []
    words += [word for one in login.jump for word in ("--jump", one)]
    return " ".join(quote(word) for word in (*words, "--save"))


def _look(session: Session, site: Site, day: str) -> Discovered:
    """Where Slurm is not on the PATH of a plain command, once more through a login shell."""
    try:
        return discover(session.host(site), site, day=day, now=session.clock())
    except SiteNotReady:
        if site.login.login_shell:
            raise
        session.tell("no Slurm in a plain shell; looking again through a login shell")
        again = replace(site, name=f"{site.name}-login", login=replace(site.login, login_shell=True))
        return discover(session.host(again), again, day=day, now=session.clock())
