"""Options that sbatch does not know, and values that it does not take."""

import difflib
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from windlass.core.finding import Severity
from windlass.core.sbatch.options import GONE, NEWER, OF_SRUN, OLD_OR_WRONG, PLUGIN_SWITCHES, PLUGINS, SBATCH
from windlass.core.sbatch.script import Fault, Magic, Trouble
from windlass.core.sbatch.values import MEMORY_OPTIONS, find_array_refusal, read_digits
from windlass.core.sbatch.verdict import GRES_KINDS
from windlass.core.units import Unreadable, format_memory, read_memory
from windlass.lint.mark import Edit, Mark
from windlass.lint.subject import PLACEHOLDER, TYPOGRAPHIC, VARIABLE, Subject

_FORMS = {
    "time": "minutes, H:M:S, D-H or D-H:M:S, such as 1-12:00:00",
    "time-min": "minutes, H:M:S or D-H:M:S",
    "mem": "a whole number with K, M, G or T, such as 64G",
    "mem-per-cpu": "a whole number with K, M, G or T, such as 4000M",
    "mem-per-gpu": "a whole number with K, M, G or T, such as 64G",
    "tmp": "a whole number with K, M, G or T, such as 200G",
    "nodes": "one number, or fewest-most, such as 2 or 1-4",
    "signal": "[B:]NAME[@SECONDS], such as B:USR1@120",
    "mail-type": "BEGIN,END,FAIL, or ALL, NONE, REQUEUE, TIME_LIMIT_90, ARRAY_TASKS",
    "exclusive": "nothing, user or mcs",
    "open-mode": "append or truncate",
    "begin": "now+1hour, 16:00, tomorrow, or 2030-01-31T16:00",
    "deadline": "now+1hour, 16:00, tomorrow, or 2030-01-31T16:00",
    "kill-on-invalid-dep": "yes or no",
}
_LONGEST_NAME = 40  # letters of an option that anybody mistypes
_ONE_DASH = re.compile(r"-([a-z][a-z-]{2,40})(?==|\s|$)")
_DIGIT_UNIT = re.compile(r"(\d+)\s*(d|day|days|h|hr|hrs|hour|hours|m|min|mins|minutes)", re.IGNORECASE)


def option_is_unknown(subject: Subject) -> Iterator[Mark]:
    """sbatch refuses the whole script for one option it does not know: unrecognized option."""
    for trouble in _troubles(subject, Fault.UNKNOWN):
        name = trouble.typed.removeprefix("--")
        if not trouble.typed.startswith("--") or name in PLUGINS or name in NEWER:
            continue
        if name.replace("_", "-") in OF_SRUN:
            message, hint = f"{trouble.typed} is an option of srun, not of sbatch", f"srun --{name.replace('_', '-')}=…"
            yield subject.at_trouble(trouble, message, hint=hint)
            continue
        first, colon, kind = name.partition(":")
        if colon and first == "gres":
            start = trouble.column - 1
            value = subject.text_of(trouble.line)[start : start + trouble.length].split()[0].partition("=")[2]
            mended = f"--gres={kind}:{value}" if value else f"--gres={kind}"
            fix = subject.replace(trouble.line, trouble.column, trouble.length, mended)
            yield subject.at_trouble(trouble, f"there is no option {trouble.typed}", hint=mended, fix=fix)
            continue
        meant = _find_meant(name)
        yield subject.at_trouble(
            trouble,
            f"there is no option {trouble.typed}",
            hint=f"did you mean --{meant}?" if meant else "sbatch --help lists them all",
            fix=subject.replace(trouble.line, trouble.column + 2, len(name), meant) if meant and name.isascii() else (),
        )


def option_of_a_plugin(subject: Subject) -> Iterator[Mark]:
    """An option that a plugin of the centre adds. Elsewhere sbatch refuses the script: unrecognized option.

    Whether the centre has the plugin cannot be told from the script, so it is said once a file, and mildly. Where it
    has, say so in the script: `# windlass: ignore=S119`.
    """
    for trouble in _troubles(subject, Fault.UNKNOWN):
        name = trouble.typed.removeprefix("--")
        if name in PLUGINS:
            message = f"{trouble.typed} exists only where Slurm has {PLUGINS[name]}"
            mark = subject.at_trouble(trouble, message, hint="# windlass: ignore=S119   # where it has")
            yield replace(mark, severity=Severity.ADVICE)
            return


def option_of_another_slurm(subject: Subject) -> Iterator[Mark]:
    """An option that some versions of Slurm know and others refuse; many centres still run 22.05."""
    for option in subject.script.options:
        if option.name in GONE:
            message = f"--{option.name} is gone since Slurm {GONE[option.name]}"
            yield subject.at_option(option, Severity.WARNING, message)
    for trouble in _troubles(subject, Fault.UNKNOWN):
        name = trouble.typed.removeprefix("--")
        if name in NEWER:
            message = f"{trouble.typed} came after Slurm 22.05; {NEWER[name]} knows it"
            mark = subject.at_trouble(trouble, message, hint="sbatch --version tells which one you have")
            yield replace(mark, severity=Severity.WARNING)


def short_option_is_unknown(subject: Subject) -> Iterator[Mark]:
    """A letter that is no option of sbatch, often because a long option has one dash: `-mem=4G` is `-m em=4G`."""
    for trouble in subject.script.troubles:
        long_name = _find_long_name(subject.text_of(trouble.line), trouble.column)
        if trouble.fault is Fault.UNKNOWN and not trouble.typed.startswith("--") and _cause(trouble) == "value":
            message = f"there is no option {trouble.typed}"
            if long_name:
                message = f"-{long_name} has one dash too few"
            yield subject.at_trouble(
                trouble,
                message,
                hint=f"--{long_name}" if long_name else "sbatch --help lists them all",
                fix=subject.replace(trouble.line, trouble.column, 1, "--") if long_name else (),
            )
    for option in subject.script.options:
        long_name = _find_long_name(subject.text_of(option.line), option.word.column)
        if long_name and not option.typed.startswith("--") and option.magic is Magic.SBATCH:
            yield subject.at_option(
                option,
                Severity.ERROR,
                f"-{long_name} has one dash too few: sbatch reads {option.typed} {option.value}",
                hint=f"--{long_name}",
                fix=subject.replace(option.line, option.word.column, 1, "--"),
            )


def abbreviation_is_ambiguous(subject: Subject) -> Iterator[Mark]:
    """sbatch takes the beginning of an option only where it fits one; with others it refuses the script."""
    for trouble in _troubles(subject, Fault.AMBIGUOUS):
        meant = OLD_OR_WRONG.get(trouble.typed.removeprefix("--"))
        possible = trouble.said.partition("possibilities: ")[2]
        yield subject.at_trouble(
            trouble, f"{trouble.typed} may be {possible}", hint=f"did you mean --{meant}?" if meant else "write it out"
        )


def value_is_missing(subject: Subject) -> Iterator[Mark]:
    """An option without its value. At the end sbatch refuses it; elsewhere it eats the next line's first word."""
    for trouble in _troubles(subject, Fault.NO_VALUE):
        yield subject.at_trouble(trouble, f"{trouble.typed} needs a value")
    for option in subject.script.options:
        if option.value_word.line != option.word.line:
            message = f"{option.typed} has no value here and takes {option.value!r} of line {option.value_word.line}"
            yield subject.at_option(option, Severity.ERROR, message)


def value_is_not_wanted(subject: Subject) -> Iterator[Mark]:
    """An option that takes no value was given one."""
    for trouble in _troubles(subject, Fault.NEEDS_NONE):
        yield subject.at_trouble(trouble, f"{trouble.typed} takes no value", hint=trouble.typed)


def stray_word(subject: Subject) -> Iterator[Mark]:
    """A word that belongs to no option, often the end of a value with a space, or a comment without #.

    sbatch says: Invalid directive found in batch script.
    """
    told: set[int] = set()
    for trouble in _troubles(subject, Fault.STRAY):
        line = subject.text_of(trouble.line)
        if _is_value_of_plugin(line, trouble.column):
            continue
        if trouble.line in told:
            continue
        told.add(trouble.line)
        if PLACEHOLDER.search(line) or TYPOGRAPHIC.search(line) or line.startswith("#SLURM"):
            continue
        hint = 'quote a value with spaces: --job-name="my job"; begin a comment with #'
        if re.fullmatch(r"[KMGTkmgt][bB]?", trouble.typed):
            hint = "no space before the unit, such as 16G"
        if re.fullmatch(r"[a-z][a-z-]+=\S*", trouble.typed) and trouble.typed.partition("=")[0] in SBATCH.long:
            yield subject.at_trouble(
                trouble,
                f"{trouble.typed!r} lacks its two dashes",
                hint=f"--{trouble.typed}",
                fix=subject.replace(trouble.line, trouble.column, 0, "--"),
            )
            continue
        yield subject.at_trouble(trouble, f"{trouble.typed!r} belongs to no option", hint=hint)


def value_is_wrong(subject: Subject) -> Iterator[Mark]:
    """A value that sbatch does not read. It refuses the script with the words that are quoted."""
    for trouble in _troubles(subject, Fault.VALUE):
        option = trouble.option
        if (
            option is None
            or _cause(trouble) != "value"
            or _find_long_name(subject.text_of(option.line), option.word.column)
        ):
            continue
        hint = _FORMS.get(option.name)
        fix: tuple[Edit, ...] = ()
        if option.name == "time" and (match := _DIGIT_UNIT.fullmatch(option.value)):
            hint = _say_time(read_digits(match[1]), match[2][0].lower())
            fix = subject.replace(trouble.line, trouble.column, trouble.length, hint)
        said = f"sbatch says: {trouble.said}"
        yield subject.at_trouble(trouble, said, hint=f"write {hint}" if hint else None, fix=fix)


def short_option_with_equals(subject: Subject) -> Iterator[Mark]:
    """Behind one letter the = is part of the value: `-p=gpu` asks for a partition called `=gpu`."""
    for option in subject.script.options:
        if option.typed.startswith("--") or not option.value.startswith("=") or not option.is_glued:
            continue
        at = option.word.column + len(option.typed)
        yield subject.at_option(
            option,
            Severity.ERROR,
            f"{option.typed}{option.value} asks for {option.value!r}, with the =",
            hint=f"{option.typed} {option.value[1:]}",
            fix=subject.replace(option.line, at, 1, " "),
        )


def memory_is_a_fraction(subject: Subject) -> Iterator[Mark]:
    """sbatch takes whole numbers only: 1.5G is refused, 1536M is not."""
    for trouble in _troubles(subject, Fault.VALUE):
        option = trouble.option
        if option is None or _cause(trouble) != "fraction":
            continue
        try:
            whole = format_memory(read_memory(option.value))
        except Unreadable:
            whole = ""
        yield subject.at_trouble(
            trouble,
            f"{option.value} is no whole number",
            hint=f"--{option.name}={whole}" if whole else None,
            fix=subject.replace(trouble.line, trouble.column, trouble.length, whole) if whole else (),
        )


def options_exclude_each_other(subject: Subject) -> Iterator[Mark]:
    """Options that are right by themselves and refused together, such as --mem with --mem-per-cpu."""
    for trouble in _troubles(subject, Fault.CONFLICT):
        if trouble.option is None or "generic resource" not in trouble.said:
            yield subject.at_trouble(trouble, f"sbatch says: {trouble.said}")


def gres_is_wrong(subject: Subject) -> Iterator[Mark]:
    """--gres wants NAME[:KIND][:NUMBER], and the centre must know the name; for GPUs it is `gpu`.

    Names that come from the centre's own configuration cannot be known here: where it has one, say so in the script:
    `# windlass: ignore=S131`.
    """
    for trouble in _troubles(subject, Fault.CONFLICT):
        option = trouble.option
        if option is None or "generic resource" not in trouble.said:
            continue
        name = option.value.partition(":")[0]
        hint = "--gres=gpu:2 or --gres=gpu:a100:2"
        if option.name == "gres" and name.lower() in ("gpus", "gpu", "gres/gpu") and name != "gpu" and option.is_glued:
            start = trouble.column + subject.text_of(option.line)[option.word.column - 1 :].find("=") + 1
            fixes = subject.replace(option.line, start, len(name), "gpu")
            yield subject.at_trouble(trouble, f"sbatch says: {trouble.said}", hint=hint, fix=fixes)
            continue
        unknown = [
            part.partition(":")[0] for part in option.value.split(",") if part.partition(":")[0] not in GRES_KINDS
        ]
        message = f"sbatch says: {trouble.said}"
        if option.name == "gres" and unknown:
            message = f"{unknown[0]!r} is no resource that Slurm brings along; {message}"
        yield subject.at_trouble(trouble, message, hint=hint)


def array_is_wrong(subject: Subject) -> Iterator[Mark]:
    """--array wants numbers: 1-10, 0-20:5, 1,3,7, with %2 behind it for two at a time. sbatch hands on what it does
    not understand, and the controller refuses the job: Invalid job array specification.
    """
    option = subject.option("array")
    if option is None or any(one.search(option.value) for one in (VARIABLE, PLACEHOLDER, TYPOGRAPHIC)):
        return
    if said := find_array_refusal(option.value):
        hint = "--array=1-10, --array=0-20:5 or --array=1,3,7"
        if re.search(r"[A-Za-z]", option.value):
            hint += "; a list of names is looked up in the job, by $SLURM_ARRAY_TASK_ID"
        yield subject.at_option(option, Severity.ERROR, f"Slurm says: {said}", hint=hint)


def option_is_abbreviated(subject: Subject) -> Iterator[Mark]:
    """sbatch takes the beginning of an option where it fits only one. The next version may have a second."""
    for option in subject.script.options:
        typed = option.typed.removeprefix("--")
        if option.typed.startswith("--") and typed not in SBATCH.long and typed not in SBATCH.aliases:
            yield subject.at_option(
                option, Severity.ADVICE, f"{option.typed} stands for --{option.name}", hint=f"--{option.name}"
            )


def _troubles(subject: Subject, fault: Fault) -> Iterator[Trouble]:
    """Those that no other rule explains better."""
    for trouble in subject.script.troubles:
        if trouble.fault is fault and not (fault is Fault.UNKNOWN and TYPOGRAPHIC.search(trouble.typed)):
            yield trouble


def _cause(trouble: Trouble) -> str:
    option = trouble.option
    if option is None:
        return "typography" if TYPOGRAPHIC.search(trouble.typed) else "value"
    if TYPOGRAPHIC.search(option.value):
        return "typography"
    if VARIABLE.search(option.value):
        return "variable"
    if PLACEHOLDER.search(option.value):
        return "placeholder"
    if option.value.startswith("=") and not option.typed.startswith("--") and option.is_glued:
        return "equals"
    if option.name in (*MEMORY_OPTIONS, "tmp") and re.match(r"\d+\.\d", option.value):
        return "fraction"
    return "missing" if option.value_word.line != option.word.line else "value"


def _is_value_of_plugin(line: str, column: int) -> bool:
    """Whether the word before it is an option of a plugin's that takes the next word."""
    before = line[max(0, column - 1 - 2 * _LONGEST_NAME) : column - 1].split()[-1:]
    return bool(before) and before[0].removeprefix("--") in PLUGINS and before[0] not in PLUGIN_SWITCHES


@lru_cache(maxsize=1000)
def _find_meant(name: str) -> str | None:
    """The one option that was certainly meant."""
    if len(name) > _LONGEST_NAME:
        return None
    plain = name.lower().replace("_", "-")
    if plain in SBATCH.long:
        return plain
    if name in OLD_OR_WRONG:
        return OLD_OR_WRONG[name]
    close = difflib.get_close_matches(plain, SBATCH.names, n=2, cutoff=0.85)
    ratios = [difflib.SequenceMatcher(None, plain, one).ratio() for one in close]
    if not close or (len(close) > 1 and ratios[0] - ratios[1] < 0.03):
        return None
    return SBATCH.aliases.get(close[0], close[0])


def _find_long_name(line: str, column: int) -> str | None:
    """`-mem=4G` at a place: a long option with one dash."""
    match = _ONE_DASH.match(line, column - 1)
    return match[1] if match and (match[1] in SBATCH.long or match[1] in SBATCH.aliases) else None


def _say_time(number: int, unit: str) -> str:
    return {"d": f"{number}-00:00:00", "h": f"{number}:00:00", "m": f"{number}"}.get(unit, f"{number}:00:00")
