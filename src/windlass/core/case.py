"""Everything a check may look at before a submission."""

from dataclasses import dataclass

from windlass.core.environment import EnvironmentSeen
from windlass.core.facts import Facts
from windlass.core.jobs import JobSeen
from windlass.core.modules.trial import ModulesSeen
from windlass.core.plan import Plan
from windlass.core.prefetched import PrefetchSeen
from windlass.core.run import RunSpec
from windlass.core.site import Site
from windlass.core.source.code import NO_CODE, Code
from windlass.core.spending.own import OwnUse


@dataclass(frozen=True, kw_only=True)
class DataSeen:
    """One [data.NAME] where it lies on this laptop, or at the site."""

    name: str
    bytes: int | None = None
    files: int | None = None
    is_missing: bool = False  # it should be at the site, and is not
    is_partial: bool = False  # there is more: counting was given up
    is_here: bool = False  # seen on this laptop, and not (yet) at the site
    is_sent: bool = False  # it lies in the project, and goes along with the code
    raw_folder: str | None = None  # of the project: what was packed into this data set, and goes along with the code
    raw_files: int = 0
    oldest: float | None = None  # when the file that was used least recently was last used, seconds since 1970


@dataclass(frozen=True, kw_only=True)
class Case:
    spec: RunSpec
    plan: Plan
    site: Site
    facts: Facts
    snapshot_mb: float | None = None  # what is about to be sent
    snapshot_files: int | None = None
    code: Code = NO_CODE
    data: tuple[DataSeen, ...] = ()
    environment: EnvironmentSeen | None = None  # None: the run wants none that Windlass knows
    may_build: bool = True  # what is missing of it is built before the run is submitted
    prefetch: PrefetchSeen | None = None  # None: it was not looked for, because the nodes have internet
    modules: ModulesSeen | None = None  # loading them was tried at the site; None: not tried
    awaited: tuple[JobSeen, ...] | None = None  # jobs the run depends on, as the controller knows them; None: not asked
    own_use: tuple[OwnUse, ...] | None = ()  # under limits of the user's own; None: they could not be counted
    now: float | None = None  # seconds since 1970; None: the clock is not looked at
