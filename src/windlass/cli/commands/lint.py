"""`windlass lint`: batch scripts as a compiler would read them."""

import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from windlass.cli.output import Output, make_printable
from windlass.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from windlass.app.linting import Linted, Looking
    from windlass.cli.lint_formats import Paint

_CODE = re.compile(r"[A-Za-z]\d{0,3}")
_LEVELS = ("error", "warning", "advice")


@click.command("lint")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--site", "site_name", metavar="SITE", help="Also the rules of this centre.")
@click.option("--live", is_flag=True, help="With --site: ask the centre too, not only its file.")
@click.option("--fix", is_flag=True, help="Write into the files what is certainly meant.")
@click.option("--diff", is_flag=True, help="Show what --fix would write; write nothing.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "github", "sarif"]), default="text", help="How to print."
)
@click.option("--select", multiple=True, metavar="CODES", help="Only these, such as S1 or S118,S126.")
@click.option("--ignore", multiple=True, metavar="CODES", help="Not these.")
@click.option("--level", type=click.Choice(_LEVELS), default="advice", help="The mildest that is told.")
@click.pass_obj
def command(
    output: Output,
    /,
    files: tuple[str, ...],
    site_name: str | None,
    live: bool,
    fix: bool,
    diff: bool,
    form: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    level: str,
) -> int:
    """Look through sbatch scripts, as sbatch itself reads them.

    FILE may be a script, a folder (searched for .sbatch, .srm, .slurm, and .sh with #SBATCH), or - for standard input.
    Exit code 1 when something is an error. A comment passes over a finding: # windlass: ignore=S144

    \b
    Examples:
      windlass lint train.sh
      windlass lint --site narval jobs/
      windlass lint --diff train.sh; windlass lint --fix train.sh
      windlass lint --format sarif . > lint.sarif
    """
    from windlass.app.linting import Looking, check_can_mend

    if fix:
        check_can_mend(files)
    if live and site_name is None:
        raise UsageError("--live needs a centre to ask", hint="windlass lint --site NAME --live FILE")
    wanted = Looking(select=_read_codes(select), ignore=_read_codes(ignore))
    with _open_site(output, site_name, wanted, live=live) as looking:
        found = _lint(output, files, looking, fix=fix, level=level)
    if diff:
        _show_diff(output, found, looking)
    elif output.as_json or form == "json":
        _show_json(output, found)
    elif form == "sarif":
        _show_sarif(output, found)
    else:
        _show(output, found, form)
    _tell_summary(output, found, fixed=fix)
    return int(ExitCode.FAILED if any(one.errors or one.not_mended for one in found) else ExitCode.OK)


@contextmanager
def _open_site(output: Output, name: str | None, wanted: "Looking", *, live: bool) -> "Iterator[Looking]":
    """With the centre's file, and `live` with what it says itself."""
    from dataclasses import replace

    if name is None:
        yield wanted
        return
    from windlass.cli.opening import open_session

    with open_session(output) as session:
        site = session.site(name)
        wanted = replace(wanted, site=site)
        if live:
            wanted = replace(wanted, facts=session.facts(site), ask_about=session.cluster(site).look_at_known)
        yield wanted


def _read_codes(given: tuple[str, ...]) -> tuple[str, ...]:
    codes = [code.strip() for one in given for code in one.split(",") if code.strip()]
    for code in codes:
        if not _CODE.fullmatch(code):
            raise UsageError(f"{code!r} is no code of a rule", hint="windlass lint --ignore S144,S2 FILE")
    return tuple(code.upper() for code in codes)


def _lint(output: Output, files: tuple[str, ...], looking: "Looking", *, fix: bool, level: str) -> "list[Linted]":
    from dataclasses import replace

    from windlass.app.linting import lint_paths, mend
    from windlass.cli.lint_formats import format_name

    told = _LEVELS[: _LEVELS.index(level) + 1]
    found = []
    for one in lint_paths(files, looking):
        linted = mend(one, looking) if fix else one
        if linted.not_mended:
            output.tell(f"error: {format_name(one.path)} was not mended: {make_printable(linted.not_mended)}")
        found.append(replace(linted, marks=tuple(mark for mark in linted.marks if mark.severity.value in told)))
    if not found:
        output.tell("there is no batch script in " + ", ".join(format_name(one) for one in files))
    return found


def _show(output: Output, found: "list[Linted]", form: str) -> None:
    from windlass.cli.lint_formats import format_github, format_text

    for one in found:
        if one.marks:
            text = format_github(one) if form == "github" else format_text(one, _paint(output))
            output.show(text)


def _paint(output: Output) -> "Paint":
    return lambda text, colour: output.paint(text, colour, to=sys.stdout)


def _show_json(output: Output, found: "list[Linted]") -> None:
    from windlass.cli.lint_formats import make_json

    output.show_json(make_json(found))


def _show_sarif(output: Output, found: "list[Linted]") -> None:
    import json

    from windlass.cli.lint_formats import make_sarif

    output.show(json.dumps(make_sarif(found), indent=1))


def _show_diff(output: Output, found: "list[Linted]", looking: "Looking") -> None:
    import difflib

    from windlass.app.linting import make_mended
    from windlass.cli.lint_formats import format_name
    from windlass.core.secret_words import hide_secrets

    for one in found:
        mended = make_mended(one, looking)
        if mended != one.script.text:
            path = format_name(one.path)
            before, after = (hide_secrets(text).split("\n") for text in (one.script.text, mended))
            lines = difflib.unified_diff(before, after, f"a/{path}", f"b/{path}", lineterm="")
            output.show("\n".join(make_printable(line) for line in lines))


def _tell_summary(output: Output, found: "list[Linted]", *, fixed: bool) -> None:
    marks = [mark for one in found for mark in one.marks]
    counts = {level: sum(1 for mark in marks if mark.severity.value == level) for level in _LEVELS}
    said = ", ".join(_count(number, level) for level, number in counts.items() if number)
    fixes = sum(one.fixes for one in found)
    tail = ""
    if fixes:
        tail = f"; {fixes} mended" if fixed else f"; {fixes} can be mended by --fix"
    if found:
        output.tell(f"{_count(len(found), 'script')}: {said or 'nothing to say'}{tail}")


def _count(number: int, word: str) -> str:
    if word == "advice":
        return f"{number} piece{'s' if number > 1 else ''} of advice"
    return f"{number} {word}{'' if number == 1 else 's'}"
