"""--version and --help of every program, the second from its grammar."""

from collections.abc import Container

from windlass.pocket.getopt import Grammar, Takes
from windlass.pocket.programs import VERSION

_ENDINGS = {Takes.NOTHING: "", Takes.VALUE: "=value", Takes.MAYBE: "[=value]"}


def show_about(grammar: Grammar, options: Container[str], operands: str) -> bool:
    """True: the program was asked about itself, and has answered."""
    if "version" in options:
        print(VERSION)
        return True
    if "help" in options or "usage" in options:
        show_usage(grammar, operands)
        return True
    return False


def show_usage(grammar: Grammar, operands: str) -> None:
    print(f"Usage: {grammar.program} {operands}\n\npocket knows these options of Slurm:")
    for name, takes in sorted(grammar.long.items()):
        letters = [letter for letter, long in grammar.short.items() if long == name]
        print(f"  {f'-{letters[0]},' if letters else '   '} --{name}{_ENDINGS[takes]}")
