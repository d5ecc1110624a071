"""What was fetched for nodes without internet, as a site keeps it and as checks see it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from windlass.core.run import PrefetchPlace

_NONE: Mapping[str, str] = MappingProxyType({})


class Ended(StrEnum):
    """How a command that was watched came to its end."""

    DONE = "done"  # by itself, with 0
    STEP = "step"  # a training: it was about to make its first step
    LIMIT = "limit"  # it took too long
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class Size:
    files: int
    bytes: int


@dataclass(frozen=True, kw_only=True)
class Verified:
    """It was loaded with the network off."""

    how: str  # in words: by what the network was off
    made: float  # seconds since 1970
    ended: Ended
    files: Mapping[str, str] = field(default_factory=lambda: _NONE)  # of the project, by their SHA-256, as they were


@dataclass(frozen=True, kw_only=True)
class Prefetched:
    """What ROOT/caches/prefetch-ID.json says."""

    id: str
    name: str  # of the run
    command: str
    where: PrefetchPlace
    ended: Ended
    made: float  # seconds since 1970
    files: Mapping[str, str] = field(default_factory=lambda: _NONE)  # of the project: those that matter
    caches: Mapping[str, Size] = field(default_factory=dict)  # what lies below ROOT/caches now, of all projects
    new_bytes: int = 0  # that this prefetch brought
    paths: tuple[str, ...] = ()
    verified: Verified | None = None
    problem: str | None = None  # why it is not verified


@dataclass(frozen=True, kw_only=True)
class DamagedCard:
    """In its place at the site lies what nobody can read: the next prefetch writes it anew."""

    problem: str


@dataclass(frozen=True, kw_only=True)
class PrefetchSeen:
    """What a run needs, and what is known of it at the site."""

    id: str
    is_wanted: bool  # the run file has [prefetch]
    files: Mapping[str, str] = field(default_factory=lambda: _NONE)  # as they are now
    found: Prefetched | None = None
    damage: DamagedCard | None = None  # what was fetched cannot be told
    is_asked: bool = False
    home_caches: frozenset[str] = frozenset()  # what libraries keep in the home folder of the site
    moved: frozenset[str] = frozenset()  # variables of the site's shell that say that it lies elsewhere

    @property
    def is_verified(self) -> bool:
        """It is there, and this very code has loaded it with the network off."""
        verified = self.found.verified if self.found else None
        return verified is not None and dict(verified.files) == dict(self.files)
