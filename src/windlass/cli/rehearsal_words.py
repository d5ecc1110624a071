"""A rehearsal in words: what is pretended, how each link went, and what would have failed."""

from collections import Counter
from collections.abc import Iterator

from windlass.app.planning import Planned
from windlass.app.rehearsal_stage import Stage
from windlass.app.rehearsing import Rehearsal
from windlass.cli.words import format_size
from windlass.core.finding import Severity
from windlass.core.rehearsal.engine import Tempo, find_node, find_notice, find_scale
from windlass.core.rehearsal.evidence import LinkSeen, Sample
from windlass.core.rehearsal.stage import HOME
from windlass.core.units import format_bytes, format_human_duration, format_seconds
from windlass_job import wire

_ONE_LINK = "; one link, because all the time of the run fits into one job"
_ENDS = {
    wire.DONE: "done",
    wire.CUT: "stopped as asked",
    wire.FAILED: "failed",
    wire.TERMINATED: "was ended from outside",
}


def format_stage(stage: Stage, planned: Planned, tempo: Tempo) -> Iterator[tuple[str, str]]:
    """Label and text of each line."""
    plan, site = planned.plan, planned.site
    how = "byte for byte" if stage.is_closed else "with folders of this laptop in place of the site's"
    yield "as", f"{site.name}: the script of `windlass plan --on {site.name} --script`, {how}"
    node = find_node(plan, site)
    yield "nodes", f"pretended: {format_size(plan)}" + (f", of kind {node.name}" if node else "")
    yield "clock", _format_clock(planned, tempo)
    yield "network", _format_network(stage, planned)
    yield "folders", _format_folders(stage)


def format_sample(sample: Sample) -> str:
    if sample.place is None:
        return f"{sample.name}: nothing; {sample.why_not}"
    if sample.is_whole:
        return f"{sample.name}: whole, at {sample.place}"
    return f"{sample.name}: a sample of {_count(sample.files, 'file')} ({format_bytes(sample.bytes)}) at {sample.place}"


def format_link(link: LinkSeen) -> str:
    killed = "was killed at the end of its time" if link.is_late else "was killed before it had stopped"
    how = killed if link.was_killed else _ENDS.get(link.outcome or "", "left no word")
    words = [f"{how} after {_seconds(link.ended - link.started)}"]
    if link.outcome == wire.FAILED and link.exit_code is not None:
        words[0] += f", exit code {link.exit_code}"
    if link.restarts:
        words.append(f"broke down and was started again {_count(link.restarts, 'time')}")
    if link.asked is not None and not link.was_killed:
        words.append(f"{_seconds(link.ended - link.asked)} after the signal")
    words.append(
        f"saved {_count(link.saved.files, 'file')}, {format_bytes(link.saved.bytes)}"
        if link.saved.files
        else "saved nothing"
    )
    if link.went_on_from is not None:
        words.append("went on from what was saved" if link.went_on_from else "read nothing of what was saved")
    return "; ".join(words)


def format_verdict(rehearsal: Rehearsal) -> tuple[str, str]:
    """The last line, and its colour."""
    counts = Counter(one.severity for one in rehearsal.findings)
    site = rehearsal.planned.site.name
    told = ", ".join(_count(counts[one], one) for one in Severity if counts[one])
    if rehearsal.would_fail:
        return f"it would fail at {site}: {told}", "red"
    if rehearsal.stopped_short is not None:
        return f"it could not be rehearsed to the end on this laptop: {told}", "yellow"
    return f"nothing would have failed at {site}" + (f": {told}" if told else ""), "green"


def _format_clock(planned: Planned, tempo: Tempo) -> str:
    plan = planned.plan
    scale, notice = find_scale(plan, tempo), find_notice(plan, tempo)
    lasts = (plan.link_time - min(plan.notice, plan.link_time / 2)) * scale
    one = f"{format_human_duration(plan.link_time)} last {_seconds(lasts.total_seconds())}"
    links = f"; the first {min(tempo.links, plan.links)} of {plan.links} links" if plan.links > 1 else _ONE_LINK
    return f"{one} until the signal, then at most {_seconds(notice.total_seconds())}{links}"


def _format_network(stage: Stage, planned: Planned) -> str:
    if stage.has_network:
        return "as here: compute nodes have internet"
    known = planned.site.rules.compute_internet is False
    why = "compute nodes have no internet" if known else "whether compute nodes have internet is not known"
    how = "a namespace with loopback only" if stage.is_closed else "closed proxies, and Python refuses to connect"
    return f"{how}: {why}"


def _format_folders(stage: Stage) -> str:
    seen = [one for one in stage.folders if one.in_jobs]
    home = next(one for one in stage.folders if one.name == HOME)
    state = "not there in jobs" if not home.in_jobs else "read-only" if not home.may_write else "empty"
    others = ", ".join(one.path if stage.is_closed else one.name for one in seen if one.name != HOME)
    hidden = "the rest of this laptop is hidden" if stage.is_closed else "the rest of this laptop stays visible"
    return f"{home.path if stage.is_closed else HOME} is {state}; empty {others}; {hidden}"


def _count(number: int, what: str) -> str:
    if what == Severity.ADVICE:
        return f"{number} piece{'' if number == 1 else 's'} of advice"
    return f"{number} {what}{'' if number == 1 else 's'}"


def _seconds(seconds: float) -> str:
    if seconds < 100:
        return f"{max(0.0, seconds):.1f} s".replace(".0 s", " s")
    return format_seconds(seconds)
