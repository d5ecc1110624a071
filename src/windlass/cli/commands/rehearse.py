"""`windlass rehearse`: a site pretended on this laptop; ends with a list of what would have failed."""

import signal
from datetime import timedelta
from typing import Any

import click

from windlass.app.rehearsing import News, Options, Rehearsal, rehearse
from windlass.cli.opening import open_session, read_wanted
from windlass.cli.options import setting_options, take_flags
from windlass.cli.output import Output
from windlass.cli.rehearsal_words import format_link, format_sample, format_stage, format_verdict
from windlass.cli.words import format_findings
from windlass.core.rehearsal.engine import Tempo
from windlass.core.units import read_duration
from windlass.errors import ExitCode, Interrupted, UsageError

_WIDTH = 10
_MOST_MINUTES = 10_000


@click.command("rehearse")
@click.option("--as", "site_name", metavar="SITE", help="The site to pretend; default: run.site.")
@setting_options
@click.option("--links", default=3, show_default=True, metavar="N", help="At most so many links of the chain.")
@click.option("--link-time", metavar="TIME", help="How long a link works until it is asked to stop; default: 14s.")
@click.option("--minutes", default=10.0, show_default=True, metavar="N", help="Give up after so many in all.")
@click.option("--keep", is_flag=True, help="Keep its folder; else only the last one stays, until the next.")
@click.pass_obj
def command(
    output: Output,
    /,
    site_name: str | None,
    links: int,
    link_time: str | None,
    minutes: float,
    keep: bool,
    **values: Any,
) -> int:
    """Run the very script made for a site on this laptop, under that site's rules.

    Its nodes are pretended, its clock runs faster, its internet and home are as closed as there, and each link of
    the chain is stopped and resumed. Ends with a list of what would have failed. Nothing is sent, and nobody is asked.

    \b
    Examples:
      windlass rehearse --as daint
      windlass rehearse --as daint --nodes 2 --time 3d --links 2
      windlass rehearse --as daint --link-time 2m --keep
    """
    options = Options(tempo=_read_tempo(links, link_time, minutes), keep=keep)
    wanted = read_wanted(site_name, take_flags(values))
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever ends this, its jobs must not go on
    with open_session(output) as session:
        try:
            done = rehearse(session, wanted, options, show=lambda news: _show(output, news, options))
        except KeyboardInterrupt:
            raise Interrupted("the rehearsal was stopped", done="its jobs were ended and its folder removed") from None
    if output.as_json:
        output.show_json(_make_document(done))
    else:
        _show_end(output, done, keep=keep)
    return int(ExitCode.WOULD_FAIL if done.would_fail or done.stopped_short is not None else ExitCode.OK)


def _read_tempo(links: int, link_time: str | None, minutes: float) -> Tempo:
    if links < 1:
        raise UsageError("--links must be 1 or more")
    if not 0 < minutes <= _MOST_MINUTES:  # which refuses nan, too
        raise UsageError(f"--minutes must be more than 0 and at most {_MOST_MINUTES}", hint="--minutes 30")
    plain = Tempo(links=links, whole=timedelta(minutes=minutes))
    if link_time is None:
        return plain
    try:
        work = read_duration(link_time)
    except ValueError as problem:
        raise UsageError(f"--link-time: {problem}", hint="--link-time 30s") from None
    return Tempo(links=links, whole=plain.whole, work=work)


def _show(output: Output, news: News, options: Options) -> None:
    if news.stage is not None and news.planned is not None:
        for name, text in format_stage(news.stage, news.planned, options.tempo):
            output.tell(f"{name:<{_WIDTH}} {text}")
        for notice in news.planned.snapshot.notices:
            output.tell(f"{'note':<{_WIDTH}} {notice}")
    if news.begins is not None:
        output.tell(output.paint(f"link {news.begins} starts", "grey"))
    if news.log and not output.as_json:
        output.show_bytes(news.log)
    if news.link is not None:
        output.tell(output.paint(f"{f'link {news.link.number}':<{_WIDTH}} {format_link(news.link)}", "grey"))


def _show_end(output: Output, done: Rehearsal, *, keep: bool) -> None:
    for sample in done.evidence.samples:
        output.tell(f"{'data':<{_WIDTH}} {format_sample(sample)}")
    for line in format_findings(done.findings):
        output.tell(line)
    text, colour = format_verdict(done)
    output.tell(output.paint(text, colour))
    output.tell(f"{'files':<{_WIDTH}} {done.folder}{', kept' if keep else ' until the next rehearsal'}")


def _make_document(done: Rehearsal) -> dict[str, object]:
    links = [{name: value for name, value in vars(one).items() if name != "text"} for one in done.evidence.links]
    return {
        "site": done.planned.site.name,
        "folder": str(done.folder),
        "would_fail": done.would_fail,
        "stopped_short": done.stopped_short,
        "is_closed": done.evidence.is_closed,
        "has_network": done.evidence.has_network,
        "script": done.planned.script,
        "links": links,
        "samples": done.evidence.samples,
        "findings": done.findings,
    }
