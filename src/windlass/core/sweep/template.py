"""The command of a trial: `{lr}` in it becomes the trial's value, one word of bash whatever is in it.

Only `{name}` is a placeholder; `${name}`, `{a,b}` and `{print $1}` are the shell's own. `{{name}}` is `{name}` itself.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping

from windlass.core.farm.quoting import TRAPS, find_context
from windlass.core.shell import quote
from windlass.core.sweep.space import TRIAL
from windlass.core.sweep.values import Value, format_value
from windlass.core.toml.reading import nearest
from windlass.errors import UsageError

_READ_ANEW = ("`", "$'")
_HOLE = re.compile(r"(?P<double>\{\{[A-Za-z_]\w*\}\})|(?<!\$)\{(?P<name>[A-Za-z_]\w*)\}", re.ASCII)


def check_template(template: str, names: Collection[str]) -> None:
    """Every placeholder has values, and every name has a place."""
    holes = set(find_holes(template))
    for unknown in sorted(holes - {*names, TRIAL}):
        close = nearest(unknown, names)
        raise UsageError(
            f"the command has {{{unknown}}}, and no values are given for it",
            hint=f"did you mean {{{close}}}?"
            if close
            else f"add {unknown}=…, or write {{{{{unknown}}}}} for the braces",
        )
    _refuse_traps(template)
    unused = [name for name in names if name not in holes]
    if unused:
        raise UsageError(
            f"the command has no place for {', '.join(unused)}",
            hint=f'write it where it belongs, such as "… --{unused[0]} {{{unused[0]}}}"',
        )


def _refuse_traps(template: str) -> None:
    """Comments and here-documents are left to the user: most values are numbers, and scripts write them so."""
    for found in _HOLE.finditer(template):
        trap = find_context(template, found.start()) if found["name"] else ""
        if trap in _READ_ANEW:
            raise UsageError(
                f"{found[0]} stands in {TRAPS[trap]}, where a value could be taken for a command",
                hint=f'write $(…) for backticks, or V={found[0]}; …and "$V" there',
                done="nothing was sent",
            )


def find_holes(template: str) -> Iterator[str]:
    return (found["name"] for found in _HOLE.finditer(template) if found["name"])


def make_filler(template: str) -> Callable[[int, Mapping[str, Value]], str]:
    """A function that makes the command of each trial: the template is read once for all of them."""
    parts, holes = _read(template)

    def fill(trial: int, values: Mapping[str, Value]) -> str:
        made = [parts[0]]
        for (name, mark), part in zip(holes, parts[1:], strict=True):
            text = str(trial) if name == TRIAL else format_value(values[name])
            made.append(_put(text, mark))
            made.append(part)
        return "".join(made)

    return fill


def _put(text: str, mark: str) -> str:
    """Within quotes of the template these are closed before the value and opened behind it, where that matters."""
    quoted = quote(text)
    return quoted if not mark or quoted == text else f"{mark}{quoted}{mark}"


def _read(template: str) -> tuple[list[str], list[tuple[str, str]]]:
    """What stands between the placeholders, and of each its name and the quotes it stands in."""
    parts, holes, text, at = [], [], "", 0
    for found in _HOLE.finditer(template):
        text += template[at : found.start()]
        at = found.end()
        if found["double"]:
            text += found["double"][1:-1]
            continue
        parts.append(text)
        holes.append((found["name"], _find_quotes("".join(parts))))
        text = ""
    return [*parts, text + template[at:]], holes


def _find_quotes(before: str) -> str:
    """The mark that is open at the end of this text; empty: none."""
    mark, is_escaped = "", False
    for letter in before:
        if is_escaped:
            is_escaped = False
        elif letter == "\\" and mark != "'":
            is_escaped = True
        elif letter == mark:
            mark = ""
        elif not mark and letter in "'\"":
            mark = letter
    return mark
