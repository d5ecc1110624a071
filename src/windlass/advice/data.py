"""Trainings that wait for their data, and shared file systems that are asked too often."""

from collections.abc import Iterator

from windlass.core.efficiency.usage import Usage
from windlass.core.ending.symptoms import set_to
from windlass.core.finding import Advice, Setting
from windlass.core.run import Staging

_MUCH = 0.15  # of the time
_LONG_S = 300.0
_FULL = 0.8  # of the cores
_MANY_A_SECOND = 500.0
_SMALL_BYTES = 128 * 1024
_MB = 1024 * 1024
_PACK = "windlass data pack: one file a shard instead of one a sample, read in order; then [data.NAME] brings it near"


def waits_for_data(usage: Usage) -> Iterator[Advice]:
    """The loader tells that the training stood still for data a seventh of its time or more.

    Where the cores are busy, decoding is the limit, and more cores help. Where data is left on the shared file system,
    it helps to stage it. Else packing many small files does.
    """
    share = usage.wait_share
    lasted = [one.wait_share.times[-1] - one.wait_share.times[0] for one in usage.last.waits if one.wait_share.times]
    if share is None or share < _MUCH or max(lasted, default=0.0) < _LONG_S:
        return
    plan, cores, busy = usage.plan, usage.cores, usage.cpu_cores
    evidence = [
        f"{len(usage.last.waits)} rank{'s' if len(usage.last.waits) > 1 else ''} told: {100 * share:.0f} % of the time"
    ]
    if cores is not None and busy is not None:
        evidence.append(f"{busy:.1f} of {cores} cores were busy on average")
    left = [one.name for one in plan.data if one.stage is Staging.SHARED] if plan else []
    patch: tuple[Setting, ...] = ()
    hint = _PACK
    if plan is not None and cores and busy is not None and busy >= _FULL * cores and not usage.has_whole_nodes:
        patch = (set_to("resources.cpus", 2 * plan.cpus_per_task),)
        hint = "the cores are all busy decoding: more of them, or smaller images"
    elif left:
        patch = tuple(set_to(f"data.{name}.stage", Staging.AUTO.value) for name in left)
        hint = "data that is staged is read from the node's own disk or memory"
    yield Advice(
        code="A301",
        message=f"the training waited for data {100 * share:.0f} % of its time",
        evidence=tuple(evidence),
        saves=f"up to {100 * share:.0f} % of every hour",
        hint=hint,
        patch=patch,
    )


def many_small_requests(usage: Usage) -> Iterator[Advice]:
    """The shared file system was asked hundreds of times a second for little each time: many small files.

    That is slow for the run, and for everybody else. The counts are of whole nodes: of others' jobs there too.
    """
    for node in usage.nodes:
        asked, read, written = node.shared_ops_s.mean, node.shared_read_mb_s.mean, node.shared_write_mb_s.mean
        if asked is None or asked < _MANY_A_SECOND:
            continue
        size = ((read or 0.0) + (written or 0.0)) * _MB / asked
        if size < _SMALL_BYTES:
            yield Advice(
                code="A302",
                message=f"{node.node} asked the shared file system {asked:,.0f} times a second, whoever ran there",
                evidence=(f"{node.shared}: {size / 1024:.0f} KB at a time, {read or 0:.1f} MB/s read",),
                saves="time, for you and for everybody who uses that file system",
                hint=_PACK,
            )
            return
