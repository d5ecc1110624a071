"""GNU getopt_long, with its abbreviations and its exact complaints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from windlass.pocket.errors import UsageError


class Takes(Enum):
    NOTHING = 0
    VALUE = 1
    MAYBE = 2  # only glued on: --exclusive=user


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """The options that one program knows."""

    program: str
    long: Mapping[str, Takes]
    short: Mapping[str, str]  # letter -> long name
    aliases: Mapping[str, str]  # old long name -> long name
    permutes: bool = False  # whether options may follow operands
    bad_usage: int = 255


@dataclass(frozen=True, kw_only=True)
class Parsed:
    options: tuple[tuple[str, str], ...]
    operands: tuple[str, ...]


def make_grammar(
    program: str, spec: str, *, aliases: str = "", permutes: bool = False, bad_usage: int = 255
) -> Grammar:
    """Read words such as `nodes=N` (-N, needs a value), `exclusive?` (may have one), `hold.H` (has none)."""
    long: dict[str, Takes] = {}
    short: dict[str, str] = {}
    marks = {"=": Takes.VALUE, "?": Takes.MAYBE, ".": Takes.NOTHING}
    for word in spec.split():
        at = next(i for i, letter in enumerate(word) if letter in marks)
        long[word[:at]] = marks[word[at]]
        short.update(dict.fromkeys(word[at + 1 :], word[:at]))
    pairs = dict(pair.split(":") for pair in aliases.split())
    return Grammar(program=program, long=long, short=short, aliases=pairs, permutes=permutes, bad_usage=bad_usage)


def parse(grammar: Grammar, words: Sequence[str]) -> Parsed:
    """Options in order of appearance, then what is left."""
    options: list[tuple[str, str]] = []
    operands: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            operands += rest
            break
        if word.startswith("--"):
            options.append(_take_long(grammar, word, rest))
        elif word.startswith("-") and len(word) > 1:
            options += _take_short(grammar, word[1:], rest)
        else:
            operands.append(word)
            if not grammar.permutes:
                operands += rest
                break
    return Parsed(options=tuple(options), operands=tuple(operands))


def _take_long(grammar: Grammar, word: str, rest: list[str]) -> tuple[str, str]:
    typed, has_value, value = word[2:].partition("=")
    name = _full_name(grammar, typed, word)
    takes = grammar.long[name]
    if takes is Takes.NOTHING and has_value:
        raise _wrong(grammar, f"option '--{name}' doesn't allow an argument")
    if takes is Takes.VALUE and not has_value:
        if not rest:
            raise _wrong(grammar, f"option '--{name}' requires an argument")
        value = rest.pop(0)
    return name, value


def _full_name(grammar: Grammar, typed: str, word: str) -> str:
    names = [*grammar.long, *grammar.aliases]
    if typed in names:
        return grammar.aliases.get(typed, typed)
    fitting = [name for name in names if name.startswith(typed)] if typed else []
    if len({grammar.aliases.get(name, name) for name in fitting}) == 1:
        return grammar.aliases.get(fitting[0], fitting[0])
    if fitting:
        listed = " ".join(f"'--{name}'" for name in sorted(fitting))
        raise _wrong(grammar, f"option '{word}' is ambiguous; possibilities: {listed}")
    raise _wrong(grammar, f"unrecognized option '{word}'")


def _take_short(grammar: Grammar, letters: str, rest: list[str]) -> list[tuple[str, str]]:
    taken: list[tuple[str, str]] = []
    while letters:
        letter, letters = letters[0], letters[1:]
        if letter not in grammar.short:
            raise _wrong(grammar, f"invalid option -- '{letter}'")
        name = grammar.short[letter]
        takes = grammar.long[name]
        if takes is Takes.NOTHING:
            taken.append((name, ""))
            continue
        if takes is Takes.VALUE and not letters:
            if not rest:
                raise _wrong(grammar, f"option requires an argument -- '{letter}'")
            letters = rest.pop(0)
        taken.append((name, letters))
        break
    return taken


def _wrong(grammar: Grammar, text: str) -> UsageError:
    program = grammar.program
    return UsageError(
        f"{program}: {text}",
        f'Try "{program} --help" for more information',
        code=grammar.bad_usage,
        bare=True,
    )
