"""What the screen shows, read from the store and the mirror in one go. Nobody is asked."""

from dataclasses import dataclass

from windlass.app.watching.lately import load_lately
from windlass.app.watching.reading_runs import RunReader, RunSeen
from windlass.app.watching.reading_today import load_today
from windlass.app.watching.watch import Watch
from windlass.core.efficiency.parts import make_gpu_parts
from windlass.core.watching.today import Today
from windlass.errors import NotFound, WindlassError
from windlass.screen.run_words import NOTHING, Measured
from windlass_job import wire

_NOW_S = 60.0  # bars of GPUs are the mean of the last minute: a single row flickers


@dataclass(frozen=True, kw_only=True)
class Shown:
    today: Today | None = None
    seen: RunSeen | None = None  # the chosen run
    measured: Measured = NOTHING
    problem: str | None = None  # why it could not be read, or its files cannot be brought


def see(watch: Watch, reader: RunReader, run_id: str | None) -> Shown:
    """run_id: the chosen run, if there is one."""
    today = None
    try:
        today = load_today(watch, reader)
        if run_id is None:
            return Shown(today=today)
        seen = reader.load(run_id)
        measured = _measure(watch, reader, seen)
        return Shown(today=today, seen=seen, measured=measured, problem=_find_problem(watch, seen))
    except NotFound:  # removed meanwhile
        return Shown(today=today)
    except WindlassError as problem:
        return Shown(today=today, problem=problem.message)


def _measure(watch: Watch, reader: RunReader, seen: RunSeen) -> Measured:
    files = [held for path, held in seen.index.files.items() if path.startswith(f"{wire.GAUGES}/")]
    run_id = seen.record.run_id
    return Measured(
        nodes=reader.load_gauges(run_id, seen.index),
        gpus=make_gpu_parts(load_lately(watch.mirror, run_id, seen.index, seconds=_NOW_S)),
        when=max((held.mtime for held in files), default=None),
    )


def _find_problem(watch: Watch, seen: RunSeen) -> str | None:
    problem = watch.find_problem(seen.record.site)
    return f"files of runs at {seen.record.site} cannot be read: {problem}" if problem else None
