"""All trials of a sweep as CSV, the best first; numbers as they are."""

from windlass.core.csv_rows import format_row
from windlass.core.sweep.seen import SweepSeen
from windlass.core.sweep.values import format_value


def format_csv(seen: SweepSeen) -> str:
    lines = [format_row(["trial", "state", *seen.names, seen.sweep.metric, "seconds", "code", "last_line"])]
    for one in seen.ranked:
        values = [format_value(one.values[name]) for name in seen.names]
        metric = "" if one.metric is None else repr(one.metric)
        seconds = "" if one.seconds is None else f"{one.seconds:.3f}"
        lines.append(format_row([one.number, one.state.value, *values, metric, seconds, one.code, one.last_line]))
    return "".join(lines)
