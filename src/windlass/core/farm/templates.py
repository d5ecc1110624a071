"""A command with places for values, as GNU Parallel writes them: {} {1} {2} {name}."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from windlass.core.farm.quoting import TRAPS, find_context, find_open
from windlass.core.farm.rows import Task
from windlass.core.shell import quote
from windlass.errors import TasksInvalid

# The second kind is GNU Parallel's own: as text they would do something else than there, without a word.
_PLACE = re.compile(r"\{\{|\}\}|(?<!\$)\{(?P<name>[\w.#-]*|\d*(?://?\.?|%))\}")
_OF_PARALLEL = re.compile(r"\d*(?:\.|//?\.?|%|#)")
WHOLE = ""
_BRACES = "write {{ and }} for braces that are meant for bash; a task's number is in $WINDLASS_TASK"
_OTHERWISE = (
    'for {/} of GNU Parallel write $(basename {}), for {//} $(dirname {}), for {.} V={} and "${V%.*}", for {#} '
    "$WINDLASS_TASK, which counts from 0; {{ and }} are braces that are meant for bash"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Value:
    """One row of a table: the whole of it, its columns, and their names where they have some."""

    whole: str | None
    columns: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def find(self, name: str) -> str | None:
        if name == WHOLE:
            return self.whole
        if name in self.names:
            return self.columns[self.names.index(name)]
        if name.isdigit() and 1 <= int(name) <= len(self.columns):
            return self.columns[int(name) - 1]
        return None

    def as_named(self) -> Mapping[str, str]:
        if self.names:
            return dict(zip(self.names, self.columns, strict=True))
        if len(self.columns) > 1:
            return {str(number): one for number, one in enumerate(self.columns, 1)}
        return {"value": self.whole if self.whole is not None else self.columns[0]}


@dataclass(frozen=True, kw_only=True)
class Template:
    """Texts between the places, and what stands at each: one text more than places."""

    texts: tuple[str, ...]
    names: tuple[str, ...]
    quotes: tuple[str, ...] = field(default=())  # around each place

    def fill(self, value: Value) -> str:
        """Each value is one word for bash, whatever is in it, also where the place stands between quotes."""
        parts = [self.texts[0]]
        for name, mark, text in zip(self.names, self.quotes, self.texts[1:], strict=True):
            found = value.find(name)
            if found is None:
                raise KeyError(name)
            parts += [mark, quote(found), mark, text]
        return "".join(parts)


def read_template(text: str, *, adds_value: bool = False) -> Template:
    """adds_value: where it has no place, values come behind it, as GNU Parallel does it."""
    if not text.strip():
        raise TasksInvalid("there is no command", hint='windlass farm run "python3 train.py --seed {}" ::: 1 2 3')
    if "\0" in text:
        raise TasksInvalid("the command holds a zero byte", done="nothing was sent")
    problem = find_open(text)
    if problem is not None:
        raise TasksInvalid(f"the command cannot be read by bash: {problem}", details=[text], done="nothing was sent")
    texts, names, quotes, held, at = [], [], [], "", 0
    for match in _PLACE.finditer(text):
        held += text[at : match.start()]
        at = match.end()
        if match["name"] is None:
            held += match[0][0]
            continue
        texts.append(held)
        names.append(match["name"])
        quotes.append(_find_quotes(text, match.start(), match[0]))
        held = ""
    texts.append(held + text[at:])
    if not names and adds_value:
        return Template(texts=(f"{texts[0]} ", ""), names=(WHOLE,), quotes=(_find_quotes(text, len(text), "{}"),))
    return Template(texts=tuple(texts), names=tuple(names), quotes=tuple(quotes))


def _find_quotes(text: str, at: int, place: str) -> str:
    found = find_context(text, at)
    if found in TRAPS:
        raise TasksInvalid(
            f"{place} stands in {TRAPS[found]}, where a value could be taken for a command",
            details=[text],
            hint=f'V={place}; …and "$V" there, or a script of your own; for backticks $(…)',
            done="nothing was sent",
        )
    return found


def make_tasks(template: Template, values: Iterable[Value]) -> Iterator[Task]:
    """Raises TasksInvalid where the command asks for what the table does not have."""
    rest = iter(values)
    first = next(rest, None)
    if first is None:
        raise TasksInvalid("there are no tasks: no values were given", done="nothing was sent")
    if not template.names:
        raise TasksInvalid(
            "the command has no place for a value: all tasks would be the same",
            hint="{} is the value, {1} the first column, {name} a named one",
            done="nothing was sent",
        )
    missing = [name for name in dict.fromkeys(template.names) if first.find(name) is None]
    if missing:
        raise _make_unknown(missing, first)
    for number, one in enumerate(itertools.chain([first], rest), 1):
        try:
            command = template.fill(one)
        except KeyError as problem:
            raise TasksInvalid(f"row {number} has no column {{{problem.args[0]}}}", done="nothing was sent") from None
        yield Task(command=command, values=one.as_named())


def _make_unknown(missing: Sequence[str], first: Value) -> TasksInvalid:
    places = ", ".join(f"{{{name}}}" for name in missing)
    known = [*(["{}"] if first.whole is not None else []), *(f"{{{name}}}" for name in first.names)]
    known += [f"{{{number}}}" for number in range(1, len(first.columns) + 1)] if not first.names else []
    return TasksInvalid(
        f"the command asks for {places}, which the table does not have",
        details=[f"it has {', '.join(known[:20])}{' …' if len(known) > 20 else ''}"],
        hint=_OTHERWISE if any(map(_OF_PARALLEL.fullmatch, missing)) else _BRACES,
        done="nothing was sent",
    )
