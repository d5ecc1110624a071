"""What a rehearsal showed, before anybody judges it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from windlass.core.finding import Diagnosis
from windlass.core.plan import Plan
from windlass.core.rehearsal.stage import Folder
from windlass.core.site import Site
from windlass_job import wire

SHORTEST_S = 2.0  # a Python that imports something large has not yet read its checkpoint


@dataclass(frozen=True, kw_only=True)
class Saved:
    """Files that a link wrote, of those from which the next one could go on."""

    files: int = 0
    bytes: int = 0
    last: float | None = None  # when the newest was written, seconds since 1970
    names: tuple[str, ...] = ()  # some of them


@dataclass(frozen=True, kw_only=True)
class LinkSeen:
    """One link of the chain, watched."""

    number: int
    outcome: str | None = None  # the agent's word (windlass_job/wire.py); None: it left none
    started: float = 0.0
    ended: float = 0.0
    asked: float | None = None  # when it was told to stop
    was_killed: bool = False  # after it was asked to stop, or at the end of its time
    is_late: bool = False  # the end of its time came
    command_s: float | None = None  # how long its command lived; None: not known
    restarts: int = 0  # so often its command broke down and was started again
    exit_code: int | None = None
    text: str = ""  # what it printed, or the end of it
    hosts: tuple[str, ...] = ()  # host names that were asked for, in order
    saved: Saved = field(default_factory=Saved)
    elsewhere: Saved = field(default_factory=Saved)  # written outside the folder that [checkpoint] names
    went_on_from: bool | None = None  # read what an earlier link had saved; None: nothing was there, or cannot be told
    first_done: float | None = None  # what run.progress told first and last
    last_done: float | None = None
    memory_mb: float | None = None  # the most that all its processes had together

    @property
    def is_too_short(self) -> bool:
        """Its command hardly began: what it did not do tells nothing."""
        return self.command_s is not None and self.command_s < SHORTEST_S and self.outcome != wire.DONE

    @property
    def is_last(self) -> bool:
        """The next link would have nothing to do, or would only show the same once more."""
        return self.outcome == wire.DONE or self.is_broken or (self.was_killed and self.saved.files == 0)

    @property
    def is_broken(self) -> bool:
        """It ended by itself, and neither because it was done nor because it was asked to."""
        return self.outcome not in (wire.DONE, wire.CUT) and not self.was_killed


@dataclass(frozen=True, kw_only=True)
class Written:
    """What the whole rehearsal left in one storage area, outside of Windlass's own files."""

    folder: Folder
    files: int
    bytes: int
    is_run_folder: bool = False
    names: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Sample:
    """[data.NAME] in the rehearsal."""

    name: str
    source: str
    place: str | None = None  # where the job finds it; None: nowhere
    files: int = 0
    bytes: int = 0
    is_whole: bool = False
    why_not: str = ""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    plan: Plan
    site: Site
    folders: tuple[Folder, ...]
    links: tuple[LinkSeen, ...] = ()
    is_closed: bool = True  # namespaces: nothing else was to be seen
    has_network: bool = False
    refusal: str | None = None  # what the pretended controller said
    written: tuple[Written, ...] = ()
    modules: tuple[str, ...] = ()  # what `module` was asked for
    environment: str | None = None  # what the run would enter at the site
    samples: tuple[Sample, ...] = ()
    stand_ins: tuple[str, ...] = ()  # files of the site that were replaced by empty ones
    laptop_only: Mapping[str, str] = field(default_factory=dict)  # a path that was missed -> where it is on this laptop
    diagnoses: tuple[Diagnosis, ...] = ()
    gpus_here: int = 0
    most_links: int = 3  # that were to be rehearsed
    is_unfinished: bool = False  # given up: the time for the rehearsal was over

    @property
    def is_chain(self) -> bool:
        return self.plan.links > 1
