"""What sbatch says when it does not take a job, and what that means."""

from windlass.schedulers.answers import Refusal, RefusalKind, Unavailable
from windlass.schedulers.slurm.refusal_texts import FIND_SLURM, KNOWN_REFUSALS

_LONGEST_QUOTE = 2000


def read_refusal(said: str, exit_code: int = 1) -> Refusal:
    """The first known text decides, so the special ones come before the general ones that follow them."""
    quote = keep_lines(said)
    words = quote.lower()
    if exit_code == 127:
        return Refusal(
            kind=RefusalKind.NOT_INSTALLED, cause="sbatch cannot be found there", hint=FIND_SLURM, said=quote
        )
    for known in KNOWN_REFUSALS:
        if known.text in words:
            return Refusal(kind=known.kind, cause=known.cause, hint=known.hint, said=quote)
    cause = "Slurm refused the job" if quote else f"sbatch ended with exit code {exit_code} and said nothing"
    return Refusal(kind=RefusalKind.UNKNOWN if quote else RefusalKind.UNCLEAR, cause=cause, said=quote)


def read_unavailable(out: str, err: str, exit_code: int, *, timed_out: bool = False) -> Unavailable | None:
    """For any of Slurm's programs: None when it answered, whatever it said."""
    said = keep_lines(err or out)
    words = said.lower()
    if timed_out:
        return Unavailable(cause="Slurm did not answer in time", said=said)
    if exit_code == 0:
        return None
    if exit_code == 127:
        return Unavailable(cause="Slurm's commands cannot be found there", said=said, is_missing=True)
    if any(known.text in words for known in KNOWN_REFUSALS if not known.kind.is_certain):
        return Unavailable(cause="Slurm's controller does not answer", said=said)
    return None


def keep_lines(text: str) -> str:
    """Slurm's words without empty lines, and not without end."""
    lines = "\n".join(line.rstrip() for line in text.splitlines() if line.strip())
    return lines if len(lines) <= _LONGEST_QUOTE else lines[:_LONGEST_QUOTE] + " ..."


def get_unclear_words() -> tuple[str, ...]:
    """Texts after which the job may be in the queue all the same: no receipt may say that it was refused."""
    return tuple(known.text for known in KNOWN_REFUSALS if not known.kind.is_certain)
