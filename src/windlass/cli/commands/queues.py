"""`windlass queues`: the partitions of a site, and what of them is free now."""

import shutil
import time
from collections.abc import Callable, Sequence
from datetime import timedelta

import click

from windlass.app.queues import QueuesSeen, look_at_queues
from windlass.app.record_words import format_ago
from windlass.cli.estimate_words import format_moment
from windlass.cli.opening import open_session, read_site_name
from windlass.cli.options import on_option
from windlass.cli.output import Output
from windlass.cli.rows import format_nodes
from windlass.core.seen.free import NodeKind, QosView, QueueView
from windlass.core.units import format_human_duration

_LIMITS = ("PARTITION", "", "LIMIT", "NODES", "CORES", "MEMORY", "GPUS")
_FREE = ("IDLE", "MIXED", "DOWN", "FREE CORES", "FREE GPUS", "RUN", "WAIT")
_FREE_ALONE = ("FREE NOW", "IDLE", "MIXED", "DOWN", "CORES", "GPUS", "RUN", "WAIT")
_QOS = ("QOS", "", "LIMIT", "RUN", "QUEUE", "GPUS", "PRIORITY", "ACCOUNTS")
# mark -> (whether a partition has it, what it means)
_MARKS: dict[str, tuple[Callable[[QueueView], bool], str]] = {
    "*": (lambda one: one.is_default, "jobs that name none go there"),
    "t": (lambda one: one.for_tests, "for short tests"),
    "w": (lambda one: one.whole_nodes, "nodes are given whole"),
    "p": (lambda one: one.preempts, "jobs may be pushed out by others"),
    "m": (lambda one: one.maintenance is not None, "a maintenance is to come"),
    "x": (lambda one: one.closed is not None, "not for your jobs now"),
}


@click.command("queues")
@on_option
@click.option("--category", metavar="NAME", help="Only queues for projects of this category, where a site has those.")
@click.pass_obj
def command(output: Output, /, site_name: str | None, category: str | None) -> None:
    """List a site's partitions and QOS: limits, GPUs, memory, and what is free now.

    \b
    Examples:
      windlass queues --on daint
      windlass queues --on daint --json
    """
    with open_session(output) as session:
        seen = look_at_queues(session, read_site_name(site_name), category=category)
    if output.as_json:
        output.show_json({"queues": seen})
        return
    _show(output, seen)


def _show(output: Output, seen: QueuesSeen) -> None:
    _show_tables(output, seen)
    for line in _list_maintenance(seen.queues, time.time()):
        output.show_words(line)
    for one in seen.queues:
        if one.closed:
            output.show_words(f"{one.name}: {one.closed}")
    if seen.qos:
        output.show("")
        output.show_table(_QOS, [_make_qos_row(one) for one in seen.qos])
    _explain(output, seen)
    if seen.note:
        output.tell(f"note: {seen.note}")


def _show_tables(output: Output, seen: QueuesSeen) -> None:
    """One table where the terminal is wide enough, else two; a name is never cut."""
    limits = [(one, kind, _make_limits(one, kind)) for one in seen.queues for kind in one.kinds]
    if seen.asked is None:
        output.show_table(_LIMITS, [row for _, _, row in limits])
        return
    free = [_make_free(one) for one in seen.queues]
    # What is free is known of the partition, so it stands beside the first of its kinds of node.
    nothing = ("",) * len(_FREE)
    rights = [_make_free(one) if kind is one.kinds[0] else nothing for one, kind, _ in limits]
    head, rows = (*_LIMITS, *_FREE), [(*row, *right) for (_, _, row), right in zip(limits, rights, strict=True)]
    width = sum(max(len(row[place]) for row in (head, *rows)) + 2 for place in range(len(head))) - 2
    if output.plain or width <= shutil.get_terminal_size().columns:
        output.show_table(head, rows)
        return
    output.show_table(_LIMITS, [row for _, _, row in limits])
    output.show("")
    names = [(one.name,) for one in seen.queues]
    output.show_table(_FREE_ALONE, [(*left, *right) for left, right in zip(names, free, strict=True)])


def _make_limits(one: QueueView, kind: NodeKind) -> tuple[str, ...]:
    return (
        one.name,
        "".join(mark for mark, (has, _) in _MARKS.items() if has(one)),
        _format_limit(one.max_time),
        format_nodes(kind.nodes, one.max_nodes),
        _format(kind.cores),
        f"{kind.memory_mb / 1000:.0f} GB" if kind.memory_mb else "",
        ", ".join(f"{count} x {name or 'GPU'}" for name, count in kind.gpus),
    )


def _make_free(one: QueueView) -> tuple[str, ...]:
    free = one.free
    if free is None:
        return ("", "", "", "", "", _format(one.running), _format(one.waiting))
    return (
        str(free.nodes_idle),
        str(free.nodes_mixed),
        str(free.nodes_down),
        f"{free.cores_free}/{free.cores}",
        ", ".join(f"{left}/{count} {kind}".strip() for kind, (left, count) in sorted(free.gpus.items())),
        _format(one.running),
        _format(one.waiting),
    )


def _make_qos_row(one: QosView) -> tuple[str, ...]:
    return (
        one.name,
        "*" if one.is_default else "",
        _format_limit(one.max_time),
        _format(one.max_running),
        _format(one.max_submitted),
        _format(one.max_gpus),
        _format(one.priority),
        ", ".join(one.accounts),
    )


def _list_maintenance(queues: Sequence[QueueView], now: float) -> list[str]:
    lines: dict[str, list[str]] = {}
    for queue in queues:
        one = queue.maintenance
        if one is not None:
            begins = f"begins in {format_ago(one.starts - now)}" if one.starts > now else "goes on"
            when = f"{format_moment(one.starts, now)} to {format_moment(one.ends, now)}"
            lines.setdefault(f"maintenance {one.name}: {when} ({begins}), takes", []).append(queue.name)
    return [f"{text} {'all' if len(names) == len(queues) else ', '.join(names)}" for text, names in lines.items()]


def _explain(output: Output, seen: QueuesSeen) -> None:
    used = {mark for one in seen.queues for mark, (has, _) in _MARKS.items() if has(one)}
    for mark, (_, words) in _MARKS.items():
        if mark in used:
            output.tell(f"{mark}  {words}")
    if any(kind.nodes and one.max_nodes and one.max_nodes < kind.nodes for one in seen.queues for kind in one.kinds):
        output.tell("nodes: 4 of 90 means that there are 90, and one job may have 4")
    if seen.asked is not None:
        if any(len(one.kinds) > 1 for one in seen.queues):
            output.tell("a partition has a row for each kind of node; what is free is that of all its nodes")
        output.tell("mixed: part of a node is free; down: also drained, reserved; 3/8: 3 of 8 are free")
        output.tell("run, wait: the jobs there that you may see; an array counts once")
    if seen.qos:
        output.tell("QOS: the most of your jobs that run, that are in the queue, and GPUs at once")


def _format(count: int | None) -> str:
    return "" if count is None else str(count)


def _format_limit(limit: timedelta | None) -> str:
    return format_human_duration(limit) if limit else ""
