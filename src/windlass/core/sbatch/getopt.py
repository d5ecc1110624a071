"""GNU getopt_long, with its abbreviations and its exact complaints; it goes on after each, for who wants them all."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum


class Takes(Enum):
    NOTHING = 0
    VALUE = 1
    MAYBE = 2  # only glued on: --exclusive=user


class Wrong(Enum):
    UNKNOWN = "unknown"
    AMBIGUOUS = "ambiguous"
    NO_VALUE = "no value"
    NEEDS_NONE = "needs none"


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """The options that one program knows."""

    program: str
    long: Mapping[str, Takes]
    short: Mapping[str, str]  # letter -> long name
    aliases: Mapping[str, str]  # old long name -> long name
    names: tuple[str, ...]  # long names and aliases, in the order of the program's own table


@dataclass(frozen=True)
class Taken:
    """An option, and which word it stands in; `value_at` is that of its value, the same where it is glued on."""

    name: str
    value: str
    at: int
    value_at: int
    typed: str  # "--nod", "-N"


@dataclass(frozen=True)
class Complaint:
    """What getopt says, about which word."""

    kind: Wrong
    text: str
    at: int
    typed: str


@dataclass(frozen=True)
class Operands:
    """Where the options end, because a word is none."""

    at: int
    is_final: bool = False  # behind `--`: no option follows any more


def make_grammar(program: str, spec: str) -> Grammar:
    """Read words such as `nodes=N` (-N, needs a value), `exclusive?` (may have one), `hold.H` (has none), `old>new`."""
    long: dict[str, Takes] = {}
    short: dict[str, str] = {}
    aliases: dict[str, str] = {}
    names: list[str] = []
    marks = {"=": Takes.VALUE, "?": Takes.MAYBE, ".": Takes.NOTHING}
    for word in spec.split():
        old, arrow, new = word.partition(">")
        if arrow:
            aliases[old] = new
            names.append(old)
            continue
        at = next(i for i, letter in enumerate(word) if letter in marks)
        long[word[:at]] = marks[word[at]]
        short.update(dict.fromkeys(word[at + 1 :], word[:at]))
        names.append(word[:at])
    return Grammar(program=program, long=long, short=short, aliases=aliases, names=tuple(names))


def parse(grammar: Grammar, words: Sequence[str], *, begin: int = 0) -> Iterator[Taken | Complaint | Operands]:
    """In the order of appearance. The first complaint is where the program itself gives up."""
    at = begin
    is_final = False
    while at < len(words):
        word = words[at]
        if word == "--":
            at, is_final = at + 1, True
            break
        if not word.startswith("-") or word == "-":
            break
        if word.startswith("--"):
            result, at = _take_long(grammar, words, at)
            yield result
        else:
            found, at = _take_short(grammar, words, at)
            yield from found
    if at < len(words):
        yield Operands(at, is_final)


def _take_long(grammar: Grammar, words: Sequence[str], at: int) -> tuple[Taken | Complaint, int]:
    word = words[at]
    typed, has_value, value = word[2:].partition("=")
    name = _find_name(grammar, typed, word, at)
    if isinstance(name, Complaint):
        return name, at + 1
    takes = grammar.long[name]
    if takes is Takes.NOTHING and has_value:
        return Complaint(Wrong.NEEDS_NONE, f"option '--{name}' doesn't allow an argument", at, f"--{typed}"), at + 1
    if takes is not Takes.VALUE or has_value:
        return Taken(name, value, at, at, f"--{typed}"), at + 1
    if at + 1 == len(words):
        return Complaint(Wrong.NO_VALUE, f"option '--{name}' requires an argument", at, f"--{typed}"), at + 1
    return Taken(name, words[at + 1], at, at + 1, f"--{typed}"), at + 2


def _find_name(grammar: Grammar, typed: str, word: str, at: int) -> str | Complaint:
    if typed in grammar.long or typed in grammar.aliases:
        return grammar.aliases.get(typed, typed)
    fitting = [name for name in grammar.names if name.startswith(typed)] if typed else []
    if len({grammar.aliases.get(name, name) for name in fitting}) == 1:
        return grammar.aliases.get(fitting[0], fitting[0])
    if fitting:
        listed = " ".join(f"'--{name}'" for name in fitting)
        return Complaint(Wrong.AMBIGUOUS, f"option '{word}' is ambiguous; possibilities: {listed}", at, f"--{typed}")
    return Complaint(Wrong.UNKNOWN, f"unrecognized option '{word}'", at, f"--{typed}")


def _take_short(grammar: Grammar, words: Sequence[str], at: int) -> tuple[list[Taken | Complaint], int]:
    found: list[Taken | Complaint] = []
    word = words[at]
    for place, letter in enumerate(word[1:], 2):
        name = grammar.short.get(letter)
        if name is None:
            found.append(Complaint(Wrong.UNKNOWN, f"invalid option -- '{letter}'", at, f"-{letter}"))
            break
        takes = grammar.long[name]
        if takes is Takes.NOTHING:
            found.append(Taken(name, "", at, at, f"-{letter}"))
        elif place < len(word) or takes is Takes.MAYBE:
            found.append(Taken(name, word[place:], at, at, f"-{letter}"))
            break
        elif at + 1 == len(words):
            found.append(Complaint(Wrong.NO_VALUE, f"option requires an argument -- '{letter}'", at, f"-{letter}"))
        else:
            return [*found, Taken(name, words[at + 1], at, at + 1, f"-{letter}")], at + 2
    return found, at + 1
