"""All that an advice may look at: what a run asked for, and what its nodes did."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from windlass.core.ending.symptoms import JobFacts
from windlass.core.events import Event
from windlass.core.gauges.cutting import cut
from windlass.core.gauges.series import GpuGauges, NodeSeries, RunGauges, Series
from windlass.core.plan import Plan
from windlass.core.record import RunRecord, RunState
from windlass_job import wire

ENOUGH_S = 600.0  # less tells of the start of a training, not of the training
ENOUGH_SO_FAR_S = 1800.0  # while it goes on: it may still prepare its data
ENOUGH_ROWS = 20
_SLACK_S = 5.0  # times of rows are rounded, and the last one is written just after the end


@dataclass(frozen=True, kw_only=True)
class Span:
    """One link, from its start to its end, or to the last that was heard of it."""

    begin: float
    end: float

    @property
    def seconds(self) -> float:
        return max(0.0, self.end - self.begin)


@dataclass(frozen=True, kw_only=True)
class Usage:
    record: RunRecord
    now: float
    plan: Plan | None = None
    job: JobFacts | None = None  # by accounting
    gauges: RunGauges = field(default_factory=RunGauges)  # of all links
    spans: tuple[Span, ...] = ()  # of all links
    others_s: tuple[float, ...] = ()  # how long earlier runs of the same name took, that got done
    is_folder_gone: bool = False  # at the site, and with it what its nodes told

    @property
    def is_done(self) -> bool:
        return self.record.state is RunState.DONE

    @property
    def waited_s(self) -> float | None:
        """From the submission to the first start."""
        return max(0.0, self.spans[0].begin - self.record.created) if self.spans else None

    @property
    def ran_s(self) -> float | None:
        """All links together, without the waits between them."""
        return sum(span.seconds for span in self.spans) if self.spans else None

    @cached_property
    def last(self) -> RunGauges:
        """Of the last link: earlier ones may have had other nodes."""
        if not self.spans:
            return self.gauges
        return cut(self.gauges, self.spans[-1].begin - _SLACK_S, self.spans[-1].end + _SLACK_S)

    @property
    def nodes(self) -> tuple[NodeSeries, ...]:
        return self.last.nodes

    @property
    def gpus(self) -> tuple[GpuGauges, ...]:
        return tuple(gpu for _, gpu in self.last.gpus)

    @cached_property
    def is_enough(self) -> bool:
        """There is a node that was looked at long and often enough, and none is missing that was planned."""
        least_s = ENOUGH_S if self.record.state.is_final else ENOUGH_SO_FAR_S
        is_seen = any(node.seconds >= least_s and len(node.times) >= ENOUGH_ROWS for node in self.nodes)
        return is_seen and (self.plan is None or len(self.nodes) >= self.plan.nodes)

    @property
    def seen_s(self) -> float:
        return max((node.seconds for node in self.nodes), default=0.0)

    @cached_property
    def memory_mb(self) -> float | None:
        """The most that was needed on one node, in any link; caches of files are not in it."""
        known = [node.memory_mb.most for node in self.gauges.nodes]
        told = [one for one in (*known, self.job.used_memory_mb if self.job else None) if one is not None]
        return max(told, default=None)

    @cached_property
    def gpu_use(self) -> float | None:
        """Mean of all GPUs in percent; None where none tells."""
        return find_mean([gpu.use for gpu in self.gpus])

    @cached_property
    def wait_share(self) -> float | None:
        """Mean of all ranks whose loader tells, 0 to 1."""
        return find_mean([one.wait_share for one in self.last.waits])

    @cached_property
    def cpu_cores(self) -> float | None:
        """How many were busy on one node, mean of all."""
        return find_mean([node.cpu_cores for node in self.nodes])

    @property
    def cores(self) -> int | None:
        """That the job had on one node."""
        known = [node.cores for node in self.nodes if node.cores]
        return min(known, default=None)

    def was_chosen(self, name: str) -> bool:
        """By Windlass, as a fair share: what nobody asked for is no waste of theirs."""
        return self.plan is not None and any(reason.field == name for reason in self.plan.reasons)

    @property
    def has_whole_nodes(self) -> bool:
        return self.plan is not None and (self.plan.exclusive or self.plan.memory_mb == 0)


def find_mean(many: Sequence[Series]) -> float | None:
    means = [mean for series in many if (mean := series.mean) is not None]
    return sum(means) / len(means) if means else None


def find_spans(events: Sequence[Event], gauges: RunGauges, *, now: float | None) -> tuple[Span, ...]:
    """now: the last link still runs. A link that ended without a word lasted until its last row."""
    begins = [event.time for event in events if event.kind == wire.LINK_STARTED and event.time]
    ends = [event.time for event in events if event.kind == wire.LINK_ENDED and event.time]
    spans = []
    for place, begin in enumerate(begins):
        following = begins[place + 1] if place + 1 < len(begins) else None
        told = [end for end in ends if begin <= end and (following is None or end <= following)]
        if told:
            end = told[0]
        elif following is None and now is not None:
            end = now
        else:
            end = _find_last_row(gauges, begin, following)
        spans.append(Span(begin=begin, end=end))
    return tuple(spans)


def _find_last_row(gauges: RunGauges, begin: float, following: float | None) -> float:
    times = (time for node in gauges.nodes for time in node.times)
    return max((time for time in times if begin <= time and (following is None or time < following)), default=begin)
