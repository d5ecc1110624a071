"""A farm in words: where it stands, who works on it, what failed."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from windlass.app.record_words import format_ago, format_clock
from windlass.cli.output import make_printable
from windlass.core.farm.kinds import TaskKind, list_commands_of_failed
from windlass.core.farm.results import FailureGroup, Outcome, Pace, format_tasks
from windlass.core.farm.rows import Task
from windlass.core.farm.values import FarmStatus
from windlass.core.record import RunRecord
from windlass.core.units import format_human_duration

RUNNING_HEAD = ("TASK", "TRY", "NODE", "SINCE", "PILOT")
PILOTS_HEAD = ("PILOT", "JOB", "STATE", "NODES", "AT ONCE", "DONE", "TRIES FAILED")
RESULTS = (
    "task",
    "state",
    "code",
    "attempts",
    "start",
    "seconds",
    "cpu_s",
    "memory_mb",
    "node",
    "last_line",
    "command",
)


def format_counts(status: FarmStatus) -> str:
    parts = [f"{status.done} of {_count(status.total, 'task')} done"]
    parts += [f"{number} {word}" for number, word in _list_rest(status) if number]
    return ", ".join(parts)


def _list_rest(status: FarmStatus) -> Iterable[tuple[int, str]]:
    return (
        (status.failed, "failed"),
        (status.stopped, "stopped"),
        (status.running, "running"),
        (status.waiting, "waiting"),
    )


def format_pace(pace: Pace | None) -> str:
    if pace is None:
        return ""
    rate = f"{pace.rate:.3g} a second" if pace.rate >= 1 else f"{pace.rate * 60:.3g} a minute"
    return f"{rate}, ends ~ {format_clock(pace.end)}"


def make_running_rows(status: FarmStatus, now: float) -> list[tuple[str, ...]]:
    running = sorted((one for worker in status.pilots for one in worker.running), key=lambda one: one.start)
    return [
        (
            str(one.task),
            str(one.attempt),
            one.node or "",
            format_ago(now - one.start),
            one.worker.rsplit(".", 5)[0],
        )
        for one in running
    ]


def make_pilot_table(status: FarmStatus, pilots: Sequence[RunRecord]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Head and rows, without columns that nobody has anything in: of a farm that has ended none runs any more."""
    rows = _make_pilot_rows(status, pilots)
    used = [at for at in range(len(PILOTS_HEAD)) if any(row[at] for row in rows)]
    return tuple(PILOTS_HEAD[at] for at in used), [tuple(row[at] for at in used) for row in rows]


def _make_pilot_rows(status: FarmStatus, pilots: Sequence[RunRecord]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for record in pilots:
        own = [one for one in status.pilots if one.run_id == record.run_id]
        live = [one for one in own if one.is_alive]
        rows.append(
            (
                record.run_id,
                record.job_id or "",
                record.state.value,
                ",".join(sorted({one.node for one in live or own if one.node})),
                str(sum(one.slots for one in live)) if live else "",
                str(sum(one.done for one in own)),
                str(sum(one.failed for one in own)),
            )
        )
    return rows


def format_failures(groups: Sequence[FailureGroup], farm_id: str, *, most: int = 10) -> list[str]:
    lines = []
    for one in groups[:most]:
        words = make_printable(one.words) or "(it printed nothing)"
        how = f"code {one.code}" if one.code >= 0 else one.state.value
        lines.append(f"{_count(len(one.tasks), 'task')}, {how}: {words}")
        lines.append(f"    {_shorten(format_tasks(one.tasks))}; windlass logs {farm_id} --task {one.tasks[0]}")
    if len(groups) > most:
        lines.append(f"… and {len(groups) - most} more kinds of failures: windlass farm results {farm_id}")
    return lines


def format_failed(status: FarmStatus, groups: Sequence[FailureGroup], kind: TaskKind | None = None) -> list[str]:
    """What failed for good, and the commands for it; nothing where nothing did."""
    if not status.failed:
        return []
    return [
        f"{status.failed} of {_count(status.total, 'task')} failed:",
        *format_failures(groups, status.farm_id),
        *(f"try: {one}" for one in list_commands_of_failed(kind, status.farm_id, is_closed=status.is_closed)),
    ]


def format_cuts(status: FarmStatus, pilot_s: float | None, *, most: int = 5) -> list[str]:
    """pilot_s: how long a pilot may run, its end left out."""
    time = f" than {format_human_duration(timedelta(seconds=round(pilot_s)))}" if pilot_s else ""
    lines = [
        f"task {task} was cut by the end of its pilot {_times(count)}; it may need more{time}: --time"
        for task, count in sorted(status.cuts.items(), key=lambda one: (-one[1], one[0]))[:most]
    ]
    return [*lines, f"… and {len(status.cuts) - most} more were cut"] if len(status.cuts) > most else lines


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def format_end(status: FarmStatus, began: float, now: float) -> str:
    took = format_human_duration(timedelta(seconds=max(0, round(now - began))))
    return f"farm {status.farm_id}: {format_counts(status)} after {took}"


def make_result_row(outcome: Outcome | None, number: int, task: Task) -> dict[str, object]:
    """Every task has one, also those that have not run."""
    row: dict[str, object] = {"task": number, "state": "waiting"}
    if outcome is not None:
        last = outcome.last
        row |= {
            "state": last.state.value,
            "code": last.code,
            "attempts": outcome.tries,
            "start": _format_moment(last.start),
            "seconds": round(last.seconds, 3),
            "cpu_s": last.cpu_s,
            "memory_mb": last.memory_mb,
            "node": last.node,
            "last_line": last.last_line,
        }
    return row | {"command": task.command, "values": dict(task.values)}


def _format_moment(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")


def flatten(row: Mapping[str, object], names: Sequence[str]) -> list[object]:
    """For CSV: the values behind the rest, by their names."""
    values = row["values"]
    assert isinstance(values, dict)
    return [*(row.get(name, "") for name in RESULTS), *(values.get(name, "") for name in names)]


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _shorten(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60].rpartition(',')[0]},…"
