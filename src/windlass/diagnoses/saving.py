"""Whether a training saved, as the agent saw it: links that left nothing, and commands that were started again."""

from collections.abc import Iterator

from windlass.core.ending.symptoms import Symptoms
from windlass.core.events import Event
from windlass.core.finding import Diagnosis
from windlass.core.job import make_workdir
from windlass.core.jobs import JobState
from windlass.core.plan import Plan
from windlass.core.record import RunState
from windlass.core.units import format_human_duration
from windlass_job import wire

_MOST_ENDS_SHOWN = 5


def saved_nothing(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """Two links in a row were asked to stop and left nothing new in the checkpoint folder, so the chain was ended.

    The next link would have begun where they began, for ever. Either the training does not save when it gets the
    signal ([checkpoint] signal), or it saves in another folder than [checkpoint] folder, or it was killed before the
    save was whole ([checkpoint] notice). Lightning answers TERM itself and leaves without a save: with checkpoints of
    your own callback take signal = "USR2". Where no folder is named, run.progress(done, of) told that it stood still.
    """
    record, plan = symptoms.record, symptoms.plan
    left_no_word = record.reason == JobState.FAILED.value and record.exit_code == wire.EXIT_STALLED
    is_stalled = record.reason == wire.STALLED or (left_no_word and not symptoms.is_foreign)
    if record.state is RunState.FAILED and is_stalled:
        yield Diagnosis(
            code="D309",
            message=f"{wire.STALLED}: the next one would have begun where they began, so the chain was ended",
            evidence=(*_tell_where(plan), *_tell_last_exception(symptoms)),
            hint=_ask_about_saving(plan),
        )


def _tell_where(plan: Plan | None) -> tuple[str, ...]:
    if plan is None:
        return ()
    if plan.checkpoint_folder is None:
        return ("no checkpoint folder is named; run.progress(done, of) told no more than the link before",)
    folder = plan.checkpoint_folder
    full = folder if folder.startswith("/") else f"{make_workdir(plan)}/{folder}"
    return (f"looked in {full}: no file in it is newer than when these links began",)


def _tell_last_exception(symptoms: Symptoms) -> tuple[str, ...]:
    lines = symptoms.tracebacks[-1].lines if symptoms.tracebacks else ()
    return (f"the last link said: {lines[-1]}",) if lines else ()


def _ask_about_saving(plan: Plan | None) -> str:
    if plan is None:
        return "save in [checkpoint] folder at the signal, within the notice; see docs/how-to/checkpoints.md"
    signal = plan.stop_signal.removeprefix("SIG")
    where = f"in {plan.checkpoint_folder}" if plan.checkpoint_folder else "somewhere, and tell run.progress"
    lightning = ' with Lightning [checkpoint] signal = "USR2", as it answers TERM itself;' if signal == "TERM" else ""
    return (
        f"does it save {where} when it gets {signal}, within {format_human_duration(plan.notice)}?{lightning} "
        "a longer [checkpoint] notice where saving takes longer; see docs/how-to/checkpoints.md"
    )


def command_died(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The command broke down, and the agent started it again in the same job, from what it had saved.

    `restart = false` in [checkpoint] forbids it. What was computed since the last save was computed twice.
    """
    ends = _list_breakdowns(symptoms.events)
    if not ends:
        return
    times = {1: "once", 2: "twice"}.get(len(ends), f"{len(ends)} times")
    shown = ends[-_MOST_ENDS_SHOWN:]
    goes_on = symptoms.record.state is RunState.RUNNING
    yield Diagnosis(
        code="D310",
        message=f"the command died {times} and was started again in the same job",
        evidence=tuple(_tell_breakdown(one) for one in shown),
        hint=f"{'nothing at once: it goes on from what it saved; ' if goes_on else ''}"
        f"why it died: {symptoms.read_more}",
    )


def _list_breakdowns(events: tuple[Event, ...]) -> list[Event]:
    """The ends of the command after which it was started again."""
    ends, last = [], None
    for one in events:
        if one.kind == wire.COMMAND_ENDED:
            last = one
        elif one.kind == wire.COMMAND_RESTARTED:
            ends.append(last if last is not None else one)
            last = None
    return ends


def _tell_breakdown(end: Event) -> str:
    if end.signal is not None:
        how = f"killed by signal {end.signal}"
    else:
        how = f"exit code {end.exit_code}" if end.exit_code is not None else "how is not known"
    return f"link {end.link}: {how}" if end.link is not None else how
