"""Choosing where a run goes: partition, account and QOS, each with its reason, and what came second."""

import difflib
from dataclasses import dataclass, replace

from windlass.core.chain import cut_into_links
from windlass.core.facts import Association, Facts
from windlass.core.placing.access import (
    Level,
    choose_account,
    find_account_problem,
    find_association,
    find_default_qos,
    find_over_caps,
    find_time_limits,
    list_levels,
    make_level,
)
from windlass.core.placing.misfits import find_closest_misfit, find_misfit
from windlass.core.placing.place import Place, Wish
from windlass.core.placing.queues import Queue
from windlass.core.placing.ranking import Rank, explain_choice, explain_loss, make_rank
from windlass.core.placing.shapes import make_shapes
from windlass.core.plan import Reason, RunnerUp
from windlass.core.run import Resources
from windlass.core.site import Site
from windlass.core.units import format_human_duration
from windlass.errors import PlanError


@dataclass(frozen=True, kw_only=True)
class Choice:
    place: Place
    reasons: tuple[Reason, ...] = ()
    runner_up: RunnerUp | None = None


def choose_place(wish: Wish, site: Site, facts: Facts, queues: tuple[Queue, ...]) -> Choice:
    """The best place. A site that tells of no partition is asked without one."""
    if not queues:
        return _choose_without_partition(wish, site, facts)
    resources = wish.resources
    named = _find_named(resources, site, queues)
    fitting = [queue for queue in named if find_misfit(resources, site, queue) is None]
    if not fitting:
        raise _make_nothing_fits(resources, site, named)
    places = [place for queue in fitting for place in _make_places(wish, site, facts, queue)]
    ranked = sorted(
        ((make_rank(resources, site, facts, place, order=order), place) for order, place in enumerate(places)),
        key=lambda pair: pair[0],
    )
    (rank, best), rest = ranked[0], ranked[1:]
    reasons = (_explain_partition(resources, site, best, rank, rest), best.account, _explain_qos(resources, best, rest))
    return Choice(
        place=best,
        reasons=tuple(reason for reason in reasons if reason is not None),
        runner_up=_find_runner_up(site, best, rank, rest),
    )


def _choose_without_partition(wish: Wish, site: Site, facts: Facts) -> Choice:
    place = min(
        _make_places(wish, site, facts, Queue(name="")),
        key=lambda one: (one.problem is not None, one.links, one.level is not None and not one.level.is_default),
    )
    qos = _explain_qos(wish.resources, place, [])
    return Choice(place=place, reasons=tuple(reason for reason in (place.account, qos) if reason is not None))


def _make_places(wish: Wish, site: Site, facts: Facts, queue: Queue) -> list[Place]:
    """One for each QOS that may be used there; the account is the same for all."""
    account = choose_account(wish.resources, facts, queue)
    association = find_association(facts, account.value if account else None, queue.name)
    levels = _list_candidates(wish.resources, site, facts, queue, association)
    return [_make_place(wish, site, facts, queue, account=account, level=level) for level in levels]


def _list_candidates(
    resources: Resources, site: Site, facts: Facts, queue: Queue, association: Association | None
) -> list[Level | None]:
    default = find_default_qos(site, association)
    if resources.qos is not None:
        return [make_level(resources.qos, site, facts, is_default=resources.qos == default)]
    if association is None and default is None and not queue.qos:
        return [None]  # which QOS such a job would have, and which it may name, is not known
    offered = [one for one in list_levels(site, facts, queue, association) if not one.hidden or one.is_default]
    return list(offered) or [make_level(default, site, facts, is_default=True) if default else None]


def _make_place(
    wish: Wish, site: Site, facts: Facts, queue: Queue, *, account: Reason | None, level: Level | None
) -> Place:
    association = find_association(facts, account.value if account else None, queue.name)
    own = make_level(queue.own_qos, site, facts) if queue.own_qos else None
    levels = tuple(one for one in (level, own) if one is not None)
    if facts.enforces_limits is False:
        association, levels = None, ()
    limits = find_time_limits(wish.resources, site, queue, association, levels)
    place = Place(
        queue=queue,
        shape=make_shapes(wish.resources, queue),
        account=account,
        association=association,
        level=level,
        levels=levels,
        limits=limits,
        links=cut_into_links(wish.total, min(limits, default=(None, ""))[0], wish.notice).count,
    )
    return replace(place, problem=_find_problem(wish.resources, site, facts, place))


def _find_problem(resources: Resources, site: Site, facts: Facts, place: Place) -> str | None:
    """What Slurm would hold against it. Told by checks where nothing better is found, so the plan is made."""
    if not place.queue.is_seen:
        return "Slurm shows no such partition now"
    wanted = _count_resources(resources, place)
    return (
        find_account_problem(place.queue, facts, place.account.value if place.account else None)
        or find_over_caps(wanted, place.association, place.levels)
        or _find_submit_problem(site, place)
    )


def _find_submit_problem(site: Site, place: Place) -> str | None:
    """An array counts with all its tasks at once."""
    limits = [(site.rules.max_submitted, site.name)]
    if place.association is not None:
        limits.append((place.association.max_submit, f"account {place.association.account}"))
    limits += [(level.max_submitted, f"QOS {level.name}") for level in place.levels]
    links = place.links
    most, whose = min(((most, whose) for most, whose in limits if most is not None), default=(links, ""))
    return f"{whose} takes {most} jobs of yours at once, and this is {links} links" if links > most else None


def _count_resources(resources: Resources, place: Place) -> dict[str, int]:
    nodes, gpus = place.shape.nodes, place.shape.nodes * place.shape.gpus_per_node
    wanted = {"node": nodes, "gres/gpu": gpus}
    if place.queue.gpu and gpus:
        wanted[f"gres/gpu:{place.queue.gpu}"] = gpus
    if resources.cpus is not None:
        wanted["cpu"] = resources.cpus * nodes
    if resources.memory_mb is not None:
        wanted["mem"] = resources.memory_mb * nodes
    return wanted


# ---- in words --------------------------------------------------------------------------------------


def _explain_partition(
    resources: Resources, site: Site, best: Place, rank: Rank, rest: list[tuple[Rank, Place]]
) -> Reason:
    name = best.queue.name
    if resources.partition:
        return Reason(field="partition", value=name, why="you asked for it")
    if not site.rules.names_partition:
        return Reason(field="partition", value="none", why=f"{site.name} chooses it by time and size")
    others: dict[str, Rank] = {}
    for other, place in rest:
        if place.queue.name != name and place.problem is None:
            others.setdefault(place.queue.name, other)
    return Reason(field="partition", value=name, why=explain_choice(rank, others, best.problem))


def _explain_qos(resources: Resources, best: Place, rest: list[tuple[Rank, Place]]) -> Reason | None:
    level = best.level
    if level is None or level.is_default or resources.qos is not None:
        return None
    default = next(
        (one for _, one in rest if one.queue is best.queue and one.level is not None and one.level.is_default), None
    )
    if default is None or default.level is None:
        return Reason(field="qos", value=level.name, why=f"the default may not be used in {best.queue.name}")
    if default.problem and not best.problem:
        return Reason(field="qos", value=level.name, why=f"not the default {default.level.name}: {default.problem}")
    if default.links > best.links:
        return Reason(
            field="qos", value=level.name, why=_compare_links(best.links, level, default.links, default.level)
        )
    return Reason(field="qos", value=level.name, why=f"jobs of {default.level.name} may be pushed out by others")


def _compare_links(links: int, level: Level, default_links: int, default: Level) -> str:
    count = "in one job" if links == 1 else f"in {links} links"
    gives = "has no limit" if level.max_time is None else f"gives {format_human_duration(level.max_time)}"
    if default.max_time is None:
        return f"the run fits {count}; with the default {default.name} it would be {default_links} links"
    less = f"the default {default.name} gives {format_human_duration(default.max_time)}"
    return f"the run fits {count}: {level.name} {gives}; {less} and would need {default_links} links"


def _find_runner_up(site: Site, best: Place, rank: Rank, rest: list[tuple[Rank, Place]]) -> RunnerUp | None:
    """The next that differs in what is written into the script; a place for tests that holds the run before others."""

    def name(place: Place) -> tuple[str, str | None]:
        partition = place.queue.name if site.rules.names_partition else ""
        return partition, place.level.name if place.level and not place.level.is_default else None

    others = [(other, place) for other, place in rest if name(place) != name(best)]
    short = [pair for pair in others if pair[0].is_for_tests and pair[1].links == 1 and pair[1].problem is None]
    if not others or (short and best.links > 1):
        short = []
    for other, place in (short or others)[:1]:
        partition, qos = name(place)
        why_not = explain_loss(rank, other, place.problem) + _compare_priority(best.level, place.level)
        return RunnerUp(partition=partition, qos=qos, why_not=why_not)
    return None


def _compare_priority(chosen: Level | None, other: Level | None) -> str:
    if chosen is None or other is None or chosen.name == other.name or (other.priority or 0) <= (chosen.priority or 0):
        return ""
    return f" (its priority is {other.priority}, that of {chosen.name} {chosen.priority or 0})"


def _find_named(resources: Resources, site: Site, queues: tuple[Queue, ...]) -> tuple[Queue, ...]:
    if resources.partition is None:
        # Where the site chooses, its file tells what it chooses among; Slurm's own partitions are its affair.
        written = tuple(queue for queue in queues if site.partition(queue.name) is not None)
        return written if written and not site.rules.names_partition else queues
    named = tuple(queue for queue in queues if queue.name == resources.partition)
    if named:
        return named
    names = list(dict.fromkeys(queue.name for queue in queues))
    close = difflib.get_close_matches(resources.partition, names, n=1)
    raise PlanError(
        f"{site.name} has no partition {resources.partition!r}; it has {', '.join(names)}",
        hint=f"did you mean {close[0]!r}?" if close else None,
        about="partition",
    )


def _make_nothing_fits(resources: Resources, site: Site, queues: tuple[Queue, ...]) -> PlanError:
    by_name: dict[str, list[Queue]] = {}
    for queue in queues:
        by_name.setdefault(queue.name, []).append(queue)
    return PlanError(
        f"no partition of {site.name} can take this run",
        details=tuple(f"{name}: {find_closest_misfit(resources, site, kinds)}" for name, kinds in by_name.items()),
        hint=f"windlass site show {site.name}",
        done="nothing was sent",
    )
