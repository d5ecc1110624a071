"""One use of Windlass: the laptop's folders, the store, and the connections opened so far."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from windlass.edges.folders import Folders
from windlass.edges.store import Store

if TYPE_CHECKING:  # imported where it is needed: a look into the store alone must start fast
    from windlass.core.facts import Facts
    from windlass.core.notices import Event, Notices
    from windlass.core.site import Site
    from windlass.edges.cluster import Cluster
    from windlass.edges.host import Host

POCKET_MARK = "@pocket"
_FACTS_LAST_S = 600.0


def _say_nothing(_: str) -> None:
    """The Python API is silent unless asked."""


def _make_facts_key(site: "Site") -> str:
    """By what the site is, not by its name alone: its file may have been replaced."""
    import hashlib

    return f"facts:{site.name}:{hashlib.sha256(repr(site).encode()).hexdigest()[:16]}"


def find_pocket_folder(folders: Folders, environ: Mapping[str, str]) -> Path:
    given = environ.get("WINDLASS_POCKET_DIR")
    return Path(given) if given else folders.state / "pocket"


class Session:
    """Opens what is needed when it is needed, once; `close` lets go of all of it."""

    def __init__(
        self,
        *,
        folders: Folders,
        environ: Mapping[str, str],
        tell: Callable[[str], None] = _say_nothing,
        clock: Callable[[], float] = time.time,
        ring: Callable[[str], None] = _say_nothing,
    ) -> None:
        """ring: writes to the terminal in which somebody waits, past what is printed."""
        self.ring = ring
        self.notices: Notices | None = None  # who is told of what; read when there is something to tell
        self.has_read_notices = False
        self.told_problems: set[str] = set()
        self.on_event: Callable[[Event], None] = lambda _: None
        self.folders = folders
        self.environ = environ
        self.tell = tell
        self.clock = clock
        self._store: Store | None = None
        self._sites: dict[str, Site] = {}
        self._hosts: dict[str, Host] = {}
        self._clusters: dict[str, Cluster] = {}

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def store(self) -> Store:
        if self._store is None:
            self._store = Store(self.folders.state / "windlass.db", tell=self.tell)
        return self._store

    def site(self, name: str) -> "Site":
        """Ready to use: what a mark in the file stands for on this machine is filled in."""
        if name not in self._sites:
            from windlass.edges.site_files import load_site

            self._sites[name] = self._fill_pocket(load_site(name, self.folders))
        return self._sites[name]

    def host(self, site: "Site") -> "Host":
        if site.name not in self._hosts:
            self._hosts[site.name] = self._open_host(site)
        return self._hosts[site.name]

    def transfer_host(self, site: "Site") -> "Host":
        """For long work on files: the transfer node, where it sees the site's root, else the login node."""
        from windlass.edges.data_route import make_transfer_site

        there, key = make_transfer_site(site), f"{site.name} for data"
        if there is site or site.login.transfer_root:
            return self.host(site)
        if key not in self._hosts:
            self._hosts[key] = self._open_host(there)
        return self._hosts[key]

    def cluster(self, site: "Site") -> "Cluster":
        if site.name not in self._clusters:
            from windlass.edges.cluster import Cluster

            self._clusters[site.name] = Cluster(self.host(site), site)
        return self._clusters[site.name]

    def facts(self, site: "Site", *, max_age_s: float = _FACTS_LAST_S) -> "Facts":
        """What is known of the site, surveyed again when it is older than that."""
        from windlass.core.facts import Facts
        from windlass.edges.survey import take_survey

        key = _make_facts_key(site)
        kept = self.store.kept(key, max_age_s=max_age_s, kind=Facts)
        if kept is not None:
            return kept
        facts = take_survey(self.host(site), site, self.clock())
        self.store.keep(key, facts)
        return facts

    def last_facts(self, site: "Site") -> "Facts | None":
        """What was seen of the site last, however long ago; it is not asked."""
        from windlass.core.facts import Facts

        return self.store.kept(_make_facts_key(site), kind=Facts)

    def pretend(self, site: "Site", host: "Host", facts: "Facts") -> None:
        """From now on the site of this name is that one, and its commands run there: for rehearsals."""
        self._sites[site.name] = site
        self._hosts[site.name] = host
        self.store.keep(_make_facts_key(site), facts)

    def is_pocket(self, site: "Site") -> bool:
        """Its Slurm is ours, on this machine: nobody else is disturbed by questions."""
        folder = find_pocket_folder(self.folders, self.environ)
        return site.is_local and (site.software.slurm_path or "").startswith(f"{folder}/")

    def make_suffix(self) -> str:
        import secrets

        from windlass.core.names import SUFFIX_LENGTH, SUFFIX_LETTERS

        return "".join(secrets.choice(SUFFIX_LETTERS) for _ in range(SUFFIX_LENGTH))

    def close(self) -> None:
        for host in self._hosts.values():
            host.close()
        self._hosts.clear()
        self._clusters.clear()
        if self._store is not None:
            self._store.close()
            self._store = None

    def _fill_pocket(self, site: "Site") -> "Site":
        if site.software.slurm_path != POCKET_MARK:
            return site
        from dataclasses import replace

        from windlass.edges.files import explain
        from windlass.pocket.programs import ensure_bin

        folder = find_pocket_folder(self.folders, self.environ)
        try:
            programs = ensure_bin(folder)
        except OSError as problem:
            raise explain(problem, folder) from problem
        return replace(site, software=replace(site.software, slurm_path=str(programs)))

    def _open_host(self, site: "Site") -> "Host":
        if site.is_local:
            from windlass.edges.local_host import LocalHost

            return LocalHost(tell=self.tell)
        from windlass.edges.ssh_host import SshHost

        config = self.environ.get("WINDLASS_SSH_CONFIG")
        return SshHost(site, config=Path(config) if config else None, tell=self.tell)
