"""Everything a diagnosis may look at: a run that waits, runs or has ended, and what it left."""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from windlass.core.ending.tracebacks import Traceback, find_tracebacks, without_rank
from windlass.core.events import Event
from windlass.core.facts import NOTHING_SEEN, Facts
from windlass.core.finding import Setting
from windlass.core.gauges.series import NodeGauges
from windlass.core.jobs import JobState
from windlass.core.plan import Plan
from windlass.core.record import RunRecord, RunState
from windlass.core.site import Site
from windlass.core.toml.writing import Value, format_value

_LAST_LINES = 80  # of each log: what was said earlier was mostly survived
_LONGEST_LINE = 400
_MAY_HANG = (RunState.FAILED, RunState.OUT_OF_TIME, RunState.CANCELLED, RunState.LOST, RunState.RUNNING)
_HALF_A_LINE = 1000
# No rule needs more of a line; a progress bar, or an array printed whole, can be a megabyte of it.
_TOO_LONG = re.compile(rf"[^\n]{{{2 * _HALF_A_LINE + 1},}}")


@dataclass(frozen=True, kw_only=True)
class RankLog:
    """One log file of the last job: often of one rank, sometimes of all of them."""

    name: str = ""
    text: str = ""  # its beginning and its end, where it is long
    changed: float | None = None  # seconds since 1970: the rank that failed first fell silent first


@dataclass(frozen=True, kw_only=True)
class JobFacts:
    """What accounting says of the last job, the steps' worst included."""

    state: JobState = JobState.UNKNOWN
    reason: str | None = None
    exit_code: int | None = None
    signal: int | None = None  # 53 and 125 are Slurm's own: no output file, out of memory
    asked_memory_mb: int | None = None  # on each node
    used_memory_mb: int | None = None  # most of one task; Slurm samples it, so peaks are missed
    elapsed_s: int | None = None
    limit_s: int | None = None
    tasks: int | None = None
    restarts: int = 0
    submitted: float | None = None  # seconds since 1970
    partition: str | None = None
    nodes: int | None = None
    hosts: str | None = None  # their names, folded
    output: str | None = None  # where it writes
    error: str | None = None  # where its complaints go, when that is another file
    workdir: str | None = None
    script: str | None = None  # what was given to sbatch, as it was written


class WaitingKind(StrEnum):
    """What one can do about a reason to wait."""

    TURN = "turn"  # others are first: it starts by itself
    NEVER = "never"  # as it was submitted, it will not start at all
    NODES = "nodes"  # a maintenance, or nodes that are away
    BUDGET = "budget"  # hours granted are used up
    LIMIT = "limit"  # as much runs as may run at once
    HELD = "held"  # until somebody lets it go


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """Why it waits, in words."""

    words: str = "it waits in the queue"
    hint: str | None = None
    kind: WaitingKind = WaitingKind.TURN
    since: float | None = None
    ranks_before: int | None = None  # jobs of the partition; None: cannot be seen
    nodes: int | None = None  # that it waits for


@dataclass(frozen=True, kw_only=True)
class Symptoms:
    record: RunRecord
    logs: tuple[RankLog, ...] = ()  # of the last job
    job: JobFacts | None = None
    events: tuple[Event, ...] = ()
    gauges: tuple[NodeGauges, ...] = ()
    plan: Plan | None = None
    site: Site | None = None
    facts: Facts = NOTHING_SEEN
    waiting: Waiting | None = None
    said: str = ""  # by sbatch, when it refused
    is_folder_gone: bool = False  # the site answered, and the run folder is not there
    trouble: str = ""  # what ssh or Slurm's commands said when the site was asked just now
    now: float | None = None
    is_foreign: bool = False  # a job that Windlass did not submit: no run folder, no resume

    @property
    def again(self) -> str:
        """The command that goes on with it."""
        return "submit it again" if self.is_foreign else self.record.again

    @property
    def ask_for_help(self) -> str:
        return "ask the centre's support" if self.is_foreign else f"windlass ticket {self.record.run_id}"

    @property
    def read_more(self) -> str:
        if self.is_foreign:
            return f"less {self.job.output}" if self.job and self.job.output else "see its output file"
        return f"windlass logs {self.record.run_id}"

    def fatal(self, pattern: re.Pattern[str]) -> str | None:
        """The line that matches, of a run that failed: from its last words where it can be."""
        return self._find(pattern) if self.record.state is RunState.FAILED else None

    def stuck(self, pattern: re.Pattern[str]) -> str | None:
        """As `fatal`, also for a run that was cut off, or that still runs and may hang."""
        return self._find(pattern) if self.record.state in _MAY_HANG else None

    def refused(self, pattern: re.Pattern[str]) -> str | None:
        """The line with which sbatch or srun said no: of the submission, or inside the job."""
        if self.record.state is RunState.NOT_SUBMITTED:
            return _last_line(pattern, "\n".join((self.record.reason or "", self.said)))
        return self.fatal(pattern)

    def troubled(self, pattern: re.Pattern[str]) -> str | None:
        """The line with which the site's door or its Slurm did not answer, just now or in the job."""
        return _last_line(pattern, self.trouble) or self.fatal(pattern)

    def is_late(self, line: str) -> bool:
        """Among the last words of a log, in a traceback, or from Slurm itself: it tells about the end."""
        return line in self._last_words or line.startswith(("slurmstepd", "srun:", "sbatch:"))

    @cached_property
    def tracebacks(self) -> tuple[Traceback, ...]:
        """Of all logs; that of the first rank that failed is first."""
        many = (self.plan.tasks if self.plan else (self.job.tasks if self.job else None) or 2) > 1
        places = sorted(range(len(self.logs)), key=lambda place: self.logs[place].changed or 0)
        texts = [self._texts[place] for place in places]
        return tuple(found for text in texts for found in find_tracebacks(text, has_many_ranks=many))

    @cached_property
    def text(self) -> str:
        """All that was said, the newest log last; lines without end are cut."""
        return "\n".join(self._texts)

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        return tuple(_cut_lines(log.text) for log in self.logs)

    @cached_property
    def _last_words(self) -> frozenset[str]:
        late = {_shown(line) for text in self._texts for line in text.splitlines()[-_LAST_LINES:]}
        return frozenset(late | {_shown(line) for one in self.tracebacks for line in one.lines})

    def _find(self, pattern: re.Pattern[str]) -> str | None:
        found = [line for text in self._texts for line in _lines_with(pattern, text)]
        return next((line for line in reversed(found) if self.is_late(line)), found[-1] if found else None)


def set_to(key: str, value: Value) -> Setting:
    """One line of windlass.toml."""
    return Setting(key=key, value=format_value(value))


def shorten(line: str) -> str:
    """As much of it as a person reads."""
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 2] + " …"


def _cut_lines(text: str) -> str:
    """Beginning and end of each line; what a program wrote over with a carriage return is a line of its own.

    So no rule can take long: what a pattern tries again from every place of a line is bounded.
    """
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    return _TOO_LONG.sub(lambda long: f"{long[0][:_HALF_A_LINE]} … {long[0][-_HALF_A_LINE:]}", plain)


def _lines_with(pattern: re.Pattern[str], text: str) -> list[str]:
    """Whole lines; a pattern may begin with `^` only after `(?m)`, because ranks put their mark in front."""
    lines: list[str] = []
    done = -1
    for match in pattern.finditer(text):
        if match.start() > done:
            end = text.find("\n", match.start())
            done = len(text) if end < 0 else end
            lines.append(_shown(text[text.rfind("\n", 0, match.start()) + 1 : done]))
    return lines


def _last_line(pattern: re.Pattern[str], text: str) -> str | None:
    return next(reversed(_lines_with(pattern, _cut_lines(text))), None)


def _shown(line: str) -> str:
    return without_rank(line).strip()[:_LONGEST_LINE]
