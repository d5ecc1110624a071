"""Lines that were meant for sbatch, and whether it takes them."""

import re
from collections.abc import Iterator

from windlass.core.finding import Severity
from windlass.core.sbatch.getopt import Operands, Taken, parse
from windlass.core.sbatch.options import SBATCH
from windlass.core.sbatch.script import Fault, Magic
from windlass.core.sbatch.words import split_words
from windlass.lint.mark import Mark
from windlass.lint.subject import PLACEHOLDER, TYPOGRAPHIC, VARIABLE, Subject

_NEAR_MISS = re.compile(r"(\s*)(#\s*([A-Za-z]{5,8}))\b[:\s]*\s(-.*)")
_COMMENTED = re.compile(r"\s*##+\s*SBATCH\s+-")
_SECOND = re.compile(r"#\s*SBATCH\s+-")
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_LEADING_DASHES = re.compile(rf"-?[{_DASHES}]+-?|--[{_DASHES}]+")
_PATHS = ("output", "error", "input", "chdir")
_NEVER_EMPTY = ("partition", "account", "qos")
_JUST_TEXT = ("job-name", "comment", "wckey", "export", "wrap", "mail-user")


def directive_after_a_command(subject: Subject) -> Iterator[Mark]:
    """sbatch stops looking for directives at the first command: this one is a comment, and nobody says so."""
    first = subject.script.body
    for number, line in enumerate(subject.script.lines[first - 1 :], first):
        if line.startswith(Magic.SBATCH) and "-" in line and number not in subject.hidden_lines:
            message = f"this directive is ignored: the first command is in line {first}"
            hint = f"move it above line {first}"
            yield subject.at_line(number, Severity.ERROR, message, hint=hint)


def directive_is_nearly_right(subject: Subject) -> Iterator[Mark]:
    """A directive must begin with exactly #SBATCH in the first column; anything else is a comment to sbatch."""
    for number, line in enumerate(subject.script.lines[: subject.script.body - 1], 1):
        if line.startswith(Magic.SBATCH) or not (match := _NEAR_MISS.fullmatch(line.rstrip("\r"))):
            continue
        if not _is_meant(match):
            continue
        # With a space behind the # somebody may have switched it off; an indented, small or mistyped one was meant.
        is_sure = _is_glued(match)
        severity = Severity.ERROR if is_sure or match[3].isupper() else Severity.WARNING
        fix = subject.replace(number, 1, len(match[1]) + len(match[2]), Magic.SBATCH.value) if is_sure else ()
        is_indented = match[1] != "" and match[2] == Magic.SBATCH
        message = (
            "an indented #SBATCH is a comment to sbatch" if is_indented else f"{match[2]!r} is a comment to sbatch"
        )
        hint = "write #SBATCH in the first column; to switch a directive off write ##SBATCH"
        yield Mark(
            severity=severity,
            message=message,
            line=number,
            column=len(match[1]) + 1,
            length=len(match[2]),
            hint=hint,
            fix=fix,
        )


def directive_is_switched_off(subject: Subject) -> Iterator[Mark]:
    """##SBATCH is a comment. It is a good way to switch a directive off, and a way to forget one."""
    for number, line in enumerate(subject.script.lines[: subject.script.body - 1], 1):
        if _COMMENTED.match(line):
            yield subject.at_line(number, Severity.ADVICE, "this directive is switched off")


def second_directive_in_a_comment(subject: Subject) -> Iterator[Mark]:
    """An unquoted # begins a comment: a second #SBATCH on the same line is not read."""
    for line in subject.script.directives:
        text = subject.text_of(line.number)
        if line.magic is Magic.SBATCH and (match := _SECOND.search(text, 7)):
            end = line.words[-1].end if line.words else 8
            if match.start() + 1 >= end:
                yield Mark(
                    severity=Severity.ERROR,
                    message="this second #SBATCH is a comment: its options are not read",
                    line=line.number,
                    column=match.start() + 1,
                    length=len(text.rstrip()) - match.start(),
                    hint="put it on a line of its own",
                    fix=subject.replace(line.number, end, match.start() + 1 - end, "\n"),
                )


def typographic_letter(subject: Subject) -> Iterator[Mark]:
    """A dash, a quote or a space from a text program or a web page: it looks right and means nothing to sbatch.

    In the first line it is worse: the shell takes `–l` for a file to run, finds none, and the job fails at once.
    """
    first = subject.text_of(1)
    if first.startswith("#!") and (found := TYPOGRAPHIC.search(first)):
        mended = first[: found.start()] + _mend_first(first[found.start() :])
        yield Mark(
            severity=Severity.ERROR,
            message=f"the letter {found[0]!r} (U+{ord(found[0]):04X}) only looks like one of the keyboard",
            column=found.start() + 1,
            hint=f"type it again: {mended}",
            fix=subject.replace(1, 1, len(first), mended) if not TYPOGRAPHIC.search(mended) else (),
        )
    for line in subject.script.directives:
        for word in line.words:
            raw = subject.text_of(line.number)[word.column - 1 : word.end - 1]
            if not (found := TYPOGRAPHIC.search(raw)):
                continue
            mended = _mend(raw)
            yield Mark(
                severity=Severity.ERROR,
                message=f"the letter {found[0]!r} (U+{ord(found[0]):04X}) only looks like one of the keyboard",
                line=line.number,
                column=word.column + found.start(),
                hint=f"type it again: {mended.strip()}",
                fix=subject.replace(line.number, word.column, len(raw), mended) if mended != raw else (),
            )


def shell_variable_in_directive(subject: Subject) -> Iterator[Mark]:
    """sbatch does not expand variables: `$HOME` stays the five letters `$HOME`.

    In a number it is refused; in --output it becomes a folder of that name, which is missing, and the job fails
    without any log. File names know patterns of their own: %j (number), %x (name), %u (user), %A and %a (array).
    """
    for option in subject.script.options:
        if option.magic is not Magic.SBATCH or not (found := VARIABLE.search(option.value)):
            continue
        severity = Severity.WARNING if option.name in _JUST_TEXT else Severity.ERROR
        hint = "%u is the user, %x the job's name, %j its number" if option.name in _PATHS else None
        if option.name not in _PATHS and option.name not in _JUST_TEXT:
            hint = f"write the value, or give it when you submit: sbatch --{option.name}={option.value} FILE"
        message = f"{found[0]} is not expanded here: --{option.name} gets these letters"
        yield subject.at_option(option, severity, message, hint=hint)


def tilde_in_directive(subject: Subject) -> Iterator[Mark]:
    """sbatch does not expand ~: the log would go into a folder called ~, which is missing, and the job fails."""
    for option in subject.script.options:
        if option.name in _PATHS and re.match(r"~(/|$)", option.value):
            message = f"~ is not expanded here: --{option.name} gets a folder called ~"
            hint = "write the whole path, or one relative to where you submit"
            yield subject.at_option(option, Severity.ERROR, message, hint=hint)


def placeholder_left_in(subject: Subject) -> Iterator[Mark]:
    """A template that was not filled in. Some of it sbatch refuses, some it takes and the controller refuses."""
    for line in subject.script.directives:
        text = subject.text_of(line.number)
        end = line.words[-1].end if line.words else 1
        found = PLACEHOLDER.search(text[: end - 1])
        if found and line.magic is Magic.SBATCH:
            yield Mark(
                severity=Severity.ERROR,
                message=f"{found[0]!r} was to be filled in",
                line=line.number,
                column=found.start() + 1,
                length=len(found[0]),
            )
    for option in filter(None, map(subject.option, _NEVER_EMPTY)):
        if not option.value:
            # An empty partition is refused everywhere; the others where the centre looks at them.
            severity = Severity.ERROR if option.name == "partition" else Severity.WARNING
            yield subject.at_option(option, severity, f"--{option.name} is empty", hint="fill it in, or leave it out")


def quotes_do_not_close(subject: Subject) -> Iterator[Mark]:
    """A quote is not closed on its line, or a word begins with a colon. sbatch ends there."""
    for trouble in subject.script.troubles:
        if trouble.fault is Fault.QUOTES:
            yield subject.at_trouble(trouble, trouble.said)


def option_is_given_twice(subject: Subject) -> Iterator[Mark]:
    """The last one wins, whatever was meant. Kinds of mail add up."""
    seen: dict[str, int] = {}
    for option in subject.script.options:
        if option.magic is Magic.SBATCH and option.name in seen and option.name != "mail-type":
            message = f"--{option.name} was given in line {seen[option.name]} too; this one wins"
            yield subject.at_option(option, Severity.WARNING, message, hint="keep one of them")
        seen[option.name] = option.line


def _is_meant(match: re.Match[str]) -> bool:
    """#SBATCH in other letters, such as #sbatch, # SBATCH or #SBTACH, and not a sentence about sbatch."""
    typed, rest = match[3], match[4]
    if typed == "SBATCH":
        return True
    if typed.upper() == "SBATCH":
        # `# sbatch --array=1-9 job.sh` tells how to submit.
        words = [one.text for one in split_words(rest, 1, 1)[0]]
        is_call = any(isinstance(one, Operands) for one in parse(SBATCH, words))
        return not is_call and (_is_glued(match) or "=" in rest)
    return typed.isupper() and _is_near(typed) and _is_option(rest) and (_is_glued(match) or rest.startswith("--"))


def _is_glued(match: re.Match[str]) -> bool:
    """Nothing stands between the # and the word."""
    return match[2] == f"#{match[3]}"


def _is_near(typed: str) -> bool:
    """One letter too many, too few or another, or the letters in another order."""
    right = "SBATCH"
    if sorted(typed) == sorted(right):
        return True
    if len(typed) == len(right):
        return sum(a != b for a, b in zip(typed, right, strict=True)) == 1
    longer, shorter = (typed, right) if len(typed) > len(right) else (right, typed)
    return any(longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer)))


def _is_option(text: str) -> bool:
    first = next(iter(parse(SBATCH, text.split())), None)
    return isinstance(first, Taken)


def _mend_first(text: str) -> str:
    text = text.translate({ord("\u00a0"): " ", ord("\u202f"): " ", ord("\u2007"): " ", ord("\ufeff"): ""})
    return re.sub(rf"[{_DASHES}]", "-", text)


def _mend(raw: str) -> str:
    text = raw.translate({ord("\u00a0"): " ", ord("\u202f"): " ", ord("\u2007"): " ", ord("\ufeff"): ""})
    text = re.sub("[\u201c-\u201f]", '"', text)
    text = re.sub("[\u2018-\u201b]", "'", text)
    if match := _LEADING_DASHES.match(text):
        rest = text[match.end() :]
        dash = "-" if re.fullmatch(r"[A-Za-z](=?\d.*)?", rest) and match[0] in _DASHES else "--"
        text = dash + rest
    return text
