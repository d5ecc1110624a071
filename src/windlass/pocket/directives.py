"""Batch scripts as sbatch reads them: the first line, and #SBATCH until the first command."""

from windlass.pocket.errors import PocketError, UsageError
from windlass.pocket.getopt import parse
from windlass.pocket.options import SBATCH

_MAGIC = "#SBATCH"


def check_script(script: bytes) -> None:
    """Refuse what sbatch refuses before it looks at any option."""
    if not script.strip():
        raise PocketError("Batch script is empty!")
    if not script.startswith(b"#!"):
        raise PocketError(
            "This does not look like a batch script.  The first",
            "line must start with #! followed by the path to an interpreter.",
            "For instance: #!/bin/sh",
        )
    if b"\0" in script:
        raise PocketError("The Slurm controller does not allow scripts that", "contain a NULL character '\\0'.")
    if b"\r\n" in script:
        raise PocketError(
            "Batch script contains DOS line breaks (\\r\\n)", "instead of expected UNIX line breaks (\\n)."
        )


def read_directives(script: bytes, file_name: str) -> tuple[tuple[str, str], ...]:
    """The options of all #SBATCH lines before the first command."""
    found: list[tuple[str, str]] = []
    for number, line in enumerate(script.decode("utf-8", "surrogateescape").split("\n"), 1):
        if line.startswith(_MAGIC):
            found += _read_line(line[len(_MAGIC) :], f"{file_name}: line {number}")
        elif line.startswith("#SLURM"):
            raise UsageError("Change from #SLURM to #SBATCH in your script and verify the options are valid in sbatch")
        elif (text := line.strip()) and not text.startswith("#"):
            break
    return tuple(found)


def _read_line(text: str, where: str) -> tuple[tuple[str, str], ...]:
    words = split_words(text, where)
    if words in (["hetjob"], ["packjob"]):
        raise PocketError("pocket is one machine and runs no heterogeneous jobs: submit the parts as jobs")
    parsed = parse(SBATCH, words)
    if parsed.operands:
        raise UsageError(f"Invalid directive found in batch script: {parsed.operands[0]}")
    return parsed.options


def split_words(text: str, where: str) -> list[str]:
    """Words with quotes and backslashes; an unquoted # begins a comment even inside a word."""
    words: list[str] = []
    word: str | None = None
    quote = ""
    letters = iter(text)
    for letter in letters:
        if quote:
            if letter == quote:
                quote = ""
            elif letter == "\\" and quote == '"':
                word = (word or "") + next(letters, "")
            else:
                word = (word or "") + letter
        elif letter in "\"'":
            quote, word = letter, word or ""
        elif letter == "#":
            break
        elif letter == "\\":
            word = (word or "") + next(letters, "")
        elif letter.isspace():
            if word is not None:
                words.append(word)
            word = None
        else:
            word = (word or "") + letter
    if quote:
        raise UsageError(f"{where}: Unmatched `{quote}` in [{text}]")
    return words if word is None else [*words, word]
