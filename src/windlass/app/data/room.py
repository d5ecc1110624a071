"""What the quota of a site's data folder takes, and how large the files there should be."""

from dataclasses import dataclass

from windlass.app.session import Session
from windlass.core.facts import NOTHING_SEEN, Facts, SeenQuota
from windlass.core.seen.areas import find_area, find_quota
from windlass.core.site import Area, Site
from windlass.errors import ClusterUnavailable, ConnectionLost, HostUnreachable, LoginNeeded, SiteNotReady

_GB = 1e9


@dataclass(frozen=True, kw_only=True)
class Room:
    """What an area takes, and what would lie there. None: not known, or no limit."""

    area: str
    used_files: int | None = None
    limit_files: int | None = None
    used_bytes: int | None = None
    limit_bytes: int | None = None
    source: str = ""  # who told

    def fits(self, files: int, size: int) -> bool | None:
        """None: nothing is known of any limit."""
        if self.limit_files is None and self.limit_bytes is None:
            return None
        files_fit = self.limit_files is None or files + (self.used_files or 0) <= self.limit_files
        return files_fit and (self.limit_bytes is None or size + (self.used_bytes or 0) <= self.limit_bytes)


def find_room(session: Session, site: Site) -> Room | None:
    """Where the site's data sets lie; None where nothing is known. A site that cannot be asked is known by its file."""
    try:
        return _find_room(site, session.facts(site))
    except (LoginNeeded, HostUnreachable, ConnectionLost, ClusterUnavailable, SiteNotReady) as problem:
        session.tell(f"{site.name} was not asked for its quota: {problem.message}")
        return _find_room(site, NOTHING_SEEN)


def find_advised_bytes(session: Session, site: Site, path: str) -> int:
    """How large files at that path should be at least, by the site file; 0 where it says nothing. Nobody is asked."""
    area = find_area(path, site, session.last_facts(site) or NOTHING_SEEN)
    return int(area.advised_file_mb * 1e6) if area and area.advised_file_mb else 0


def _find_room(site: Site, facts: Facts) -> Room | None:
    area = find_area(site.root, site, facts)
    seen = find_quota(area, site.root, facts)
    if area is None and seen is None:
        return None
    return Room(
        area=area.name if area else seen.area if seen else "",
        used_files=seen.used_files if seen else None,
        limit_files=_pick_files(area, seen),
        used_bytes=seen.used_bytes if seen else None,
        limit_bytes=_pick_bytes(area, seen),
        source=(seen.source if seen else "") or f"storage.{area.name if area else ''} of {site.name}",
    )


def _pick_files(area: Area | None, seen: SeenQuota | None) -> int | None:
    return (seen.limit_files if seen else None) or (area.quota_files if area else None)


def _pick_bytes(area: Area | None, seen: SeenQuota | None) -> int | None:
    written = int(area.quota_gb * _GB) if area and area.quota_gb else None
    return (seen.limit_bytes if seen else None) or written
