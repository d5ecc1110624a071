"""What Slurm and the agent say about the end of a run."""

from collections.abc import Iterator
from datetime import timedelta

from windlass.core.chain import DEFAULT_NOTICE, SHORT_NOTICE
from windlass.core.ending.symptoms import Symptoms, set_to
from windlass.core.finding import Diagnosis
from windlass.core.interruptions import CANCELLED
from windlass.core.jobs import JobState
from windlass.core.record import RunState
from windlass.core.spending.amounts import format_amount
from windlass.core.units import format_duration, format_human_duration
from windlass_job import wire

_MOST_SHOWN = 25
_LONGEST_NOTICE = timedelta(seconds=3600)
_SIGNAL_IS_EARLY = timedelta(seconds=120)  # Slurm's own signal comes up to a minute early, and the clock is read late


def not_submitted(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The submission was interrupted or refused, and it is certain that Slurm has no job of it."""
    record = symptoms.record
    if record.state is RunState.NOT_SUBMITTED:
        yield Diagnosis(
            code="D101",
            message=f"it never reached the queue: {record.reason or 'the submission was interrupted'}",
            hint=symptoms.again,
        )


def forgotten(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """Slurm no longer knows the job and it left no last word.

    A controller that crashes within seconds of taking a job can forget it; an old job ages out of accounting;
    somebody may have removed the run folder.
    """
    record = symptoms.record
    if record.state is RunState.LOST:
        yield Diagnosis(
            code="D102",
            message=f"{record.reason or 'Slurm has no record of it'}; "
            "nothing of it can still be running under that number",
            hint=symptoms.again,
        )


def cancelled(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """Somebody cancelled the job: you, or an operator of the site.

    Accounting tells which user it was, where the site keeps any. An operator cancels jobs that disturb others, or that
    stand in the way of a maintenance: ask before you send it again.
    """
    record = symptoms.record
    if record.state is RunState.CANCELLED:
        words = record.reason if (record.reason or "").startswith(CANCELLED) else CANCELLED
        by_operator = "operator" in (words or "")
        hint = f"{symptoms.ask_for_help}; then {symptoms.again}" if by_operator else symptoms.again
        yield Diagnosis(code="D103", message=f"it was {words}", hint=hint)


def out_of_time(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """All the time that was asked for is used and the training was not finished.

    It goes on from its last checkpoint with `windlass resume`, for as long again or for `--time`. Without checkpoints
    it begins anew: ask for more time, or let the code save when it is asked to stop and begin from what it saved, and
    name the folder it saves in ([checkpoint] folder). To name a folder alone saves nothing.
    """
    record, plan = symptoms.record, symptoms.plan
    if record.state is not RunState.OUT_OF_TIME:
        return
    is_saved = plan is None or plan.checkpoint_folder is not None
    evidence = (
        f"link {record.link} of {record.links}" if record.link and record.links > 1 else "",
        "" if is_saved else "no checkpoint folder is named, so a resume begins anew",
    )
    hint = symptoms.again if is_saved else _tell_what_to_save(symptoms)
    yield Diagnosis(
        code="D301",
        message="".join((record.reason or "its time was used up", _tell_notice(symptoms))),
        evidence=tuple(line for line in evidence if line),
        hint="ask for more time, or save and go on in another job" if symptoms.is_foreign else hint,
    )


def budget_is_used_up(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """A limit that you set yourself under [budget] is used up, so the run was asked to save, and stopped.

    It goes on from its last checkpoint when the limit is higher: `windlass resume RUN --budget AMOUNT`, or
    raise it in windlass.toml or config.toml. `windlass budget` shows what used the hours.
    """
    record = symptoms.record
    if record.state is not RunState.OUT_OF_BUDGET:
        return
    limit = next((one for one in record.limits if one.scope == "run"), None)
    if record.over_budget is None and limit is not None and record.farm is None:
        hint = f'{symptoms.again} --budget "{format_amount(2 * limit.hours, limit.unit)}"'
    else:
        hint = f"raise the limit under [budget], then {symptoms.again}"
    yield Diagnosis(code="D311", message=record.reason or "its budget is used up", hint=hint)


def _tell_what_to_save(symptoms: Symptoms) -> str:
    """No patch: a folder that is named and stays empty would only silence the check that asks for one."""
    signal = symptoms.plan.stop_signal.removeprefix("SIG") if symptoms.plan else "TERM"
    return (
        f"more time (resources.time); or let the code save when it gets {signal} and begin from what it saved, "
        "and then name that folder ([checkpoint] folder): docs/how-to/checkpoints.md"
    )


def _tell_notice(symptoms: Symptoms) -> str:
    """How long before the end it was asked to stop: Slurm's signal may come earlier than it was told to."""
    asked = [one for one in symptoms.events if one.kind == wire.STOP_REQUESTED and one.text == "notice"]
    if symptoms.plan is None or not asked:
        return ""
    began = [one.time for one in symptoms.events if one.kind == wire.LINK_STARTED and one.link == asked[-1].link]
    left = timedelta(seconds=int(began[-1] - asked[-1].time)) + symptoms.plan.link_time if began else timedelta(0)
    return f"; Windlass asked it to stop {format_human_duration(max(left, symptoms.plan.notice))} before the end"


def node_failed(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """A node of the job died or lost its network. Nothing is wrong with the training."""
    record = symptoms.record
    is_told = symptoms.job is not None and symptoms.job.state is JobState.NODE_FAILED
    if record.state is RunState.FAILED and (record.reason == JobState.NODE_FAILED.value or is_told):
        where = f" ({record.nodes})" if record.nodes else ""
        yield Diagnosis(code="D302", message=f"a node failed{where}", hint=symptoms.again)


def preempted(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """A job of higher priority took the nodes. That is the bargain of such partitions."""
    if symptoms.record.state is RunState.FAILED and symptoms.record.reason == JobState.PREEMPTED.value:
        yield Diagnosis(code="D303", message="a more important job took its place", hint=symptoms.again)


def killed_while_saving(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The command was told that its time is nearly up, and was still running when Slurm killed it.

    Either it does not listen to the signal ([checkpoint] signal), or saving takes longer than the notice it gets. What
    was not saved is lost; a longer notice leaves more time for it.
    """
    record = symptoms.record
    told = [one for one in symptoms.events if one.kind == wire.STOP_REQUESTED and one.text == "notice"]
    ended = [one for one in symptoms.events if one.kind == wire.COMMAND_ENDED and told and one.time >= told[-1].time]
    was_killed = record.state is RunState.OUT_OF_TIME and "killed" in (record.reason or "")
    # Where nothing is saved nobody has to listen: D301 says so.
    saves = symptoms.plan is None or symptoms.plan.checkpoint_folder or symptoms.plan.notice > SHORT_NOTICE
    if was_killed and told and not ended and saves:
        notice = symptoms.plan.notice if symptoms.plan else DEFAULT_NOTICE
        longer = min(2 * notice, _LONGEST_NOTICE, symptoms.plan.link_time / 2 if symptoms.plan else _LONGEST_NOTICE)
        yield Diagnosis(
            code="D304",
            message=f"it was told {format_human_duration(notice)} before the end "
            "and had not stopped when Slurm killed it",
            evidence=("nothing after the signal: it does not listen to it, or saving takes longer",),
            hint="save in a handler of the signal; see docs/how-to/long-trainings.md",
            patch=(set_to("checkpoint.notice", format_duration(longer)),) if longer > notice else (),
        )


def started_again(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """Slurm put the job back into the queue and started it again: a node failed, it was preempted, or requeued.

    Without --open-mode=append a job's own log then holds only the last attempt, and a training that does not look for
    its newest checkpoint begins at step 0.
    """
    restarts = max((symptoms.job.restarts if symptoms.job else 0, *(one.restart for one in symptoms.events)))
    if restarts and symptoms.record.state in (RunState.FAILED, RunState.RUNNING, RunState.OUT_OF_TIME):
        times = "once" if restarts == 1 else f"{restarts} times"
        log = "; its log holds only the last attempt, unless it has --open-mode=append" if symptoms.is_foreign else ""
        yield Diagnosis(
            code="D305",
            message=f"Slurm has started it again {times}{log}",
            hint="let the training look for its newest checkpoint at every start",
        )


def earlier_link(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """A link of the chain ended before its time, and the chain goes on or went on from the last checkpoint.

    A lost node, a preemption, a time-out without warning, or somebody's scancel of that one job.
    """
    record = symptoms.record
    if record.interrupted and record.state is not RunState.DONE:
        yield Diagnosis(
            code="D306",
            message=f"an earlier link did not end by itself: {record.interrupted}",
            hint=f"nothing: the next link goes on from the last checkpoint; {symptoms.read_more}",
        )


def asked_early(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """A link was asked to stop long before its time was up: the warning that some sites send before a preemption.

    The training had time to save and left by itself, so Slurm counts the job as completed; only the early signal tells.
    """
    plan, events = symptoms.plan, symptoms.events
    if plan is None or any(one.kind == wire.REPLANNED for one in events):  # then its limit was another
        return
    for asked in (one for one in events if one.kind == wire.STOP_REQUESTED and one.text == "notice"):
        began = [one.time for one in events if one.kind == wire.LINK_STARTED and one.link == asked.link]
        left = plan.link_time - timedelta(seconds=asked.time - began[-1]) if began else timedelta(0)
        if left > plan.notice + _SIGNAL_IS_EARLY:
            yield Diagnosis(
                code="D308",
                message=f"link {asked.link} was asked to stop {_tell_seconds(left)} before its time was up",
                evidence=("a warning before a preemption, or a signal that somebody sent",),
                hint=f"nothing: what it saved counts; {symptoms.read_more}",
            )
            return


def _tell_seconds(time: timedelta) -> str:
    return format_human_duration(timedelta(seconds=round(time.total_seconds())))


def too_few_links(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """By the pace the training tells (run.progress), the links that are planned are too few for what is left.

    When they are used the run is out of time, and `windlass resume` goes on from the last checkpoint.
    """
    record = symptoms.record
    if record.missing_links and record.state in (RunState.RUNNING, RunState.WAITING, RunState.OUT_OF_TIME):
        links = "1 more link" if record.missing_links == 1 else f"{record.missing_links} more links"
        yield Diagnosis(
            code="D307",
            message=f"by its pace it needs {links} than it has",
            hint=symptoms.again if record.state.is_final else f"when its links are used: {symptoms.again}",
        )


def unknown_failure(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """No rule knows this end. The first traceback of the first rank that failed is shown, else what was said last."""
    record = symptoms.record
    code = f" with exit code {record.exit_code}" if record.exit_code is not None else ""
    yield Diagnosis(
        code="D900",
        message=f"the command ended{code}, for a reason no rule here knows",
        evidence=_last_words(symptoms),
        hint=symptoms.read_more,
    )


def _last_words(symptoms: Symptoms) -> tuple[str, ...]:
    if symptoms.tracebacks:
        first = symptoms.tracebacks[0]
        whose = (f"rank {first.rank}:",) if first.rank is not None else ()
        return (*whose, *first.lines[-_MOST_SHOWN:])
    # A table ends with rows and rules that say nothing.
    telling = [line for line in symptoms.text.splitlines() if any(sign.isalnum() for sign in line)]
    return tuple(telling[-15:])
