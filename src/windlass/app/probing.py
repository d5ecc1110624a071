"""`site check --deep`: a short test job tells what a compute node is like, and is removed again."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from windlass.app.errands import await_errand, send_errand
from windlass.app.nodes_seen import remember_node
from windlass.app.planning import Planned
from windlass.app.session import Session
from windlass.app.verdicts import Line, Verdict, fail, has_failed, ok, skip, warn
from windlass.core.record import RunRecord, RunState
from windlass.core.seen.node_probe import Remark, judge_probe, read_node
from windlass.core.shell import quote
from windlass.core.site import Site
from windlass.core.toml.layers import Flag
from windlass.errors import Interrupted, WindlassError
from windlass_job import wire

_ANSWER = "probe.json"
_LONGEST_S = 300


def add_probe(session: Session, name: str, lines: list[Line], flags: tuple[Flag, ...], *, wait_s: float) -> list[Line]:
    """What the test job saw takes the place of what only it could tell; none is sent to a site that is not ready."""
    if has_failed(lines):
        return [*lines, skip("test job", "not sent: what failed above comes first")]
    seen = probe_site(session, name, flags, wait_s=wait_s)
    told = {line.what for line in seen}
    return [*(line for line in lines if line.verdict is not Verdict.SKIP or line.what not in told), *seen]


def probe_site(session: Session, name: str, flags: tuple[Flag, ...], *, wait_s: float) -> list[Line]:
    """One small job of at most five minutes, on a GPU where the site has some. It is gone when this returns."""
    site = session.site(name)
    asked_at = session.clock()
    try:
        planned, record = send_errand(session, name, _make_flags(session, site, flags))
    except Interrupted:
        raise
    except WindlassError as problem:
        return [fail("test job", problem.message, problem.hint)]
    session.tell(f"test job {record.job_id} is in the queue ({_describe(planned)}); waiting at most {wait_s:g} s")
    record, payload = await_errand(session, record, _ANSWER, wait_s=wait_s)
    told = _read_answer(payload)
    if told is None:
        return [_tell_missing(record, wait_s)]
    remember_node(session, name, read_node(told, session.clock()))
    remarks = judge_probe(told, site, asked_at=asked_at, got_at=session.clock())
    return [ok("test job", f"job {record.job_id} ran on {told.get('host')}"), *map(_make_line, remarks)]


def _make_flags(session: Session, site: Site, flags: tuple[Flag, ...]) -> tuple[Flag, ...]:
    folders = " ".join(f"--folder {_quote_path(area.path)}" for area in site.storage if area.in_jobs)
    zipped = f'"${wire.ENV_RUN_DIR}/{wire.JOB_ZIP}"'
    command = f"{site.software.python} -I {zipped} probe --output {_ANSWER} {folders}".rstrip()
    own = {"run.name": "windlass-probe", "run.command": command, "resources.time": f"{_LONGEST_S}s"}
    if not any(flag.key.startswith("resources.gpu") for flag in flags) and _has_gpus(session, site):
        own["resources.gpus"] = "1"
    return (*(Flag(key=key, value=value, option=key) for key, value in own.items()), *flags)


def _quote_path(path: str) -> str:
    """A variable at its beginning is the site's to fill in; the rest is taken as it is written."""
    head, slash, rest = path.partition("/")
    return f'"{head}"{quote(slash + rest)}' if head.startswith("$") and head[1:].isidentifier() else quote(path)


def _has_gpus(session: Session, site: Site) -> bool:
    return any(partition.gpus for partition in session.facts(site).partitions or ())


def _describe(planned: Planned) -> str:
    gpus = f"{planned.plan.gpus} GPU{'' if planned.plan.gpus == 1 else 's'}"
    return f"partition {planned.plan.partition or 'the default'}, {gpus}"


def _read_answer(payload: bytes | None) -> Mapping[str, Any] | None:
    try:
        told = json.loads(payload) if payload is not None else None
    except ValueError:
        return None
    return told if isinstance(told, dict) else None


def _tell_missing(record: RunRecord, wait_s: float) -> Line:
    if not record.state.is_final:
        words = f"it still waited after {wait_s:g} s ({record.reason or record.state}), and was cancelled"
        return skip("test job", words, "windlass site check NAME --deep --wait 3600".replace("NAME", record.site))
    if record.state is RunState.DONE:
        return fail("test job", "it ended well but left no answer")
    return fail("test job", f"it {record.state.said_of_a_run}: {record.reason or 'no reason told'}")


def _make_line(remark: Remark) -> Line:
    if remark.is_good:
        return replace(ok(remark.what, remark.words), hint=remark.hint)
    return warn(remark.what, remark.words, remark.hint)
