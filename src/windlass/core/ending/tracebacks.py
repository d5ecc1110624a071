"""Python tracebacks in a log, also where the lines of several ranks are mixed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_HEAD = "Traceback (most recent call last)"
# `[rank3]: ` (PyTorch), `[default3]:` (torchrun), `3: ` (srun --label)
_RANK = re.compile(r"^(?:\[(?:rank|default)(?P<named>\d+)\]:\s?|(?P<labelled>\d{1,5}):\s)")
_EXCEPTION = re.compile(r"^[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Warning|Failure|Timeout|Exhausted)\b.*")
_CHAIN = ("During handling of the above exception", "The above exception was the direct cause")
# Raised because something else had failed before.
_SECONDARY = re.compile(
    r"ChildFailedError|CalledProcessError|ProcessExitedException|ProcessRaisedException|DistBackendError|"
    r"DistNetworkError|BrokenPipeError|KeyboardInterrupt|SystemExit|SignalException|WorkerCrashedError"
)
_MOST_BLOCKS = 2000


@dataclass(frozen=True, kw_only=True)
class Traceback:
    rank: str | None  # None: the log does not tell
    lines: tuple[str, ...]  # without the rank's mark

    @property
    def exception(self) -> str:
        """The last of the chain: what was raised in the end."""
        names = [line for line in self.lines if _EXCEPTION.match(line)]
        return names[-1] if names else self.lines[-1].strip()

    @property
    def is_secondary(self) -> bool:
        return bool(_SECONDARY.search(self.exception))


@dataclass
class _Open:
    rank: str | None
    at: int
    lines: list[str] = field(default_factory=list)
    has_ended: bool = False


def without_rank(line: str) -> str:
    return _RANK.sub("", line, count=1)


def find_tracebacks(text: str, *, has_many_ranks: bool) -> tuple[Traceback, ...]:
    """The most telling first: of the rank that failed first, and not of those that failed because it did.

    A rank that prints several has mostly survived all but the last. Where the ranks of a log cannot be told apart
    the first one counts.
    """
    blocks = list(_find_blocks(text))
    last_of = {block.rank: block for block in blocks}
    is_told = any(block.rank is not None for block in blocks)
    if is_told or not has_many_ranks:
        own = [block for block in last_of.values() if block.rank is not None] or list(last_of.values())
        taken = {block.at for block in own}  # a line begins one at most
        own += [block for block in reversed(blocks) if block.at not in taken]
        own = own if not is_told else sorted(own, key=lambda block: (last_of[block.rank] is not block, block.at))
    else:
        own = blocks
    found = [Traceback(rank=block.rank, lines=tuple(block.lines)) for block in own]
    return tuple(sorted(found, key=lambda one: one.is_secondary))


def _find_blocks(text: str) -> Iterator[_Open]:
    """Each with its whole chain of exceptions, in the order in which they begin."""
    opened: dict[str | None, _Open] = {}
    done: list[_Open] = []
    for at, line in enumerate(text.splitlines()):
        mark = _RANK.match(line)
        rank = (mark["named"] or mark["labelled"]) if mark else None
        body = line[mark.end() :] if mark else line
        block = opened.get(rank)
        if _HEAD in body and (block is None or not _goes_on(block)):
            block = opened[rank] = _Open(rank=rank, at=at, lines=[body])
            done.append(block)
        elif block is not None:
            _add(block, body)
        if len(done) > _MOST_BLOCKS:
            break
    for block in done:
        while block.lines and not block.lines[-1].strip():
            block.lines.pop()
    yield from done


def _goes_on(block: _Open) -> bool:
    """A second head right after `During handling of ...` belongs to the same chain."""
    return next((line for line in reversed(block.lines) if line.strip()), "").startswith(_CHAIN)


def _add(block: _Open, body: str) -> None:
    is_inside = not block.has_ended or body.startswith(_CHAIN) or _goes_on(block)
    if not is_inside:
        if not body.strip() and block.lines[-1].strip():
            block.lines.append(body)  # the blank line before `During handling of ...`
        return
    if body.startswith(_CHAIN):
        block.has_ended = False
    block.lines.append(body)
    if body.strip() and not body[:1].isspace() and _HEAD not in body and not body.startswith(_CHAIN):
        block.has_ended = True  # the exception itself; the words after its first line are not needed
