"""Options of pocket's programs: the rules of core/sbatch/getopt.py, with a complaint that ends the program."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windlass.core.sbatch import getopt
from windlass.core.sbatch.getopt import Complaint, Operands, Taken, Takes
from windlass.pocket.errors import UsageError

__all__ = ["Grammar", "Parsed", "Takes", "make_grammar", "parse"]


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """The options that one program knows, and how it takes a wrong one."""

    options: getopt.Grammar
    permutes: bool = False  # whether options may follow operands
    bad_usage: int = 255

    @property
    def program(self) -> str:
        return self.options.program

    @property
    def long(self) -> Mapping[str, Takes]:
        return self.options.long

    @property
    def short(self) -> Mapping[str, str]:
        return self.options.short

    @property
    def aliases(self) -> Mapping[str, str]:
        return self.options.aliases


@dataclass(frozen=True, kw_only=True)
class Parsed:
    options: tuple[tuple[str, str], ...]
    operands: tuple[str, ...]


def make_grammar(program: str, spec: str, *, permutes: bool = False, bad_usage: int = 255) -> Grammar:
    """Read words such as `nodes=N` (-N, needs a value), `exclusive?` (may have one), `hold.H` (has none), `old>new`."""
    return Grammar(options=getopt.make_grammar(program, spec), permutes=permutes, bad_usage=bad_usage)


def parse(grammar: Grammar, words: Sequence[str]) -> Parsed:
    """Options in order of appearance, then what is left."""
    options: list[tuple[str, str]] = []
    operands: list[str] = []
    rest = list(words)
    while rest:
        after: list[str] = []
        for one in getopt.parse(grammar.options, rest):
            match one:
                case Complaint(text=text):
                    raise _wrong(grammar, text)
                case Taken(name=name, value=value):
                    options.append((name, value))
                case Operands(at=at, is_final=is_final):
                    last = at + 1 if grammar.permutes and not is_final else len(rest)
                    operands += rest[at:last]
                    after = rest[last:]
        rest = after
    return Parsed(options=tuple(options), operands=tuple(operands))


def _wrong(grammar: Grammar, text: str) -> UsageError:
    program = grammar.program
    return UsageError(
        f"{program}: {text}",
        f'Try "{program} --help" for more information',
        code=grammar.bad_usage,
        bare=True,
    )
