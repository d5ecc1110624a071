"""--help of every program, from its grammar."""

from windlass.pocket.getopt import Grammar, Takes

_ENDINGS = {Takes.NOTHING: "", Takes.VALUE: "=value", Takes.MAYBE: "[=value]"}


def show_usage(grammar: Grammar, operands: str) -> int:
    print(f"Usage: {grammar.program} {operands}\n\npocket knows these options of Slurm:")
    for name, takes in sorted(grammar.long.items()):
        letters = [letter for letter, long in grammar.short.items() if long == name]
        print(f"  {f'-{letters[0]},' if letters else '   '} --{name}{_ENDINGS[takes]}")
    return 0
