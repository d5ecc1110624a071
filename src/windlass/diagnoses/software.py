"""What the program itself said last: the internet, packages, programs, and exceptions nobody else knows."""

import re
from collections.abc import Iterator

from windlass.core.ending.symptoms import Symptoms, set_to
from windlass.core.finding import Diagnosis, Setting
from windlass.core.offline import HUB_LOGIN, HUB_REFUSALS, HUGGING_FACE
from windlass.core.record import RunState
from windlass.core.trackers import TRACKERS, WORKDIR, Tracker

_NO_INTERNET = re.compile(
    r"Network is unreachable|Temporary failure in name resolution|couldn't connect to 'https?://|"
    r"Max retries exceeded with url|Could not resolve host|OfflineModeIsEnabled|"
    r"urlopen error (?:\[Errno (?:-2|-3|101|110|111|113)\]|timed out|_ssl\.c)|Failed to establish a new connection|"
    r"LocalEntryNotFoundError|Could not reach (?:(?!Could not reach)[^\n])*huggingface\.co|unable to access 'https?://|"
    r"outgoing traffic has been disabled|offline mode is enabled|see how to run the library in offline mode|"
    r"Couldn't reach (?:(?!Couldn't reach)[^\n])* on the Hub|Couldn't find cache for |"
    r"httpx\.Connect(?:Error|Timeout)|httpcore\.Connect(?:Error|Timeout)|URL fetch failure on https?://|"
    r"Please use the NLTK Downloader to obtain the resource"
)
_TRACKER = re.compile(
    r"wandb: (?:Network error \([^()\n]*\), entering retry loop|ERROR Run initialization has timed out|"
    r"W&B API key is invalid|Network error)|wandb\.errors\.(?:CommError|UsageError: api_key not configured)|"
    r"HTTPSConnectionPool\(host='[^'\n]*(?:wandb|comet|neptune)|"
    r"(?:COMET|NEPTUNE)(?>(?:(?!COMET|NEPTUNE)[ \w])*?(?:ERROR|WARNING))"
    r"(?:(?!COMET|NEPTUNE)[^\n])*(?:connect|network|Connection)|"
    r"MlflowException: API request to (?:(?!MlflowException)[^\n])* failed"
)
_RETRIES = re.compile(
    r"Retrying \(Retry\(total=\d(?:(?!Retrying \()[^\n])*NewConnectionError|Retrying in \d+s \[Retry \d+/\d+\]|"
    r"'\(MaxRetryError\((?:(?!MaxRetryError)[^\n])*Retrying|wget: unable to resolve host|"
    r"Connecting to (?:(?!Connecting to)[^\n])*\.\.\. failed: "
)
_MODULE = re.compile(r"ModuleNotFoundError: No module named '([^']+)'|ImportError: No module named '?([\w.]+)'?")
_COMMAND = re.compile(
    r"(?:bash: (?:line \d+: )?|: )([\w./+-]+): (?:command not found|No such file or directory|Permission denied|"
    r"cannot execute: required file not found)"
)
_SCRIPT = re.compile(r"can't open file '([^']+)': \[Errno 2\]")  # Python ends with 2
_BY_CODE = {126: _COMMAND, 127: _COMMAND, 2: _SCRIPT}
_SLURM = ("sbatch", "srun", "salloc", "squeue", "scontrol", "sacct", "scancel", "module", "conda")


def no_internet(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """Compute nodes at most centres have no internet: downloads of weights, data or packages fail there.

    `windlass prefetch --on SITE` fetches what the training loads into a folder that jobs read, tries it with the
    network off, and tells the libraries to stay offline (HF_HUB_OFFLINE=1). Where that was done and it is told all the
    same, the code wants more now than it did then: run it once more.
    """
    line = symptoms.fatal(_NO_INTERNET)
    if line and not _TRACKER.search(line):
        yield Diagnosis(
            code="D203",
            message="the program wanted something from the internet, and the node has none",
            evidence=(line,),
            hint=_prefetch(symptoms),
            patch=_stay_offline(symptoms),
        )


def module_missing(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """Python did not find a package: the environment of the job is not the one you tried it in."""
    if line := symptoms.fatal(_MODULE):
        found = _MODULE.search(line)
        name = (found[1] or found[2]) if found else "?"
        yield Diagnosis(
            code="D205",
            message=f"the Python of the job has no package {name!r}",
            evidence=(line,),
            hint=_bring_package(symptoms, name),
        )


def _bring_package(symptoms: Symptoms, name: str) -> str:
    if symptoms.is_foreign:
        return "activate the environment that has it in the script, before the command; or load a module"
    plan, where = symptoms.plan, symptoms.record.site
    build = f"windlass env build --on {where}"
    if plan is not None and plan.environment_left_out is not None:
        return f"{build}   # what [environment] names is not built there: the environment you were in came along"
    if plan is not None and plan.environment is not None:
        builds_itself = symptoms.site is None or not symptoms.site.rules.cuts_to_fit
        then = ": the next run builds it" if builds_itself else f", then {build}"
        listing = f"windlass env show {plan.environment} --on {where}"
        wanted = f"write {name} into the file that [environment] names{then}"
        return f"{listing}   # if it lists {name}, that has a module of another name; else {wanted}"
    return (
        '[environment] venv = "requirements.txt"   # windlass run builds it there; or conda = "environment.yml", '
        'container = "docker://...", modules = [...]; activate = "..." for one of your own'
    )


def command_missing(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The shell did not find the program or the file named in the command, or could not start it.

    `required file not found` is the program named in the script's first line: often one with a Windows line end.
    """
    pattern = _BY_CODE.get(symptoms.record.exit_code or 0)
    if pattern is None or not (line := symptoms.fatal(pattern)):
        return
    found = pattern.search(line)
    name = found[1] if found else "the program"
    if name in _SLURM:
        return  # told by rules of their own
    # Many systems have only `python3` until an environment is active.
    advice = "write python3 in run.command, or name" if name == "python" else "check run.command, run.workdir and"
    if "required file" in line:
        message, advice = (
            f"the first line of {name!r} names a program the node does not have",
            "look for Windows line ends (sed -i 's/\\r$//'), or check",
        )
    else:
        message = f"the job does not have {name!r}"
    yield Diagnosis(code="D206", message=message, evidence=(line,), hint=f"{advice} [environment]")


def tracker_blocks(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """An experiment tracker tries to reach its server from a node without internet, and waits.

    Let it write to files (WANDB_MODE=offline); `windlass sync RUN --push` sends them from the laptop.
    """
    if line := symptoms.stuck(_TRACKER):
        tracker = _find_tracker(line)
        # Relative is below the folder the command runs in.
        offline = {name: value.replace(f"{WORKDIR}/", "") for name, value in tracker.offline.items()}
        yield Diagnosis(
            code="D606",
            message=f"{tracker.title} tries to reach its server from a node without internet",
            evidence=(line,),
            hint="let it write files in the job, and send them from here: windlass sync RUN --follow --push",
            patch=tuple(set_to(f"run.env.{name}", value) for name, value in offline.items()),
        )


def _find_tracker(line: str) -> Tracker:
    """The one whose name is in it; a long line may be cut, and most are of Weights & Biases."""
    return next((one for one in TRACKERS.values() if one.offline and one.name in line.lower()), TRACKERS["wandb"])


def download_stalls(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """A download is tried again and again from a node without internet: the job waits, and will fail in the end."""
    waits = symptoms.record.state in (RunState.RUNNING, RunState.OUT_OF_TIME, RunState.CANCELLED)
    if waits and (line := symptoms.stuck(_RETRIES)):
        yield Diagnosis(
            code="D607",
            message="it tries a download again and again, and the node has no internet",
            evidence=(line,),
            hint=f"cancel it, then {_prefetch(symptoms)}",
            patch=_stay_offline(symptoms),
        )


def hub_refuses(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """Hugging Face's hub did not give a model or data set: gated or private, and nobody is logged in, or not let in.

    Accept its conditions once on its page, with the account whose token is used. A token from `hf auth login` at the
    site is found in jobs that see your home folder; one under [run.secrets] everywhere, also by `windlass prefetch`.
    """
    if line := symptoms.fatal(HUB_REFUSALS):
        yield Diagnosis(
            code="D613",
            message="Hugging Face's hub did not let the program in: it is gated, private or not there",
            evidence=(line,),
            hint=HUB_LOGIN,
        )


def python_error(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The program raised a Python exception that no other rule knows: most often a mistake in the code.

    Of several ranks that failed, the first one's is shown: the others mostly fail because of it. Mend it, then
    `windlass resume RUN --update-code` goes on from the last checkpoint.
    """
    if symptoms.record.state is not RunState.FAILED or not symptoms.tracebacks:
        return
    first = symptoms.tracebacks[0]
    if len(first.lines) < 2:
        return  # cut off: it does not tell what was raised
    whose = f"rank {first.rank}" if first.rank is not None else "the program"
    again = symptoms.again if symptoms.is_foreign or symptoms.record.farm else f"{symptoms.again} --update-code"
    yield Diagnosis(
        code="D801",
        message=f"{whose} raised {first.exception}",
        evidence=first.lines[-12:],
        hint=f"{again}   # after mending it",
    )


def _prefetch(symptoms: Symptoms) -> str:
    """Not `resume`: the script that was submitted does not know where it was fetched to."""
    name = symptoms.site.name if symptoms.site else "SITE"
    return f"windlass prefetch --on {name}, then windlass run --on {name}"


def _stay_offline(symptoms: Symptoms) -> tuple[Setting, ...]:
    """For libraries that the log names; Hugging Face's are the most frequent."""
    words = symptoms.text
    patch = []
    if "huggingface" in words or "transformers" in words or "datasets" in words:
        patch += [set_to(f"run.env.{name}", value) for name, value in HUGGING_FACE.offline.items()]
    if "wandb" in words:
        patch += [set_to(f"run.env.{name}", value) for name, value in TRACKERS["wandb"].offline.items()]
    return tuple(patch)
