"""Showing the lines of `site check` and `doctor`, and the exit code they mean."""

import sys
from collections.abc import Sequence

from windlass.app.verdicts import Line, Verdict, has_failed
from windlass.cli.output import Output, make_printable
from windlass.errors import ExitCode

_COLOURS = {Verdict.OK: "green", Verdict.WARN: "yellow", Verdict.FAIL: "red", Verdict.SKIP: "grey"}


def show_lines(output: Output, lines: Sequence[Line]) -> int:
    if output.as_json:
        output.show_json({"lines": lines})
    else:
        for line in lines:
            output.show_words(_format(output, line))
    return int(ExitCode.CHECK_FAILED if has_failed(lines) else ExitCode.OK)


def _format(output: Output, line: Line) -> str:
    verdict = output.paint(f"{line.verdict:<5}", _COLOURS[line.verdict], to=sys.stdout)
    text = f"{verdict} {line.what:<11} {make_printable(line.words)}"
    return text if line.hint is None else f"{text}\n{'':<17} try: {line.hint}"
