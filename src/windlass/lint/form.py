"""The file itself: first line, line ends, and what is no script at all."""

import re
from collections.abc import Iterator

from windlass.core.finding import Severity
from windlass.core.sbatch.script import Fault, Magic
from windlass.lint.mark import Edit, Mark
from windlass.lint.subject import Subject

_BOM = "\ufeff"
_CONFLICT = re.compile(r"(<{7}|>{7})( .*)?$|={7}$")
_PATH_WITHOUT_BANG = re.compile(r"#\s*!?\s*(/[\w./-]*/(?:env\s+)?(?:bash|zsh|ksh|dash|tcsh|csh|sh)\b.*)")


def file_cannot_be_read(subject: Subject) -> Iterator[Mark]:
    """The file is missing, closed to you, no file, no text, or larger than the 4 MB that Slurm takes for a script."""
    if subject.problem is not None:
        yield Mark(severity=Severity.ERROR, message=subject.problem)


def script_is_empty(subject: Subject) -> Iterator[Mark]:
    """There is nothing in the file. sbatch says: Batch script is empty!"""
    for trouble in subject.script.troubles:
        if trouble.fault is Fault.EMPTY:
            yield subject.at_trouble(trouble, "the file is empty")


def first_line_is_no_shebang(subject: Subject) -> Iterator[Mark]:
    """The first two letters of a batch script must be #!, with nothing before them, not even a mark of an editor.

    sbatch says: This does not look like a batch script. A line above it, a space, or the byte order mark that some
    editors on Windows write is enough.
    """
    for trouble in subject.script.troubles:
        if trouble.fault is not Fault.NO_SHEBANG:
            continue
        text = subject.script.text
        first = subject.text_of(1)
        if text.startswith(_BOM):
            fix = (Edit(start=0, end=1, text=""),) if text[1:].startswith("#!") else ()
            yield subject.at_trouble(trouble, "the file begins with a byte order mark, not with #!", fix=fix)
        elif match := _PATH_WITHOUT_BANG.fullmatch(first.strip()):
            fix = (Edit(start=0, end=len(first), text=f"#!{match[1]}"),)
            yield subject.at_trouble(trouble, f"the first line is {first.strip()!r}: it must begin with #!", fix=fix)
        elif (rest := text.lstrip()).startswith("#!"):
            fix = (Edit(start=0, end=len(text) - len(rest), text=""),)
            yield subject.at_trouble(trouble, "something stands before #!", fix=fix)
        else:
            sure = any(one.magic is Magic.SBATCH for one in subject.script.directives) and first.startswith("#")
            fix = (Edit(start=0, end=0, text="#!/bin/bash\n"),) if sure else ()
            yield subject.at_trouble(trouble, "the first line does not begin with #!", hint="#!/bin/bash", fix=fix)


def lines_end_as_in_dos(subject: Subject) -> Iterator[Mark]:
    r"""Lines end with \r\n, as on Windows. sbatch says: Batch script contains DOS line breaks."""
    for trouble in subject.script.troubles:
        if trouble.fault is Fault.DOS:
            text = subject.script.text
            fix = tuple(Edit(start=one.start(), end=one.start() + 1, text="") for one in re.finditer("\r\n", text))
            hint = "dos2unix FILE, or: git config core.autocrlf input"
            yield subject.at_trouble(trouble, f"{len(fix)} lines end as on Windows", hint=hint, fix=fix)


def zero_byte_inside(subject: Subject) -> Iterator[Mark]:
    """The file holds a zero byte, so it is no text. sbatch says: The Slurm controller does not allow such scripts."""
    for trouble in subject.script.troubles:
        if trouble.fault is Fault.NULL:
            yield subject.at_trouble(trouble, "there is a zero byte here: is this a program or an image?")


def merge_conflict_left_in(subject: Subject) -> Iterator[Mark]:
    """Marks of a merge that was never finished. sbatch takes the first for a command, and drops what follows it.

    Directives below the mark are ignored without a word, and bash stumbles over the marks when the job starts.
    """
    lines = subject.script.lines
    found = [number for number, line in enumerate(lines, 1) if _CONFLICT.fullmatch(line.rstrip("\r"))]
    if any(lines[number - 1][0] in "<>" for number in found):
        for number in found:
            if number not in subject.hidden_lines or lines[number - 1][0] != "=":
                yield subject.at_line(number, Severity.ERROR, "a merge conflict is left in", hint="git mergetool")


def comment_begins_with_slurm(subject: Subject) -> Iterator[Mark]:
    """sbatch reads a line that begins with #SLURM as directives, with a complaint: a comment such as
    `#SLURM_NTASKS is set` makes it refuse the script.
    """
    for line in subject.script.directives:
        if line.magic is not Magic.SLURM:
            continue
        text = subject.text_of(line.number)
        is_option = text[len(Magic.SLURM) :].lstrip().startswith("-")
        new, length = ("#SBATCH", len(Magic.SLURM)) if is_option else ("# SLURM", len(Magic.SLURM))
        yield Mark(
            severity=Severity.ERROR,
            message="#SLURM is read as a directive",
            line=line.number,
            length=len(Magic.SLURM),
            hint="write #SBATCH" if is_option else "put a space behind the #",
            fix=subject.replace(line.number, 1, length, new),
        )


def directive_of_another_system(subject: Subject) -> Iterator[Mark]:
    """sbatch also reads #PBS and #BSUB lines, in the whole file, and they win over #SBATCH.

    Left over from another batch system they change the job without a word. --ignore-pbs switches them off.
    """
    for line in subject.script.directives:
        if line.magic in (Magic.PBS, Magic.BSUB) and line.words:
            message = f"sbatch reads {line.magic} lines too, and they win over #SBATCH"
            hint = "remove the line, or add #SBATCH --ignore-pbs"
            yield subject.at_line(line.number, Severity.WARNING, message, hint=hint)
