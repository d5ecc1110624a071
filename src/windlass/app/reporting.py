"""What a run asked for and used, and what would use less: gathered in three round trips, judged, and remembered."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from windlass.advice import advise
from windlass.app.examining import load_job
from windlass.app.mending import Fix, make_fix_of_advice
from windlass.app.refreshing import refresh_site
from windlass.app.run_folder import ask_for_list, ask_for_part, ask_for_plan, is_gone, read_names, read_plan, read_text
from windlass.app.session import Session
from windlass.core.efficiency.payoff import Payoff, find_payoffs
from windlass.core.efficiency.summary import Kept, Summary, make_kept, make_summary
from windlass.core.efficiency.usage import ENOUGH_S, Usage, find_spans
from windlass.core.events import read_events
from windlass.core.finding import Advice, Setting
from windlass.core.gauges.lines import is_node_file, read_files
from windlass.core.gauges.series import RunGauges
from windlass.core.plan import Plan
from windlass.core.record import RunRecord, RunState
from windlass.edges.host import Host
from windlass.edges.settings import RUN_FILE
from windlass.edges.toml_file import is_there, load_toml
from windlass.errors import ConfigError, UsageError, WindlassError
from windlass_job import wire

_FILE_BYTES = 4_000_000  # a node of eight GPUs writes 400 kB a day
_EVENT_BYTES = 1_000_000
_MOST_NODES = 512
_MOST_RANKS = 64  # whose waiting is read: one is much like another
_MOST_COMPARED = 20


@dataclass(frozen=True, kw_only=True)
class Report:
    """Of a run that has started. `fix`: all advice as one change of windlass.toml, where that is on this machine."""

    record: RunRecord
    usage: Usage
    summary: Summary
    advice: tuple[Advice, ...] = ()
    payoffs: tuple[Payoff, ...] = ()
    fix: Fix | None = None


def report_run(session: Session, record: RunRecord) -> Report:
    """As it is now. What was advised of a run that has ended is kept for comparison with the next of its name."""
    if not record.state.is_final:
        record = refresh_site(session, record.site, [record])[0]
    if record.state in (RunState.SUBMITTING, RunState.WAITING, RunState.NOT_SUBMITTED):
        raise UsageError(f"{record.run_id} has not run yet", hint=f"windlass explain {record.run_id}")
    usage = gather_usage(session, record)
    summary, advice = make_summary(usage), fit_to_file(record, usage.plan, advise(usage))
    key = _make_key(record)
    payoffs = find_payoffs(summary, session.store.kept_below(key, kind=Kept, limit=_MOST_COMPARED))
    if record.state.is_final and advice:
        session.store.keep(key + record.run_id, make_kept(summary, advice))
    return Report(
        record=record,
        usage=usage,
        summary=summary,
        advice=advice,
        payoffs=payoffs,
        fix=make_fix_of_advice(record, advice),
    )


def advise_at_the_end(session: Session, record: RunRecord) -> tuple[Advice, ...]:
    """For a line after a run: nothing is asked of a run too short to say something about, and nothing is raised."""
    ran_s = (record.ended or 0.0) - (record.started or record.ended or 0.0)
    if not record.state.is_final or ran_s < ENOUGH_S:
        return ()
    try:
        return report_run(session, record).advice
    except WindlassError:
        return ()


def gather_usage(session: Session, record: RunRecord) -> Usage:
    site = session.site(record.site)
    host = session.host(site)
    folder = record.folder
    plan, events, listed = host.ask(
        [
            ask_for_plan(folder),
            ask_for_part(f"{folder}/{wire.EVENTS}", -_EVENT_BYTES, _EVENT_BYTES),
            ask_for_list(f"{folder}/{wire.GAUGES}"),
        ]
    )
    gauges = _load_gauges(host, f"{folder}/{wire.GAUGES}", read_names(listed))
    now = session.clock()
    is_over = record.state.is_final
    job = load_job(session.cluster(site), record.job_id) if is_over and record.job_id else None
    return Usage(
        record=record,
        now=now,
        plan=read_plan(plan),
        job=job,
        gauges=gauges,
        spans=find_spans(read_events(read_text(events)), gauges, now=None if is_over else now),
        others_s=find_others(session, record),
        is_folder_gone=is_gone(plan, listed),
    )


def _load_gauges(host: Host, folder: str, names: Sequence[str]) -> RunGauges:
    nodes = [name for name in names if is_node_file(name)][:_MOST_NODES]
    ranks = [name for name in names if not is_node_file(name)][:_MOST_RANKS]
    asked = [ask_for_part(f"{folder}/{name}", -_FILE_BYTES, _FILE_BYTES) for name in (*nodes, *ranks)]
    replies = host.ask(asked) if asked else []
    return read_files({name: read_text(reply) for name, reply in zip((*nodes, *ranks), replies, strict=True)})


def find_others(session: Session, record: RunRecord) -> tuple[float, ...]:
    """Earlier runs of the same name that got done in one job: of longer chains the waits are in it too."""
    runs = session.store.list(limit=_MOST_COMPARED, site=record.site, states=(RunState.DONE,), name=record.name)
    return tuple(
        one.ended - one.started
        for one in runs
        if one.run_id != record.run_id
        and one.project == record.project
        and one.links == 1
        and one.started
        and one.ended
    )


def fit_to_file(record: RunRecord, plan: Plan | None, advice: Sequence[Advice]) -> tuple[Advice, ...]:
    """Where windlass.toml says gpus_per_node, fewer GPUs are written in the same words."""
    if plan is None or not _says_gpus_per_node(record):
        return tuple(advice)
    return tuple(replace(one, patch=tuple(_reword(setting, plan) for setting in one.patch)) for one in advice)


def _reword(setting: Setting, plan: Plan) -> Setting:
    if setting.key != "resources.gpus":
        return setting
    if plan.nodes == 1:
        return replace(setting, key="resources.gpus_per_node")
    return Setting(key="resources.nodes", value=str(max(1, int(setting.value) // max(1, plan.gpus_per_node))))


def _says_gpus_per_node(record: RunRecord) -> bool:
    path = Path(record.project or "") / RUN_FILE
    try:
        values = load_toml(path).values if record.project and is_there(path) else {}
    except ConfigError:
        return False
    resources = values.get("resources")
    return isinstance(resources, dict) and "gpus_per_node" in resources


def _make_key(record: RunRecord) -> str:
    """What is a run's own is its project and its name."""
    project = hashlib.sha256((record.project or record.site).encode("utf-8", "backslashreplace")).hexdigest()[:16]
    return f"advice:{project}:{record.name}:"
