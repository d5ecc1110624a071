"""The page of a report: whole in itself, and harmless whatever a run is called or says."""

import re
from dataclasses import replace
from html.parser import HTMLParser

from tests.advice.examples import EXAMPLES
from tests.advice.runs import NODE, after, gpu
from windlass.advice import advise
from windlass.app.reporting import Report
from windlass.cli.report_page import make_page
from windlass.cli.report_words import draw, format_report
from windlass.core.efficiency.payoff import Payoff
from windlass.core.efficiency.summary import make_summary
from windlass.core.efficiency.usage import Usage
from windlass.core.gauges.series import Series

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\x1b[31m"
TOKEN = "hf_abcdefghijklmnopqrstuvwxyz012345"


def make_report(usage: Usage) -> Report:
    payoff = Payoff(code="A101", run_id=EVIL, message=EVIL)
    return Report(
        record=usage.record, usage=usage, summary=make_summary(usage), advice=advise(usage), payoffs=(payoff,)
    )


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs


def read(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    return tags


def test_nothing_of_a_run_becomes_a_part_of_the_page() -> None:
    node = replace(NODE, node=EVIL, gpus=(replace(gpu(95), name=EVIL), gpu(0, memory_gb=0, uuid="GPU-b")))
    usage = after(node)
    evil = replace(usage, record=replace(usage.record, run_id=EVIL, name=EVIL, reason=EVIL))

    page = make_page(make_report(evil), 1.7e9)

    tags = read(page)
    assert not {"script", "img", "link", "iframe", "a"} & set(tags.names)
    assert [name for name, _ in tags.attributes if name.startswith("on") or name in ("src", "href", "style")] == []
    assert "&lt;script&gt;alert(1)" in page
    assert "\x1b" not in page
    assert "://" not in page


def test_secrets_stay_at_home() -> None:
    usage = EXAMPLES["A203"].trips
    assert usage.plan is not None
    command = f"python train.py --num-workers 1 --api-key {TOKEN} --password swordfish99"
    report = make_report(replace(usage, plan=replace(usage.plan, command=command)))

    page = make_page(report, 1.7e9)

    assert "--num-workers 8" in page
    assert TOKEN not in page
    assert "swordfish99" not in page


def test_it_is_light_or_dark_and_says_in_words_what_it_draws() -> None:
    page = make_page(make_report(EXAMPLES["A201"].trips), 1.7e9)

    assert "prefers-color-scheme: dark" in page
    assert re.search(r'<svg [^>]*role="img" aria-label="use over time, n1 GPU 0: 95 % busy', page)
    assert "In windlass.toml" in page
    assert "gpus = 1" in page
    assert len(page) < 30_000


def test_lines_for_a_terminal_have_no_letters_that_steer_it() -> None:
    node = replace(NODE, node="n\x1b[2J", gpus=(replace(gpu(95), name="\x07"),))

    lines = format_report(make_report(after(node)), is_drawn=True)

    assert not any("\x1b" in line or "\x07" in line for line in lines)


def test_a_curve_shows_peaks_and_gaps() -> None:
    series = Series(times=(0.0, 50.0, 99.0), values=(0.0, None, 100.0))

    assert draw(series, begin=0.0, end=100.0, most=100.0) == "▁" + " " * 22 + "█"
