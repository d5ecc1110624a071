"""sbatch and scancel: the job's number, the expected start, or why not."""

import re
from collections.abc import Iterable

from windlass.schedulers.answers import ExpectedStart, Refusal, RefusalKind, Submitted
from windlass.schedulers.slurm.fields import read_time
from windlass.schedulers.slurm.job_ids import pick_valid_ids
from windlass.schedulers.slurm.refusals import keep_lines, read_refusal

_PARSABLE = re.compile(r"(?P<id>[1-9]\d{0,17})(?:;(?P<cluster>[\w.-]+))?", re.ASCII)
_ESTIMATE = re.compile(
    r"Job \d+ to start at (?P<at>\S+)(?: a)? using \d+ processors on (?:nodes )?(?P<nodes>\S+)"
    r" in partition (?P<partition>\S+)",
    re.ASCII,
)
# Ended jobs and numbers that never were are no problem: what was wished for is the case.
_HARMLESS = ("job/step already completing or completed", "invalid job id specified", "already completing")


def make_submit_command(script: str) -> list[str]:
    return ["sbatch", "--parsable", script]


def read_submit(out: str, err: str, exit_code: int) -> Submitted | Refusal:
    """Sites print notices before the number, so only a line that is exactly `123` or `123;cluster` is believed."""
    if exit_code == 0:
        return read_submitted(out) or Refusal(
            kind=RefusalKind.UNCLEAR, cause="sbatch told no job number", said=keep_lines(f"{out}\n{err}")
        )
    return read_refusal(f"{err}\n{out}", exit_code)


def read_submitted(out: str) -> Submitted | None:
    """The last such line: the number is the last thing sbatch prints. A line cut in the middle does not count."""
    whole_lines = out.split("\n")[:-1]
    found = [match for match in (_PARSABLE.fullmatch(line.strip()) for line in whole_lines) if match]
    return Submitted(job_id=found[-1]["id"], cluster=found[-1]["cluster"]) if found else None


def make_estimate_command(script: str | None = None) -> list[str]:
    """--test-only submits nothing, but uses up a job number. Without a file sbatch reads its input."""
    return ["sbatch", "--test-only", *([script] if script else [])]


def read_estimate(out: str, err: str, exit_code: int) -> ExpectedStart | Refusal:
    if exit_code != 0:
        return read_refusal(f"{err}\n{out}", exit_code)
    match = _ESTIMATE.search(err) or _ESTIMATE.search(out)
    if match is None:
        return ExpectedStart(at=None)
    return ExpectedStart(at=read_time(match["at"]), nodes=match["nodes"], partition=match["partition"])


def make_cancel_command(job_ids: Iterable[str]) -> list[str]:
    """Of an array the whole of it."""
    return ["scancel", *pick_valid_ids(job_ids)]


def make_cancel_waiting_command(job_ids: Iterable[str]) -> list[str]:
    """Only what waits: a job that runs, and tasks of an array that do, go on."""
    return ["scancel", "--state=PENDING", *pick_valid_ids(job_ids)]


def make_signal_command(job_ids: Iterable[str], signal: str) -> list[str]:
    """To the batch script alone, of those that run."""
    return ["scancel", "--state=RUNNING", "--batch", f"--signal={signal}", *pick_valid_ids(job_ids)]


def read_cancel(out: str, err: str, exit_code: int) -> Refusal | None:
    """None: none of them lives any more, or will in a moment. Numbers that Slurm does not know give no error."""
    lines = [line for line in keep_lines(err or out).splitlines() if not _is_harmless(line)]
    if exit_code == 0 or (not lines and err.strip()):
        return None
    return read_refusal("\n".join(lines), exit_code)


def _is_harmless(line: str) -> bool:
    return any(text in line.lower() for text in _HARMLESS)
