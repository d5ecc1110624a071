"""What the job asks for: time, memory, GPUs, nodes, mail."""

import re
from collections.abc import Iterator

from windlass.core.finding import Severity
from windlass.core.sbatch.values import MAIL_TYPES, MEMORY_OPTIONS
from windlass.core.sbatch.verdict import read_gpus, read_gres
from windlass.lint.mark import Mark
from windlass.lint.subject import PLACEHOLDER, VARIABLE, Subject

_DAY = 24 * 60
_GOES_ON = re.compile(
    r"checkpoint|ckpt|resume|requeue|restart|--signal|singleton|afterany|continue|latest|last\.pt", re.IGNORECASE
)


def time_is_missing(subject: Subject) -> Iterator[Mark]:
    """Without --time the partition's default counts: a job is cut before its end, or waits long for nothing."""
    if not subject.has("time") and subject.script.directives:
        yield subject.at_line(
            subject.head_line, Severity.WARNING, "no --time is asked for", hint="#SBATCH --time=12:00:00"
        )


def time_is_in_minutes(subject: Subject) -> Iterator[Mark]:
    """A bare number is minutes: 72 is an hour and twelve minutes, not three days."""
    option = subject.option("time")
    if option is not None and option.value.isdecimal() and subject.minutes:
        hours, minutes = divmod(subject.minutes, 60)
        message = f"--time={option.value} is {option.value} minutes: {hours}:{minutes:02}:00"
        yield subject.at_option(option, Severity.ADVICE, message, hint=f"--time={hours}:{minutes:02}:00")


def time_is_minutes_and_seconds(subject: Subject) -> Iterator[Mark]:
    """Two numbers are minutes and seconds: 24:00 is twenty-four minutes, not a day."""
    option = subject.option("time")
    if option is not None and re.fullmatch(r"\d+:\d+", option.value):
        message = f"{option.value} is {option.value.partition(':')[0]} minutes, not hours"
        hint = f"--time={option.value}:00 for hours, --time=0:{option.value} if minutes are meant"
        yield subject.at_option(option, Severity.WARNING, message, hint=hint)


def long_job_never_saves(subject: Subject) -> Iterator[Mark]:
    """More than a day, and nothing says that the job saves its state or goes on from one.

    Many centres end jobs after 24 hours, and whatever ends it loses all of it.
    """
    option = subject.option("time")
    if option is None or subject.minutes is None or subject.minutes <= _DAY:
        return
    if not _GOES_ON.search(subject.script.text):
        message = f"{subject.minutes // 60} hours, and no sign of a checkpoint"
        hint = "save every hour and go on from the last; shorter jobs also start sooner"
        yield subject.at_option(option, Severity.ADVICE, message, hint=hint)


def memory_is_missing(subject: Subject) -> Iterator[Mark]:
    """Without --mem the partition's default counts, often little for each core: the job is killed out of memory."""
    asks = subject.has(*MEMORY_OPTIONS) or subject.is_whole
    takes = subject.site is None or subject.site.rules.memory_can_be_asked
    if not asks and takes and subject.script.directives and not subject.is_planned:
        hint = "#SBATCH --mem=32G"
        yield subject.at_line(subject.head_line, Severity.ADVICE, "no memory is asked for", hint=hint)


def gpus_by_two_options(subject: Subject) -> Iterator[Mark]:
    """GPUs are asked for in two ways; how Slurm joins them depends on the order of things. One is enough."""
    by_gres = bool([1 for name, _ in read_gres(subject.value("gres")) or () if name == "gpu"])
    asked = [name for name in ("gpus", "gpus-per-node", "gpus-per-task") if subject.has(name)]
    if by_gres:
        asked.insert(0, "gres")
    if len(asked) < 2 or not subject.script.is_accepted:
        return
    option = subject.option(asked[-1])
    if option is not None:
        both = " and ".join(f"--{name}" for name in asked)
        yield subject.at_option(option, Severity.WARNING, f"GPUs are asked for by {both}", hint="keep one of them")


def gpus_of_two_kinds(subject: Subject) -> Iterator[Mark]:
    """GPUs of two kinds in one job: hardly any node has both, so the job is refused or never starts."""
    for name in ("gres", "gpus", "gpus-per-node"):
        option = subject.option(name)
        if option is None:
            continue
        if name == "gres":
            found = [one for kind, gpus in read_gres(option.value) or () if kind == "gpu" for one in gpus]
        else:
            found = list(read_gpus(option.value) or ())
        kinds = sorted({one.kind for one in found if one.kind and one.count})
        if len(kinds) > 1:
            message = f"one job asks for {' and '.join(kinds)}"
            hint = "one kind for each job, or a constraint where either will do"
            yield subject.at_option(option, Severity.WARNING, message, hint=hint)


def gpu_job_with_one_core(subject: Subject) -> Iterator[Mark]:
    """A job with GPUs gets one core for each task unless it asks for more: the GPUs then wait for their data."""
    asks = ("cpus-per-task", "cpus-per-gpu", "mincpus", "exclusive", "cores-per-socket", "ntasks-per-gpu")
    if subject.gpus_per_node and not subject.has(*asks) and not subject.is_whole and subject.tasks_per_node <= 1:
        hint = "#SBATCH --cpus-per-task=8"
        message = f"{subject.gpus_per_node} GPU{'s' if subject.gpus_per_node > 1 else ''} and one core"
        asked = subject.script.all_of("gres", "gpus-per-node", "gpus", "gpus-per-task")
        yield subject.at_option(asked[-1], Severity.WARNING, message, hint=hint)


def nodes_are_named(subject: Subject) -> Iterator[Mark]:
    """Nodes by name: the job waits for these even when others are free, and no longer works when they are renamed."""
    for name in ("nodelist", "exclude"):
        option = subject.option(name)
        if option is not None and option.value:
            verb = "asks for" if name == "nodelist" else "avoids"
            yield subject.at_option(option, Severity.ADVICE, f"the job {verb} nodes by name")


def mail_address_in_script(subject: Subject) -> Iterator[Mark]:
    """Whoever copies the script sends mail to this person. It can be given when submitting, or by a variable."""
    option = subject.option("mail-user")
    if option is not None and "@" in option.value and not PLACEHOLDER.search(option.value):
        hint = "sbatch --mail-user=… FILE, or: export SBATCH_MAIL_USER=…"
        yield subject.at_option(option, Severity.ADVICE, "somebody's mail address", hint=hint)


def requeue_is_left_open(subject: Subject) -> Iterator[Mark]:
    """After a node's failure Slurm starts the job again, from nothing unless it goes on from a checkpoint, and charges
    for both. --no-requeue or --requeue says what is meant.
    """
    if subject.has("requeue", "no-requeue") or not subject.trainings or _GOES_ON.search(subject.script.text):
        return
    hint = "#SBATCH --no-requeue"
    message = "a job that loses its node is started again from nothing"
    yield subject.at_line(subject.head_line, Severity.ADVICE, message, hint=hint)


def mail_type_is_dropped(subject: Subject) -> Iterator[Mark]:
    """sbatch looks only at the first word of --mail-type: from the first wrong one on it drops the rest silently."""
    for option in subject.script.all_of("mail-type"):
        first, *words = (word.upper() for word in option.value.split(","))
        wrong = [word for word in words if word and word not in MAIL_TYPES]
        if wrong and first in MAIL_TYPES and not VARIABLE.search(option.value):
            message = f"{wrong[0]!r} is no kind of mail; it and what follows is dropped"
            yield subject.at_option(option, Severity.WARNING, message, hint="--mail-type=BEGIN,END,FAIL")
