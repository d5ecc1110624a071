"""What became of each task: a line when it starts, a line when it ends, in one file a worker. Plain text.

    c ENTRY
    g FIRST END
    b FIRST END
    s TASK ATTEMPT START
    e TASK ATTEMPT CODE START SECONDS CPU_S MEMORY_MB LAST_LINE

`g`: calls of Python functions that a warm worker was given: it may have begun each of them. `b`: they were taken back.
`c`: by this entry of the ledger the worker got tasks; what it recorded of them before is of an earlier life of theirs.
Of a task with several lives (it failed, and is run again on demand) that one counts which stands behind the greatest
`c`. ATTEMPT counts the tries of one life, over all workers; one that was cut off by the end of a job or a node is none.
CODE as a shell says it, or one of the words below; LAST_LINE is JSON, of tasks that failed only. A line without its end
is from a worker that died while it wrote: it does not count, nor does anything behind NUL bytes.
"""

import json
from typing import Iterable, List, NamedTuple, Optional, Tuple

LOST = -1  # nodes died under it, again and again
STOPPED = -2  # by the user, or because it was hopeless
TOO_LONG = -3  # it had its time
CUT = -4  # it needs more time than its pilots had, again and again

CLAIM, START, END = b"c", b"s", b"e"
GIVEN, TAKEN_BACK = b"g", b"b"
_LONGEST_LINE = 300

Ended = NamedTuple(
    "Ended",
    [
        ("task", int),
        ("attempt", int),
        ("code", int),
        ("start", float),
        ("seconds", float),
        ("cpu_s", float),
        ("memory_mb", float),
        ("last_line", str),
    ],
)


def format_claim(entry: int) -> str:
    return "c %d\n" % entry


def format_start(task: int, attempt: int, start: float) -> str:
    return "s %d %d %.3f\n" % (task, attempt, start)


def format_calls(kind: bytes, tasks: "List[int]") -> str:
    """GIVEN or TAKEN_BACK; few lines, as most of them follow each other."""
    lines, first = [], 0
    for place in range(1, len(tasks) + 1):
        if place == len(tasks) or tasks[place] != tasks[place - 1] + 1:
            lines.append("%s %d %d\n" % (kind.decode(), tasks[first], tasks[place - 1] + 1))
            first = place
    return "".join(lines)


def format_end(ended: Ended) -> str:
    return format_line(*ended)


def format_line(
    task: int,
    attempt: int,
    code: int,
    start: float,
    seconds: float,
    cpu_s: float,
    memory_mb: float,
    last_line: str,
) -> str:
    """The same, without a value of its own for each of a million."""
    text = "e %d %d %d %.3f %.4f %.3f %.1f" % (task, attempt, code, start, seconds, cpu_s, memory_mb)
    return "{} {}\n".format(text, json.dumps(last_line[-_LONGEST_LINE:])) if last_line else text + "\n"


def read_end(line: bytes) -> "Optional[Ended]":
    """None: another line, or a damaged one."""
    words = line.split(None, 8)
    if len(words) < 8 or words[0] != END:
        return None
    try:
        task, attempt, code = int(words[1]), int(words[2]), int(words[3])
        start, seconds, cpu_s, memory_mb = (float(word) for word in words[4:8])
        last = json.loads(words[8].decode("utf-8", "replace")) if len(words) > 8 else ""
        return Ended(task, attempt, code, start, seconds, cpu_s, memory_mb, str(last))
    except ValueError:
        return None


def read_ends(content: bytes) -> "Iterable[Ended]":
    """Of whole lines only."""
    for line in content[: find_whole(content)].splitlines():
        ended = read_end(line)
        if ended is not None:
            yield ended


def read_story(content: bytes, entry: int) -> "Iterable[Tuple[int, Optional[Ended]]]":
    """Lines about entries of the ledger and about ends: the greatest entry so far, and what ended. entry: known before.

    Of two ends of one task the later one has the greater entry, or in the same the greater attempt.
    """
    for line in content.splitlines():
        words = line.split(None, 2)
        if len(words) == 2 and words[0] == CLAIM and words[1].isdigit():
            entry = max(entry, int(words[1]))
            yield entry, None
            continue
        ended = read_end(line)
        if ended is not None:
            yield entry, ended


def find_whole(content: bytes) -> int:
    """How many bytes are whole lines. NUL bytes stand for a page that a file server has not brought back yet."""
    hole = content.find(b"\0")
    return content.rfind(b"\n", 0, hole if hole >= 0 else len(content)) + 1


def is_over(ended: Ended, retries: int) -> bool:
    return is_last(ended.code, ended.attempt, retries)


def is_last(code: int, attempt: int, retries: int) -> bool:
    return code in (0, LOST, STOPPED, CUT) or attempt > retries
