"""When would it start: Slurm's own estimate for a plan and for cheaper ones, and how wrong such estimates were.

estimate_variants(session, site, plan)   # for `windlass plan`: one round trip, kept for some minutes
estimate_run(session, record)            # for `windlass explain RUN` while it waits
"""

from collections.abc import Sequence
from dataclasses import replace

from windlass.app.session import Session
from windlass.core.codec import from_json
from windlass.core.job import make_script
from windlass.core.plan import Plan
from windlass.core.record import RunRecord, RunState
from windlass.core.seen.estimates import (
    AS_PLANNED,
    Estimate,
    Estimates,
    Noted,
    Past,
    Question,
    judge_past,
    make_estimate,
    make_questions,
)
from windlass.core.site import Site
from windlass.edges.host import Request
from windlass.errors import RunFolderGone, WindlassError
from windlass.schedulers.answers import ExpectedStart
from windlass_job import wire

_LAST_S = 300.0
_NOTED = "noted-start"
_MOST_NOTED = 500
_LARGEST_PLAN = 10_000_000


def estimate_variants(session: Session, site: Site, plan: Plan, *, max_age_s: float = _LAST_S) -> Estimates:
    """The plan's expected start and those of cheaper variants, asked together; not again for some minutes.

    Raises what a site that cannot be asked raises. A variant that Slurm would refuse comes with its words.
    """
    key = _make_key(site, plan)
    kept = session.store.kept(key, max_age_s=max_age_s, kind=tuple[Estimate, ...])
    answers = kept or _ask(session, site, make_questions(plan, site))
    if kept is None:
        session.store.keep(key, answers)
    return _with_past(session, site, answers)


def estimate_run(session: Session, record: RunRecord) -> Estimates | None:
    """Of a run that waits: what Slurm expects of its job, and of cheaper variants. None when it does not wait.

    Two round trips, the first for the run's plan, which lies in its folder.
    """
    if record.state is not RunState.WAITING:
        return None
    site = session.site(record.site)
    plan = _load_plan(session, record)
    told = replace(
        make_estimate(AS_PLANNED, expected=record.expected_start, partition=plan.partition, asked=record.updated),
        source="squeue",
    )
    key = f"{_make_key(site, plan)}:waiting"
    kept = session.store.kept(key, max_age_s=_LAST_S, kind=tuple[Estimate, ...])
    # The job itself is in the queue: asking about one more like it would tell of a second one.
    answers = kept if kept is not None else _ask(session, site, make_questions(plan, site)[1:])
    if kept is None:
        session.store.keep(key, answers)
    return _with_past(session, site, (told, *answers))


def note_submission(session: Session, plan: Plan, record: RunRecord) -> None:
    """With what `windlass plan` was told a moment ago, where it was asked."""
    kept = session.store.kept(_make_key(session.site(record.site), plan), max_age_s=_LAST_S, kind=tuple[Estimate, ...])
    chosen = kept[0] if kept else None
    noted = Noted(
        partition=plan.partition,
        submitted=session.clock(),
        expected=chosen.expected if chosen else None,
        asked=chosen.asked if chosen and chosen.expected else None,
    )
    session.store.keep(_make_noted_key(record), noted)


def note_starts(session: Session, records: Sequence[RunRecord]) -> None:
    """What squeue expects of a run that waits, the first time it says so; and when it did start."""
    for record in records:
        if record.expected_start is None and record.started is None:
            continue
        key = _make_noted_key(record)
        noted = session.store.kept(key, kind=Noted)
        newer = noted and _update(noted, record)
        if newer is not None and newer != noted:
            session.store.keep(key, newer)


def load_past(session: Session, site: str, partition: str | None) -> Past | None:
    """How far estimates there were off; nobody is asked."""
    return judge_past(session.store.kept_below(f"{_NOTED}:{site}:", kind=Noted, limit=_MOST_NOTED), partition)


def _update(noted: Noted, record: RunRecord) -> Noted:
    if record.state is RunState.WAITING and record.expected_start is not None and noted.expected is None:
        return replace(noted, expected=record.expected_start, asked=record.updated)
    is_new_start = noted.started is None and record.started is not None and record.started >= noted.submitted - 60
    return replace(noted, started=record.started) if is_new_start else noted


def _ask(session: Session, site: Site, questions: Sequence[Question]) -> tuple[Estimate, ...]:
    if not questions:
        return ()
    told = session.cluster(site).estimate_starts([make_script(one.plan) for one in questions])
    now = session.clock()
    return tuple(
        make_estimate(question.what, expected=one.at, partition=one.partition or question.plan.partition, asked=now)
        if isinstance(one, ExpectedStart)
        else Estimate(what=question.what, partition=question.plan.partition, asked=now, refused=one.cause)
        for question, one in zip(questions, told, strict=True)
    )


def _with_past(session: Session, site: Site, answers: Sequence[Estimate]) -> Estimates:
    chosen, *variants = answers
    past = load_past(session, site.name, chosen.partition)
    return Estimates(chosen=chosen, variants=tuple(variants), past=past)


def _load_plan(session: Session, record: RunRecord) -> Plan:
    path = f"{record.folder}/{wire.PLAN_JSON}"
    asked = Request(operation="read", arguments={"path": path, "from_byte": 0, "limit": _LARGEST_PLAN})
    (reply,) = session.host(session.site(record.site)).ask([asked])
    if not reply.ok:
        raise RunFolderGone(f"{path} cannot be read: {reply.problem or reply.kind}")
    return from_json(reply.payload, Plan, error=WindlassError, what=path)


def _make_key(site: Site, plan: Plan) -> str:
    """By what Slurm is asked about: the name of the run is another one each time."""
    import hashlib

    nameless = replace(plan, run_id="", folder="", number=1, reasons=(), argv=(), command="", env={}, network_env={})
    return f"estimates:{site.name}:{hashlib.sha256(repr(nameless).encode()).hexdigest()[:16]}"


def _make_noted_key(record: RunRecord) -> str:
    number = record.submissions[-1].number if record.submissions else 1
    return f"{_NOTED}:{record.site}:{record.run_id}:{number}"
