"""What sbatch's answer means: a job's number, or that nobody knows."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Mapping, Optional, Sequence

# sbatch failed, but its request may have reached the controller: "Socket timed out on send/recv operation" is
# known to come with a job that runs.
UNCLEAR_WORDS = (
    "timed out",
    "zero bytes were transmitted",
    "unexpected message received",
    "communication connection failure",
    "unable to contact slurm controller",
    "transport endpoint",
    "connection reset",
    "message receive failure",
    "message send failure",
)


def is_unclear(exit_code: "Optional[int]", out: str, err: str, unclear_words: "Optional[Sequence[str]]") -> bool:
    """Stopped in the middle, success without a job id, failure with one, or a failure on the way to the controller."""
    if exit_code is None or exit_code < 0:
        return True
    if exit_code == 0:
        return not out.strip()
    # A centre's wrapper may stumble after the real sbatch has told the number: then there is a job all the same.
    if _find_numbers(out):
        return True
    return any(words in err.lower() for words in unclear_words or UNCLEAR_WORDS)


def read_receipt_job(receipt: "Mapping[str, Any]") -> "Optional[str]":
    """The job of a receipt.json, or None where there is none."""
    if receipt.get("refused"):
        return None
    numbers = _find_numbers(str(receipt.get("job_id") or "")) or _find_numbers(str(receipt.get("out") or ""))
    return numbers[-1] if numbers else None


def _find_numbers(words: str) -> "List[str]":
    """Lines that are a number, or a number and a cluster; centres print notices before it."""
    first = [line.strip().partition(";")[0] for line in words.splitlines()]
    return [word for word in first if word.isdigit()]
