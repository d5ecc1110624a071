"""A report as one page of HTML that needs nothing else: no script, no font, no request; light or dark as one likes.

Every word that comes from a run is escaped, and secrets are taken out: the page is made to be handed on.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING

from windlass.cli.report_words import format_gpu, list_facts, name_gpu
from windlass.cli.words import format_end
from windlass.core.drawing.thinning import Bar, thin_to_bars
from windlass.core.efficiency.parts import make_gpu_parts
from windlass.core.ending.hiding import hide
from windlass.core.finding import Advice
from windlass.core.gauges.series import Series
from windlass.core.toml.patching import format_settings
from windlass.core.units import count_gb

if TYPE_CHECKING:
    from windlass.app.reporting import Report

_WIDTH, _HEIGHT = 320, 40
_BUCKETS = 160
_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --curve: #0b5cad; --back: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --soft: #9da7b3; --line: #3d444d; --curve: #79b8ff; --back: #0d1117; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--back); max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin-top: 2rem; } h3 { font-size: 1rem; margin-bottom: 0; }
table { border-collapse: collapse; } th, td { text-align: left; vertical-align: top; padding: .25rem 1rem .25rem 0; }
th { color: var(--soft); font-weight: 600; white-space: nowrap; }
pre { overflow-x: auto; border: 1px solid var(--line); padding: .5rem; }
figure { margin: 1rem 0; } figcaption { color: var(--soft); }
svg { display: block; width: 100%; max-width: 40rem; height: 3.5rem; border-bottom: 1px solid var(--line); }
.band { fill: var(--curve); opacity: .3; } .curve { fill: none; stroke: var(--curve); stroke-width: 1.5; }
"""


def make_page(report: "Report", now: float) -> str:
    title = f"{report.record.name}: {report.record.run_id}"
    made = datetime.fromtimestamp(now).astimezone()
    parts = [
        f"<h1>{_text(format_end(report.record))}</h1>",
        f"<p>Made by Windlass on {made:%Y-%m-%d at %H:%M %Z}.</p>",
        "<h2>Asked for and used</h2>",
        _make_table(list_facts(report)),
        *_make_gpus(report),
        *_make_nodes(report),
        *_make_advice(report),
    ]
    body = "\n".join(parts)
    head = f'<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n<title>{_text(title)}</title>'
    policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n{head}\n{policy}\n<style>{_STYLE}</style>\n</head>\n'
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def draw(series: Series, *, begin: float, end: float, most: float, words: str) -> str:
    """Mean as a curve, least and greatest as a band behind it; the words say the same to whoever cannot see it."""
    buckets = thin_to_bars(series, begin=begin, end=end, count=_BUCKETS)
    if not buckets or most <= 0:
        return ""
    span = max(end - begin, 1e-9)

    def place(bucket: Bar, value: float) -> str:
        across = (bucket.begin + bucket.end) / 2 - begin
        return f"{across / span * _WIDTH:.1f},{_HEIGHT - min(value / most, 1.0) * (_HEIGHT - 2):.1f}"

    upper = [place(bucket, bucket.most) for bucket in buckets]
    lower = [place(bucket, bucket.least) for bucket in reversed(buckets)]
    curve = " ".join(place(bucket, bucket.mean) for bucket in buckets)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" role="img" aria-label="{_text(words)}">'
        f'<polygon class="band" points="{" ".join((*upper, *lower))}"/>'
        f'<polyline class="curve" points="{curve}" vector-effect="non-scaling-stroke"/></svg>'
    )


def _make_table(rows: Sequence[tuple[str, str]]) -> str:
    lines = (f'<tr><th scope="row">{_text(name)}</th><td>{_text(words)}</td></tr>' for name, words in rows)
    return f"<table>\n{chr(10).join(lines)}\n</table>"


def _make_gpus(report: "Report") -> Iterator[str]:
    gauges = report.usage.gauges
    begin, end = gauges.begin, gauges.end
    if not gauges.gpus or begin is None or end is None:
        return
    yield "<h2>GPUs</h2>"
    for part, (_, gpu) in zip(make_gpu_parts(gauges), gauges.gpus, strict=True):
        words = f"{name_gpu(part)}: {format_gpu(part)}"
        curve = draw(gpu.use, begin=begin, end=end, most=100.0, words=f"use over time, {words}")
        yield f"<figure>{curve}<figcaption>{_text(words)}</figcaption></figure>"


def _make_nodes(report: "Report") -> Iterator[str]:
    gauges = report.usage.gauges
    begin, end = gauges.begin, gauges.end
    if begin is None or end is None:
        return
    yield "<h2>Nodes</h2>"
    for node in gauges.nodes:
        curves = (
            ("memory needed", node.memory_mb, node.memory_limit_mb or node.memory_mb.most, 1 / count_gb(1.0), "GB"),
            ("cores busy", node.cpu_cores, float(node.cores or 0) or node.cpu_cores.most, 1, "cores"),
        )
        for name, series, most, size, unit in curves:
            if series and most:
                greatest = (series.most or 0) / size
                words = f"{node.node}: {name}, at most {greatest:.1f} of {most / size:.4g} {unit}"
                drawn = draw(series, begin=begin, end=end, most=most, words=words)
                yield f"<figure>{drawn}<figcaption>{_text(words)}</figcaption></figure>"


def _make_advice(report: "Report") -> Iterator[str]:
    if report.payoffs:
        yield "<h2>What earlier advice brought</h2>"
        yield _make_table([(one.code, f"{one.message} (advised of {one.run_id})") for one in report.payoffs])
    if report.advice:
        yield "<h2>Advice</h2>"
    for one in report.advice:
        yield from _make_one(one)
    settings = [setting for one in report.advice for setting in one.patch]
    if settings:
        yield "<h3>In windlass.toml</h3>"
        yield f"<pre>{_text(chr(10).join(format_settings(settings)))}</pre>"


def _make_one(advice: Advice) -> Iterator[str]:
    yield f"<h3>{_text(advice.code)}: {_text(advice.message)}{' (so far)' if advice.is_early else ''}</h3>"
    lines = [*advice.evidence, *(f"saves: {advice.saves}" for _ in (1,) if advice.saves)]
    lines += [f"try: {advice.hint}"] if advice.hint else []
    yield f"<ul>{''.join(f'<li>{_text(line)}</li>' for line in lines)}</ul>"


def _text(words: str) -> str:
    """Printable, without what looks like a secret, and harmless to a browser."""
    plain = "".join(char if char.isprintable() or char == "\n" else "\N{REPLACEMENT CHARACTER}" for char in words)
    return escape(hide(plain, ()), quote=True)
