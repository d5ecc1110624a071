"""What the batch system says about a run that has not started."""

from collections.abc import Iterator
from datetime import timedelta

from windlass.core.ending.symptoms import Symptoms, Waiting, WaitingKind, set_to
from windlass.core.finding import Diagnosis, Setting
from windlass.core.record import RunState
from windlass.core.units import format_duration, format_human_duration


def waits_in_the_queue(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The job waits in the queue for its turn, and starts by itself.

    Slurm gives one word as the reason; it is told in a sentence, with how many jobs rank before it where the site
    shows them. `windlass explain RUN` adds when Slurm expects it to start, and what would start sooner.
    """
    yield from _tell(symptoms, "D001", WaitingKind.TURN)


def never_starts(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The job waits, and will never start as it was submitted.

    Slurm takes such jobs at many sites and keeps them for ever: more time than the partition, the account or the QOS
    allows, a dependency that cannot come true, a constraint no node has. Cancel it and change what it asks for.
    """
    yield from _tell(symptoms, "D002", WaitingKind.NEVER, patch=_fit_time(symptoms))


def nodes_not_available(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The nodes it needs are down, drained, reserved, or a maintenance begins before it could end.

    A job that ends before the maintenance may start now: ask for less time, the chain goes on afterwards.
    """
    yield from _tell(symptoms, "D003", WaitingKind.NODES)


def limit_reached(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The account, the QOS or you have reached a limit: of hours granted, or of what may run at once.

    A limit on what runs at once ends by itself when other jobs end. Hours that are used up do not come back before
    the next period: choose another account, or ask the centre.
    """
    yield from _tell(symptoms, "D004", WaitingKind.BUDGET)
    yield from _tell(symptoms, "D004", WaitingKind.LIMIT)


def held(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The job is held: by you, by an administrator, or by Slurm after a node could not start it.

    `scontrol release JOB` lets go of what you or Slurm hold; what an administrator holds only they can release.
    """
    yield from _tell(symptoms, "D005", WaitingKind.HELD)


def _tell(symptoms: Symptoms, code: str, kind: WaitingKind, *, patch: tuple[Setting, ...] = ()) -> Iterator[Diagnosis]:
    record, waiting = symptoms.record, symptoms.waiting or Waiting()
    if record.state is not RunState.WAITING or waiting.kind is not kind:
        return
    job = record.job_id or "JOB"
    hint = (waiting.hint or "").replace(" ID", f" {job}").replace("=ID", f"={job}").replace("RUN", record.run_id)
    yield Diagnosis(
        code=code, message=waiting.words, evidence=tuple(_evidence(symptoms, waiting)), hint=hint or None, patch=patch
    )


def _evidence(symptoms: Symptoms, waiting: Waiting) -> Iterator[str]:
    if symptoms.record.reason:
        yield f"Slurm's reason: {symptoms.record.reason}"
    if waiting.since is not None and symptoms.now is not None and symptoms.now >= waiting.since:
        yield f"it has waited for {format_human_duration(timedelta(seconds=int(symptoms.now - waiting.since)))}"
    if waiting.ranks_before is not None:
        count = waiting.ranks_before
        ranks = f"{count} job{' ranks' if count == 1 else 's rank'} before it in this partition"
        nodes = f"; it waits for {waiting.nodes} node{'s' if waiting.nodes > 1 else ''}" if waiting.nodes else ""
        yield ranks + nodes


def _fit_time(symptoms: Symptoms) -> tuple[Setting, ...]:
    """The longest link that partition, account and QOS allow, where it was time that was too long."""
    plan, reason = symptoms.plan, symptoms.record.reason or ""
    if plan is None or not ("TimeLimit" in reason or "MaxWall" in reason):
        return ()
    seen = symptoms.facts.partition(plan.partition) if plan.partition else None
    qos = symptoms.facts.seen_qos(plan.qos)
    limits = [one.max_time for one in (seen, qos) if one is not None]
    limits += [one.max_time for one in symptoms.facts.associations or () if one.account == plan.account]
    known = [limit for limit in limits if limit is not None and limit < plan.link_time]
    return (set_to("resources.link_time", format_duration(min(known))),) if known else ()
