"""Batch scripts as sbatch reads them: the first line, and #SBATCH until the first command."""

from windlass.core.sbatch.words import split_words
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
    """The options of all #SBATCH lines before the first command; their words are one row to sbatch."""
    words: list[str] = []
    for number, line in enumerate(script.decode("utf-8", "surrogateescape").split("\n"), 1):
        if line.startswith(_MAGIC):
            words += _read_line(line[len(_MAGIC) :], number, file_name)
        elif line.startswith("#SLURM"):
            raise UsageError("Change from #SLURM to #SBATCH in your script and verify the options are valid in sbatch")
        elif (text := line.strip()) and not text.startswith("#"):
            break
    parsed = parse(SBATCH, words)
    if parsed.operands:
        raise UsageError(f"Invalid directive found in batch script: {parsed.operands[0]}")
    return parsed.options


def _read_line(text: str, number: int, file_name: str) -> list[str]:
    found, bad = split_words(text, number, len(_MAGIC) + 1)
    if bad is not None:
        raise UsageError(f"{file_name}: {bad.text}")
    words = [word.text for word in found]
    if "hetjob" in words or "packjob" in words:
        raise PocketError("pocket is one machine and runs no heterogeneous jobs: submit the parts as jobs")
    return words
