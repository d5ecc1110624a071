"""A centre's rules for a script that is there already: the project's checks, with each finding on its directive."""

import re
from collections.abc import Sequence
from dataclasses import replace

from windlass.checks import CHECKS
from windlass.core.case import Case
from windlass.core.facts import Facts
from windlass.core.finding import Finding, Severity
from windlass.core.jobs import JobSeen
from windlass.core.planning import Attempt, make_plan
from windlass.core.run import RunSpec
from windlass.core.sbatch.request import make_scripted_plan, make_spec, read_request
from windlass.core.sbatch.script import Script
from windlass.core.sbatch.values import MEMORY_OPTIONS
from windlass.core.site import Site
from windlass.core.units import Unreadable, format_slurm_duration, read_duration
from windlass.errors import PlanError
from windlass.launchers import LAUNCHERS
from windlass.lint.mark import Mark


def _number(room: str, first: int, last: int) -> tuple[str, ...]:
    return tuple(f"{room}{number:02}" for number in range(first, last + 1))


_GPUS = ("gres", "gpus-per-node", "gpus", "gpus-per-task")
_SIZE = ("nodes", "ntasks", "ntasks-per-node")
# The checks that speak of what a script asks for, and the options they are about; the first that is there is marked.
ABOUT: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("C101", "C102", "C105", "C106", "C107"), ("account", "partition")),
    **dict.fromkeys(("C103", "C108"), ("qos", "partition")),
    "C109": ("partition",),
    **dict.fromkeys(("C112", "C113", "C114", "C115"), (*_GPUS, *_SIZE, "qos")),
    "C201": ("partition",),
    **dict.fromkeys(("C202", "C210", "C211", "C220", "C221"), ("time", "partition")),
    "C205": ("array",),
    "C206": _GPUS,
    "C207": ("cpus-per-task", "ntasks-per-node", "ntasks"),
    **dict.fromkeys(("C212", "C213"), _SIZE),
    **dict.fromkeys(("C214", "C227"), MEMORY_OPTIONS),
    **dict.fromkeys(("C215", "C216", "C217", "C218", "C219"), _GPUS),
    **dict.fromkeys(("C225", "C226"), ("partition",)),
    "C228": ("constraint",),
    "C229": ("partition",),
    **dict.fromkeys(("C601", "C602", "C603"), ("reservation",)),
    "C604": ("time",),
    **dict.fromkeys(("C605", "C606"), ("dependency",)),
    **dict.fromkeys(("C701", "C702", "C703"), ("account", "time")),
}
# Every other check, and why a script alone gives it nothing to look at.
NOT_FOR_SCRIPTS: dict[str, str] = {
    **dict.fromkeys(("C104", "C110"), "about the jobs that are there already"),
    **dict.fromkeys(("C111", "C204", "C209", "C222", "C223"), "about chains as Windlass makes them"),
    "C203": "S140 says it of scripts",
    "C230": "about launchers as Windlass starts them; S4 looks at the script's",
    "C224": "about where windlass itself runs",
    **dict.fromkeys(
        (*_number("C3", 1, 19), *_number("C3", 20, 29)),
        "about an environment that Windlass sets up; S3 looks at the script's own",
    ),
    **dict.fromkeys(("C704", "C705", "C706"), "about limits of windlass.toml"),
    **dict.fromkeys(_number("C4", 1, 20), "about the run folder and the data of a run"),
    **dict.fromkeys(_number("C5", 1, 33), "about the project's code; S4 to S6 look at the script's"),
}
# What PlanError names, as options.
_KEYS: dict[str, tuple[str, ...]] = {"partition": ("partition",), "time": ("time",), "gpus": _GPUS}
# Our own words for why a partition cannot take a run (core/placing/misfits.py); the first that is there decides.
_IN_WORDS: dict[str, tuple[str, ...]] = {
    "reservation": ("reservation", "partition"),
    "features": ("constraint",),
    "memory": MEMORY_OPTIONS,
    "cores": ("cpus-per-task",),
    "GPUs": _GPUS,
    "node": _SIZE,
    "nodes": _SIZE,
}


def check_script(
    script: Script, site: Site, facts: Facts, *, name: str, awaited: tuple[JobSeen, ...] | None = None
) -> tuple[Mark, ...]:
    """What the centre would say to this script, as far as its file, the survey and the jobs it waits for tell."""
    request = read_request(script)
    spec = make_spec(request, name=name, command=name)
    case = Case(
        spec=spec,
        plan=make_scripted_plan(request, site, name=name, folder=facts.root or site.root, command=name),
        site=site,
        facts=facts,
        awaited=awaited,
    )
    marks = [_place(finding, script) for code in CHECKS if code in ABOUT for finding in CHECKS[code](case)]
    refused = _try_to_plan(spec, site, facts, script)
    if refused is not None and not any(mark.severity is Severity.ERROR for mark in marks):
        marks.append(refused)
    return tuple(marks)


def _try_to_plan(spec: RunSpec, site: Site, facts: Facts, script: Script) -> Mark | None:
    """What a site cannot give at all is found where plans are made, not by a check."""
    try:
        make_plan(spec, site, facts, Attempt(run_id=spec.name), launchers=LAUNCHERS)
    except PlanError as problem:
        detail = _pick(problem.details, spec.resources.partition)
        words = "; ".join((problem.message, *detail))
        about = _KEYS.get(problem.about or "") or _find_about(detail)
        mark = Mark(
            severity=Severity.ERROR,
            message=words,
            hint=problem.hint,
            code=PlanError.code,
            why="What is asked for cannot be had at this site.",
        )
        return _move(mark, about, script)
    return None


def _find_about(detail: tuple[str, ...]) -> tuple[str, ...]:
    """By what is said of the partition; its name, which may be a word such as `gpu`, does not count."""
    said = " ".join(one.partition(": ")[2] for one in detail)
    return next((names for word, names in _IN_WORDS.items() if re.search(rf"\b{word}\b", said)), ("partition",))


def _pick(details: Sequence[str], partition: str | None) -> tuple[str, ...]:
    """What is said of the partition that the script names, else the first."""
    own = [one for one in details if partition and one.startswith(f"{partition}: ")]
    return tuple(own or details)[:1]


def _place(finding: Finding, script: Script) -> Mark:
    """On the directive it is about, else on the last one."""
    why = (CHECKS[finding.code].__doc__ or "").strip().split("\n\n")[0]
    mark = Mark(
        severity=finding.severity,
        message=finding.message,
        hint=_say_as_directive(finding.hint),
        code=finding.code,
        why=" ".join(why.split()),
    )
    return _move(mark, ABOUT.get(finding.code, ()), script)


def _move(mark: Mark, names: tuple[str, ...], script: Script) -> Mark:
    about = next((found for name in names if (found := script.last(name))), None)
    if about is None:
        return replace(mark, line=script.directives[-1].number if script.directives else 1)
    return replace(mark, line=about.line, column=about.word.column, length=about.word.end - about.word.column)


# How a fix for windlass.toml is written in a script.
_DIRECTIVES = {
    "nodes": "nodes",
    "cpus": "cpus-per-task",
    "memory": "mem",
    "account": "account",
    "partition": "partition",
    "qos": "qos",
    "constraint": "constraint",
    "gpus_per_node": "gpus-per-node",
}


_KEY = re.compile(r"\bresources\.([a-z_]+)")
_FLAG = re.compile(r"--(account|partition|qos|constraint|nodes) (\S+)")


def _say_as_directive(hint: str | None) -> str | None:
    """A hint is for windlass.toml or the command line of windlass; what it means is written as sbatch wants it."""
    if hint is None:
        return None
    if flag := _FLAG.fullmatch(hint):
        return f"#SBATCH --{flag[1]}={flag[2]}"
    key, equals, value = hint.removeprefix("[resources] ").partition(" = ")
    if not hint.startswith("[resources] ") or not equals or "\n" in value:
        return _KEY.sub(lambda match: f"--{_DIRECTIVES.get(match[1], match[1])}", hint)
    value = value.strip('"')
    if key in ("time", "link_time"):
        return f"#SBATCH --time={_format_time(value)}"
    if key == "gpu":
        return f"#SBATCH --gres=gpu:{value}:…"
    return f"#SBATCH --{_DIRECTIVES[key]}={value}" if key in _DIRECTIVES else hint


def _format_time(text: str) -> str:
    try:
        return format_slurm_duration(read_duration(text))
    except Unreadable:
        return text
