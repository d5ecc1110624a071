"""What the words of a training tell: how far it came, what it missed, what it was not allowed to write."""

import re
from collections.abc import Iterator, Sequence

_COUNTED = re.compile(
    r"\b(epoch|global step|step|iteration|iter|round|update)s?\b[ :=#\[(]{0,3}(\d{1,12})", re.IGNORECASE
)
_NOT_WRITTEN = re.compile(
    r"(Read-only file system|Permission denied|Disk quota exceeded)[^\n'\"/]{0,40}['\"]?(/[^\s'\":,]+)"
)
_NOT_WRITTEN_SHELL = re.compile(r"['‘ ](/[^\s'\":’]+)['’]?: (Read-only file system|Permission denied)")
_MISSING = re.compile(
    r"No such file or directory[^\n'\"/]{0,40}['\"](/[^'\"]+)['\"]|['‘ ](/[^\s'\":’]+)['’]?: No such file"
)
_NO_NETWORK = re.compile(
    r"name resolution|Network is unreachable|Name or service not known|getaddrinfo failed|nodename nor servname"
    r"|ConnectionError|Max retries exceeded|Could not resolve host|MaxRetryError|refused by the rehearsal"
)
_NO_GPU = re.compile(
    r"Found no NVIDIA driver|not compiled with CUDA|No CUDA GPUs are available|CUDA is not available"
    r"|no CUDA-capable device|invalid device ordinal|CUDA driver version is insufficient|libcuda\.so"
    r"|No supported gpu backend found|only \d+ GPUs? available|GPUs requested but|requires a GPU"
    r"|ProcessGroupNCCL is only supported with GPUs",
    re.IGNORECASE,
)

_TRACEBACK = "Traceback (most recent call last):"
_RAISED = re.compile(r"((?:[A-Za-z_]\w*\.)*[A-Z]\w*)(?::|$)")
_STOPPING = re.compile(r"^(\S*\.)?(SignalException|KeyboardInterrupt|SystemExit)\b")
_KILLED_BY_SRUN = re.compile(r"^srun: (error: \S+ tasks? [\d,-]+: Killed|forcing job termination)", re.MULTILINE)


def count(text: str) -> dict[str, tuple[int, int]]:
    """First and last of each thing it counts. What goes down in between (steps of an epoch) tells nothing."""
    found: dict[str, list[int]] = {}
    for match in _COUNTED.finditer(text):
        found.setdefault(match[1].lower(), []).append(int(match[2]))
    return {word: (numbers[0], numbers[-1]) for word, numbers in found.items() if numbers == sorted(numbers)}


def began_again(texts: Sequence[str]) -> bool | None:
    """Whether the last of these links counts from where the first one began; None where nothing is counted."""
    first, before, now = count(texts[0]), count(texts[-2]), count(texts[-1])
    shared = [word for word in now if word in first and word in before and before[word][1] > first[word][0]]
    if not shared:
        return None
    return all(now[word][0] <= first[word][0] for word in shared)


def list_not_written(text: str) -> tuple[tuple[str, str], ...]:
    """Paths that could not be written, each with the system's words."""
    found = [(match[2], match[1]) for match in _NOT_WRITTEN.finditer(text)]
    found += [(match[1], match[2]) for match in _NOT_WRITTEN_SHELL.finditer(text)]
    return tuple(dict.fromkeys(found))


def list_missing(text: str) -> tuple[str, ...]:
    """Paths that were looked for and are not there."""
    return tuple(dict.fromkeys(match[1] or match[2] for match in _MISSING.finditer(text)))


def find_network_complaint(text: str) -> str | None:
    return _find_line(_NO_NETWORK, text)


def find_exception(text: str) -> str | None:
    """The last that Python raised, but for those that only mean being asked to stop."""
    found, label = None, None
    for line in text.splitlines():
        before, is_start, _ = line.partition(_TRACEBACK)
        if is_start:
            label = before  # a launcher may write the number of the process before each line
        elif label is not None and _RAISED.match(said := line.removeprefix(label)):
            found, label = found if _STOPPING.match(said) else said[:160], None
    return found


def was_killed_by_srun(text: str) -> bool:
    return _KILLED_BY_SRUN.search(text) is not None


def find_gpu_complaint(text: str) -> str | None:
    return _find_line(_NO_GPU, text)


def _find_line(pattern: re.Pattern[str], text: str) -> str | None:
    """The last line that holds it: the first ones are often retries."""
    lines: Iterator[str] = (line.strip() for line in reversed(text.splitlines()) if pattern.search(line))
    return next((line[:200] for line in lines), None)
