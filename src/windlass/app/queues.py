"""`queues`: the partitions and QOS of a site, with what is free now."""

from dataclasses import dataclass, replace

from windlass.app.session import Session
from windlass.core.facts import NOTHING_SEEN, Facts
from windlass.core.seen.free import Free, QosView, QueueView, list_categories, make_qos_views, make_views, pick_category
from windlass.core.site import Site
from windlass.errors import UsageError, WindlassError
from windlass.schedulers.slurm.free import make_counts_command, make_free_command, read_counts, read_free


@dataclass(frozen=True, kw_only=True)
class QueuesSeen:
    site: str
    queues: tuple[QueueView, ...]
    qos: tuple[QosView, ...]
    asked: float | None = None  # when what is free was seen; None: Slurm was not asked
    note: str | None = None  # why not


def look_at_queues(session: Session, name: str, *, category: str | None = None) -> QueuesSeen:
    """Limits from the file and the survey, what is free from one more question; from the file alone when offline.

    `category`: only what a project of this category may use.
    """
    site = session.site(name)
    _refuse_unknown(site, category)
    facts, free, counts, note = _ask(session, site)
    now = session.clock()
    seen_as = replace(site, category=category or site.category)
    queues = make_views(seen_as, facts, free=free, counts=counts, now=now)
    return QueuesSeen(
        site=site.name,
        queues=pick_category(site, queues, category) if category else queues,
        qos=make_qos_views(site, facts),
        asked=now if free else None,
        note=note,
    )


def _ask(session: Session, site: Site) -> tuple[Facts, dict[str, Free], dict[str, tuple[int, int]], str | None]:
    try:
        facts = session.facts(site)
        sinfo, squeue = session.cluster(site).run([make_free_command(), make_counts_command()])
    except WindlassError as problem:
        return NOTHING_SEEN, {}, {}, f"from the site file alone: {problem.message}"
    free = read_free(sinfo.out) if sinfo.exit_code == 0 else {}
    counts = read_counts(squeue.out) if squeue.exit_code == 0 else {}
    return facts, free, counts, None if free else "what is free now could not be read: sinfo did not tell"


def _refuse_unknown(site: Site, category: str | None) -> None:
    known = list_categories(site)
    if category is None or category in known:
        return
    if not known:
        raise UsageError(f"{site.name} has no categories of projects", hint=f"windlass queues --on {site.name}")
    raise UsageError(f"{site.name} knows no category {category!r}", hint=f"one of: {', '.join(known)}")
