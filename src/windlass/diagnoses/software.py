"""What the program itself said last."""

import re
from collections.abc import Iterator

from windlass.core.finding import Diagnosis
from windlass.core.record import RunState
from windlass.core.symptoms import Symptoms

_NO_INTERNET = re.compile(
    r"Network is unreachable|Temporary failure in name resolution|couldn't connect to 'https?://|"
    r"Max retries exceeded with url|Could not resolve host|OfflineModeIsEnabled"
)
_QUOTA = re.compile(r"Disk quota exceeded|No space left on device")
_MODULE = re.compile(r"ModuleNotFoundError: No module named '([^']+)'")
_COMMAND = re.compile(
    r"(?:bash: (?:line \d+: )?|: )([\w./+-]+): (?:command not found|No such file or directory|Permission denied)"
)
_SCRIPT = re.compile(r"can't open file '([^']+)': \[Errno 2\]")  # Python ends with 2
_NO_KERNEL = re.compile(
    r"no kernel image is available|driver on your system is too old|PyTorch no longer supports this GPU"
)
_SHM = re.compile(r"killed by signal: Bus error|insufficient shared memory")
_EXCEPTION = re.compile(r"^[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Warning)\b")
_GPU_MEMORY = re.compile(
    r"CUDA out of memory|CUDA error: out of memory|HIP out of memory|RESOURCE_EXHAUSTED: Out of memory"
)


def gpu_memory(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The model, its activations and the batch did not fit into the GPU's memory.

    A smaller batch with gradient accumulation, mixed precision, or a GPU with more memory.
    """
    if line := _last(symptoms, _GPU_MEMORY):
        yield Diagnosis(
            code="D202",
            message="the GPU's memory was too small",
            evidence=(line,),
            hint="a smaller batch, mixed precision, or a larger GPU: [resources] gpu",
        )


def no_internet(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """Compute nodes at most centres have no internet: downloads of weights, data or packages fail there.

    Download on the login node first, into a folder the job can read, and tell the library to stay offline
    (HF_HUB_OFFLINE=1, WANDB_MODE=offline).
    """
    if line := _last(symptoms, _NO_INTERNET):
        yield Diagnosis(
            code="D203",
            message="the program wanted something from the internet, and the node has none",
            evidence=(line,),
            hint='fetch it on the login node first, then [run.env] HF_HUB_OFFLINE = "1", WANDB_MODE = "offline"',
        )


def quota(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """A disk or a quota was full: in bytes, or in the number of files."""
    if line := _last(symptoms, _QUOTA):
        yield Diagnosis(
            code="D204",
            message="a disk or your quota was full",
            evidence=(line,),
            hint="remove old runs (windlass rm), and see the site's quota command",
        )


def module_missing(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """Python did not find a package: the environment of the job is not the one you tried it in."""
    if line := _last(symptoms, _MODULE):
        found = _MODULE.search(line)
        name = found.group(1) if found else "?"
        yield Diagnosis(
            code="D205",
            message=f"the Python of the job has no package {name!r}",
            evidence=(line,),
            hint='[environment] activate = "source ~/env/bin/activate"   # or modules = [...]',
        )


def command_missing(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The shell did not find the program or the file named in the command."""
    pattern = {126: _COMMAND, 127: _COMMAND, 2: _SCRIPT}.get(symptoms.record.exit_code or 0)
    if pattern is not None and (line := _last(symptoms, pattern)):
        found = pattern.search(line)
        name = found.group(1) if found else "the program"
        # Many systems have only `python3` until an environment is active.
        advice = "write python3 in run.command, or name" if name == "python" else "check run.command, run.workdir and"
        yield Diagnosis(
            code="D206",
            message=f"the job does not have {name!r}",
            evidence=(line,),
            hint=f"{advice} [environment]",
        )


def gpu_too_old_or_new(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """This build of the framework has no code for this GPU, or wants a newer driver than the node has."""
    if line := _last(symptoms, _NO_KERNEL):
        yield Diagnosis(
            code="D207",
            message="this build of the framework does not fit the node's GPU or driver",
            evidence=(line,),
            hint="another wheel or module, or another GPU kind: [resources] gpu",
        )


def shared_memory(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """Data-loading workers ran out of /dev/shm, which counts towards the job's memory."""
    if line := _last(symptoms, _SHM):
        yield Diagnosis(
            code="D208",
            message="the data loader's workers ran out of shared memory",
            evidence=(line,),
            hint="fewer workers, or more memory: [resources] memory",
        )


def python_error(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The program raised a Python exception that no other rule knows: most often a mistake in the code.

    Mend it, then `windlass resume RUN --update-code` goes on from the last checkpoint.
    """
    if symptoms.record.state is not RunState.FAILED or "Traceback (most recent call last)" not in symptoms.log_tail:
        return
    if line := _last(symptoms, _EXCEPTION):
        start = symptoms.log_tail.rindex("Traceback (most recent call last)")
        yield Diagnosis(
            code="D801",
            message=f"the program raised {line}",
            evidence=tuple(symptoms.log_tail[start:].splitlines()[-12:]),
            hint=f"windlass resume {symptoms.record.run_id} --update-code   # after mending it",
        )


def _last(symptoms: Symptoms, pattern: re.Pattern[str]) -> str | None:
    """The last line that matches, of a run that failed."""
    if symptoms.record.state is not RunState.FAILED:
        return None
    return next((line.strip() for line in reversed(symptoms.log_tail.splitlines()) if pattern.search(line)), None)
