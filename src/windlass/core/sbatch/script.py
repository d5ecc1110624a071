"""A batch script as sbatch reads it: which lines it takes for directives, what it makes of them, where it gives up.

`pocket/directives.py` reads scripts too, with the same words, options and getopt as this room. It stays apart because
a program of pocket's wants values to work with and the first refusal alone; here every directive keeps its place in
the file, and reading goes on after each mistake.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from windlass.core.sbatch.getopt import Complaint, Operands, Taken, Wrong, parse
from windlass.core.sbatch.options import BSUB, PBS, SAME_AS_SBATCH, SBATCH
from windlass.core.sbatch.values import find_refusal, read_digits
from windlass.core.sbatch.verdict import find_conflict
from windlass.core.sbatch.words import BadQuoting, Word, split_words

SEPARATORS = ("hetjob", "packjob")
_SPACE = " \t\v\f\r"
_NO_BATCH_SCRIPT = "This does not look like a batch script.  The first"


class Magic(StrEnum):
    SBATCH = "#SBATCH"
    SLURM = "#SLURM"  # read with a complaint
    PBS = "#PBS"
    BSUB = "#BSUB"


class Fault(StrEnum):
    """Why sbatch gives up; each has a rule that explains it."""

    EMPTY = "empty"
    NO_SHEBANG = "no shebang"
    NULL = "null byte"
    DOS = "dos line ends"
    QUOTES = "quotes"
    UNKNOWN = "unknown option"
    AMBIGUOUS = "ambiguous option"
    NO_VALUE = "no value"
    NEEDS_NONE = "needs no value"
    STRAY = "stray word"
    VALUE = "value"
    CONFLICT = "conflict"


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line that sbatch reads as directives."""

    number: int
    magic: Magic
    words: tuple[Word, ...]


@dataclass(frozen=True, kw_only=True)
class Option:
    name: str
    value: str
    typed: str  # as it is written: "--nod", "-N"
    magic: Magic
    word: Word
    value_word: Word

    @property
    def line(self) -> int:
        return self.word.line

    @property
    def is_glued(self) -> bool:
        """`--time=5`, `-t5`; else the value is the next word."""
        return self.word is self.value_word


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """A refusal of sbatch's, word for word, and where it is about."""

    fault: Fault
    said: str
    line: int = 1
    column: int = 1
    length: int = 1
    typed: str = ""
    option: Option | None = None


@dataclass(frozen=True, kw_only=True)
class Script:
    text: str
    lines: tuple[str, ...]
    directives: tuple[Line, ...]
    options: tuple[Option, ...]  # of the first component, in the order sbatch reads them
    troubles: tuple[Trouble, ...]  # the first is where sbatch itself ends
    components: int  # more than one: a heterogeneous job
    body: int  # the number of the first line that ends the directives; behind the last line if none does

    @property
    def is_accepted(self) -> bool:
        return not self.troubles

    def all_of(self, *names: str) -> tuple[Option, ...]:
        return tuple(one for one in self.options if one.name in names)

    def last(self, name: str) -> Option | None:
        """The one that counts."""
        return next((one for one in reversed(self.options) if one.name == name), None)


def read_script(data: bytes) -> Script:
    """Never fails: what cannot be read is a trouble."""
    text = data.decode("utf-8", "surrogateescape")
    lines = tuple(text.split("\n"))
    components, body, troubles = _read_directives(lines)
    others = _read_others(lines) if not any(_ignores_others(part) for part in components) else []
    read: list[tuple[list[Option], list[Trouble]]] = [_read_component(part) for part in components]
    options = read[0][0]
    found = [*_judge_form(data), *troubles, *(one for _, wrong in read for one in wrong)]
    for line in others:
        more, wrong = _read_other(line)
        options += more
        found += wrong
    conflict = find_conflict({one.name: one.value for one in options})
    if conflict is not None:
        found.append(_make_conflict(conflict[0], conflict[1], options))
    return Script(
        text=text,
        lines=lines,
        directives=tuple(
            sorted((*(line for part in components for line in part), *others), key=lambda one: one.number)
        ),
        options=tuple(options),
        troubles=tuple(found),
        components=len(components),
        body=body,
    )


def is_command(line: str) -> bool:
    """Whether sbatch stops looking for directives here."""
    bare = line.lstrip(_SPACE)
    return bool(bare) and not bare.startswith("#")


def _judge_form(data: bytes) -> Iterator[Trouble]:
    """What sbatch refuses before it looks at any option, in its order."""
    if not data.strip():
        yield Trouble(fault=Fault.EMPTY, said="Batch script is empty!")
        return
    if not data.startswith(b"#!"):
        yield Trouble(fault=Fault.NO_SHEBANG, said=_NO_BATCH_SCRIPT)
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        yield Trouble(fault=Fault.NULL, said="The Slurm controller does not allow scripts that", line=line)
    if b"\r\n" in data:
        line = data.count(b"\n", 0, data.index(b"\r\n")) + 1
        yield Trouble(fault=Fault.DOS, said="Batch script contains DOS line breaks (\\r\\n)", line=line)


def _read_directives(lines: Sequence[str]) -> tuple[list[list[Line]], int, list[Trouble]]:
    components: list[list[Line]] = [[]]
    troubles: list[Trouble] = []
    for number, line in enumerate(lines, 1):
        magic = next((one for one in (Magic.SBATCH, Magic.SLURM) if line.startswith(one)), None)
        if magic is None:
            # Behind the byte order mark sbatch itself has given up already; the rest is read for who wants to know.
            if is_command(line.removeprefix("\ufeff") if number == 1 else line):
                return components, number, troubles
            continue
        words, bad = split_words(line[len(magic) :], number, len(magic) + 1)
        if bad is not None:
            troubles.append(_make_quoting(bad, number))
        separator = next((at for at, word in enumerate(words) if word.text in SEPARATORS), None)
        components[-1].append(Line(number=number, magic=magic, words=tuple(words[:separator])))
        if separator is not None:
            components.append([])
    return components, len(lines) + 1, troubles


def _make_quoting(bad: BadQuoting, number: int) -> Trouble:
    return Trouble(fault=Fault.QUOTES, said=bad.text, line=number, column=bad.column)


def _ignores_others(part: Sequence[Line]) -> bool:
    return any(word.text == "--ignore-pbs" for line in part for word in line.words)


def _read_others(lines: Sequence[str]) -> list[Line]:
    """#PBS and #BSUB count in the whole file, behind commands too."""
    found: list[Line] = []
    for number, line in enumerate(lines, 1):
        if line.startswith(("#PBS", "#BSUB")):
            magic = Magic.PBS if line.startswith("#PBS") else Magic.BSUB
            words, _ = split_words(line[len(magic) :], number, len(magic) + 1)
            found.append(Line(number=number, magic=magic, words=tuple(words)))
    return found


def _read_component(part: Sequence[Line]) -> tuple[list[Option], list[Trouble]]:
    """sbatch puts the words of all lines into one row, so an option without its value takes the next line's first."""
    words = [word for line in part for word in line.words]
    magics = [line.magic for line in part for _ in line.words]
    options: list[Option] = []
    troubles: list[Trouble] = []
    texts = [word.text for word in words]
    begin = 0
    while begin < len(words):
        stopped = len(words)
        for one in parse(SBATCH, texts, begin=begin):
            match one:
                case Taken(name=name, value=value, at=at, value_at=value_at, typed=typed):
                    word, value_word = words[at], words[value_at]
                    option = Option(
                        name=name, value=value, typed=typed, magic=magics[at], word=word, value_word=value_word
                    )
                    options.append(option)
                    if said := find_refusal(name, value):
                        troubles.append(_make_value(option, said))
                case Complaint(kind=kind, text=said, at=at, typed=typed):
                    troubles.append(_make_complaint(words[at], kind, said, typed))
                case Operands(at=at):
                    stray = words[at]
                    troubles.append(_make_stray(stray, f"Invalid directive found in batch script: {stray.text}"))
                    stopped = at + 1
        begin = stopped
    return options, troubles


def _read_other(line: Line) -> tuple[list[Option], list[Trouble]]:
    grammar = PBS if line.magic is Magic.PBS else BSUB
    options: list[Option] = []
    troubles: list[Trouble] = []
    for one in parse(grammar, [word.text for word in line.words]):
        match one:
            case Taken(name=theirs, value=value, at=at, value_at=value_at, typed=typed):
                word, value_word = line.words[at], line.words[value_at]
                for name, meant in _translate(theirs, value):
                    option = Option(
                        name=name, value=meant, typed=typed, magic=line.magic, word=word, value_word=value_word
                    )
                    options.append(option)
                    if said := find_refusal(name, meant):
                        troubles.append(_make_value(option, said))
            case Complaint(kind=kind, text=said, at=at, typed=typed):
                troubles.append(_make_complaint(line.words[at], kind, said, typed))
            case Operands(at=at):
                troubles.append(_make_stray(line.words[at], f"Invalid argument: {line.words[at].text}"))
    return options, troubles


def _translate(theirs: str, value: str) -> Iterator[tuple[str, str]]:
    """What sbatch makes of an option of theirs. Some mean nothing to it."""
    if theirs in SAME_AS_SBATCH:
        yield theirs, value
    elif theirs == "resources":
        for item in value.split(","):
            key, _, asked = item.partition("=")
            count, *parts = asked.split(":")
            if key in ("walltime", "mem"):
                yield ("time" if key == "walltime" else key), asked
            elif key in ("nodes", "select"):
                yield ("nodes" if count.isdecimal() else "nodelist"), count
                cores = next((part[4:] for part in parts if part.startswith("ppn=")), "")
                if count.isdecimal() and cores.isdecimal():
                    yield "ntasks", str(read_digits(count) * read_digits(cores))
    elif theirs == "m":
        words = {"a": "FAIL", "b": "BEGIN", "e": "END", "n": "NONE"}
        yield "mail-type", ",".join(words[letter] for letter in value if letter in words) or "NONE"


def _make_value(option: Option, said: str) -> Trouble:
    word = option.value_word
    column = word.column + (word.text.find("=") + 1 if option.is_glued and option.typed.startswith("--") else 0)
    return Trouble(
        fault=Fault.VALUE,
        said=said,
        line=word.line,
        column=column,
        length=max(1, word.end - column),
        typed=option.typed,
        option=option,
    )


_FAULTS = {
    Wrong.UNKNOWN: Fault.UNKNOWN,
    Wrong.AMBIGUOUS: Fault.AMBIGUOUS,
    Wrong.NO_VALUE: Fault.NO_VALUE,
    Wrong.NEEDS_NONE: Fault.NEEDS_NONE,
}


def _make_complaint(word: Word, kind: Wrong, said: str, typed: str) -> Trouble:
    length = word.end - word.column
    return Trouble(fault=_FAULTS[kind], said=said, line=word.line, column=word.column, length=length, typed=typed)


def _make_stray(word: Word, said: str) -> Trouble:
    length = max(1, word.end - word.column)
    return Trouble(fault=Fault.STRAY, said=said, line=word.line, column=word.column, length=length, typed=word.text)


def _make_conflict(names: Sequence[str], said: str, options: Sequence[Option]) -> Trouble:
    about = next((one for one in reversed(options) if one.name in names), None)
    if about is None:
        return Trouble(fault=Fault.CONFLICT, said=said)
    word = about.word
    return Trouble(
        fault=Fault.CONFLICT,
        said=said,
        line=word.line,
        column=word.column,
        length=word.end - word.column,
        typed=about.typed,
        option=about,
    )
