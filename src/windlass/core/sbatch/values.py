"""The values of sbatch's options, judged as the client itself judges them, in its own words.

Pocket has readers of its own (`pocket/values.py`): it wants values to work with and knows a tenth of the options;
here the question is only what a real sbatch would say, and every answer was compared with one.
"""

import re
from collections.abc import Callable, Mapping

from windlass.core.sbatch.moments import is_moment

_MOST_DIGITS = 25
_NUMBER = re.compile(r"\s*[+]?(\d+)$")
_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?|(\d+)-")
_MEMORY = re.compile(r"\s*[+]?(\d+)(?:([kmgt])b?)?", re.IGNORECASE)
_SIGNAL = re.compile(r"(?:([RB]{1,2}):)?([^@:]*)(?:@(\d*))?", re.IGNORECASE)
_ARRAY_ITEM = re.compile(
    r"\[?(?P<first>(?:\s*[+-]?\d+)?)\]?(?:-(?P<last>(?:\s*[+-]?\d+)?)\]?(?P<step>:(?:\s*[+-]?\d+)?)?\]?)?"
)
_LARGEST_INDEX = 4_000_000  # MaxArraySize of slurm.conf is 4000001 at most; a site's own is C205
_NODES = re.compile(r"\s*[+-]?\d+[km]?\s*", re.IGNORECASE)

UNLIMITED = ("unlimited", "infinite", "-1")
SIGNALS = (
    *("HUP", "INT", "QUIT", "ABRT", "KILL", "ALRM", "TERM", "USR1", "USR2", "URG"),
    *("CONT", "STOP", "TSTP", "TTIN", "TTOU", "XCPU"),
)
MEMORY_OPTIONS = ("mem", "mem-per-cpu", "mem-per-gpu")  # of which a job may have one
MAIL_TYPES = frozenset(
    [
        "NONE",
        "BEGIN",
        "END",
        "FAIL",
        "REQUEUE",
        "ALL",
        "INVALID_DEPEND",
        "STAGE_OUT",
        "TIME_LIMIT",
        "TIME_LIMIT_90",
        "TIME_LIMIT_80",
        "TIME_LIMIT_50",
        "ARRAY_TASKS",
    ]
)
_LIMITS = frozenset(["CPU", "FSIZE", "DATA", "STACK", "CORE", "RSS", "NPROC", "NOFILE", "MEMLOCK", "AS"])
_MEMORY_UNITS = {"k": 1 / 1024, "": 1, "m": 1, "g": 1024, "t": 1024 * 1024}
_MOST = 2**31 - 1


def read_digits(text: str) -> int:
    """A whole number; one of absurd length counts as a very large one, since Python refuses to read it."""
    return int(text) if len(text) <= _MOST_DIGITS else (-1 if text.startswith("-") else 1) * 10**_MOST_DIGITS


def find_refusal(name: str, value: str) -> str | None:
    """What sbatch says to this value; None when it takes it."""
    judge = _JUDGES.get(name)
    return judge(value) if judge is not None else None


def find_array_refusal(text: str) -> str | None:
    """What the controller says to `--array`; sbatch itself hands anything on. What is behind a % is not judged."""
    for item in text.partition("%")[0].split(","):
        match = _ARRAY_ITEM.fullmatch(item)
        first = read_digits(match["first"] or "0") if match else -1
        last = read_digits(match["last"] or "0") if match and match["last"] is not None else first
        step = read_digits(match["step"][1:] or "0") if match and match["step"] else 1
        if not 0 <= first <= last <= _LARGEST_INDEX or step < 1:
            return "Invalid job array specification"
    return None


def read_minutes(text: str) -> int | None:
    """`--time` as sbatch takes it: whole minutes, rounded up; None is without limit. Raises ValueError."""
    if text.lower() in UNLIMITED:
        return None
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(text)
    if match[5]:
        return read_digits(match[5]) * 24 * 60
    days, first, second, third = (read_digits(part or "0") for part in match.groups()[:4])
    # Without days, two numbers are minutes and seconds, not hours and minutes.
    has_hours = match[1] is not None or match[4] is not None
    seconds = days * 86_400 + first * 3600 + second * 60 + third if has_hours else first * 60 + second
    return -(-seconds // 60) or None


def read_megabytes(text: str) -> int:
    """`--mem` in megabytes. Raises ValueError."""
    match = _MEMORY.fullmatch(text)
    if match is None or read_digits(match[1]) > 2**63:
        raise ValueError(text)
    size = read_digits(match[1]) * _MEMORY_UNITS[(match[2] or "").lower()]
    return int(size) if size == int(size) else int(size) + 1


def read_node_counts(text: str) -> tuple[int, int | None]:
    """`--nodes`: the fewest and the most, None where one number was given. Raises ValueError."""
    first, dash, last = text.partition("-") if not text.startswith("-") else ("", "-", text[1:])
    if dash and not first:
        return 1, _read_nodes(last)
    if not dash:
        return _read_nodes(first), None
    return _read_nodes(first), (_read_nodes(last) if last else -1)


def read_number(text: str) -> int | None:
    match = _NUMBER.fullmatch(text)
    return read_digits(match[1]) if match else None


def read_signal(text: str) -> tuple[str, str, int] | None:
    """`B:USR1@60` as (flags, name or number, seconds)."""
    match = _SIGNAL.fullmatch(text)
    if match is None:
        return None
    name = match[2].upper().removeprefix("SIG")
    is_number = name.isdecimal() and read_digits(name) > 0
    seconds = 60 if match[3] is None else read_digits(match[3] or "0")
    if (name not in SIGNALS and not is_number) or seconds > 65_535:
        return None
    return (match[1] or "").upper(), name, seconds


def _read_nodes(text: str) -> int:
    if not _NODES.fullmatch(text):
        raise ValueError(text)
    word = text.strip().lower()
    factor = {"k": 1024, "m": 1024**2}.get(word[-1], 1)
    return read_digits(word.rstrip("km")) * factor


def _judge_nodes(text: str) -> str | None:
    try:
        first, last = read_node_counts(text)
    except ValueError as problem:
        return f'"{problem}" is not a valid node count'
    if last and last < first:
        return f"Maximum node count {last} is less than minimum node count {first}"
    return None


def _judge_numeric(name: str, *, least: int = 1) -> Callable[[str], str | None]:
    def judge(text: str) -> str | None:
        number = read_number(text)
        if number is None or number < least:
            return f'Invalid numeric value "{text}" for --{name}.'
        if name == "ntasks" and _MOST < number < 2**32:
            return f"invalid number of tasks (-n {number - 2**32})"
        return None

    return judge


def _judge_by(name: str, read: Callable[[str], object]) -> Callable[[str], str | None]:
    def judge(text: str) -> str | None:
        try:
            read(text)
        except ValueError:
            return f"Invalid --{name} specification"
        return None

    return judge


def _allow(name: str, is_right: Callable[[str], object], said: str = "") -> Callable[[str], str | None]:
    def judge(text: str) -> str | None:
        return None if is_right(text) else (said.format(text) or f"Invalid --{name} specification")

    return judge


def _judge_moment(name: str) -> Callable[[str], str | None]:
    return lambda text: None if is_moment(text) else f"Invalid --{name} specification"


def _read_time(text: str) -> None:
    if not re.fullmatch(r"-\d+", text):  # a negative number becomes a very large one
        read_minutes(text)


def _is_mail(text: str) -> bool:
    """Only the first word is looked at; what follows one that is wrong is dropped without a word."""
    return text.split(",")[0].upper() in MAIL_TYPES


def _is_nice(text: str) -> bool:
    match = re.match(r"\s*[+-]?\d+", text)
    return match is None or abs(read_digits(match[0])) <= 2_147_483_645


def _judge_priority(text: str) -> str | None:
    if text.upper() == "TOP":
        return None
    match = re.match(r"\s*[+-]?\d+", text)
    number = read_digits(match[0]) if match else 0
    return "Priority must be >= 0" if number < 0 else "Priority must be < 4294967294" if number >= 2**32 - 2 else None


def _judge_extra_node(text: str) -> str | None:
    for which, part in zip(("first", "second", "third"), text.split(":"), strict=False):
        if part != "*" and not re.fullmatch(r"\d+(-\d+)?", part):
            return f'Invalid numeric value "{part}" for {which} arg of -B.'
    return None


def _is_distribution(text: str) -> bool:
    head, *extra = text.lower().split(",")
    if head.startswith("plane"):
        return bool(re.fullmatch(r"plane=\d+", head))
    if any(one not in ("pack", "nopack") for one in extra) or (head in ("pack", "nopack") and extra):
        return False
    parts = head.split(":")
    if parts[0] in ("pack", "nopack") and len(parts) == 1:
        return True
    levels = ("block", "cyclic", "fcyclic", "*")
    return len(parts) <= 3 and parts[0] in (*levels, "arbitrary") and all(part in levels for part in parts[1:])


def _judge_limits(text: str) -> str | None:
    words = text.split(",")
    if text.upper() in ("", "ALL", "NONE") or all(word.removeprefix("RLIMIT_") in _LIMITS for word in words):
        return None
    return f"--propagate={text} is not valid."


def _is_gpu_bind(text: str) -> bool:
    word = text.lower().removeprefix("verbose,").removeprefix("v,")
    if word.startswith(("map_gpu:", "mask_gpu:")):
        return bool(re.fullmatch(r"(?:(?:0x)?[0-9a-f]+(?:\*\d+)?,?)+", word.partition(":")[2]))
    return word.startswith(("closest", "none", "single:", "per_task:"))


def _is_gpu_frequency(text: str) -> bool:
    level = r"(low|medium|highm1|high|\d+)"
    return all(re.fullmatch(rf"verbose|{level}|memory={level}", word) for word in text.lower().split(","))


def _is_accounting(text: str) -> bool:
    kinds = "task|energy|network|filesystem"
    return all(re.fullmatch(rf"\d+|({kinds})=\d+", word.lower()) for word in text.split(","))


def _is_profile(text: str) -> bool:
    words = [word for word in text.lower().split(",") if word]
    return bool(words) and all(word in ("all", "none", "energy", "lustre", "network", "task") for word in words)


def _judge_memory_binding(text: str) -> str | None:
    for word in re.split(r",(?![0-9x])", text.lower()):
        if re.fullmatch(r"v(erbose)?|q(uiet)?|no(ne)?|nosort|sort|rank|local|prefer|(map_mem|mask_mem):.+", word):
            continue
        if word in ("map_mem", "mask_mem"):
            return f'missing list for "--mem-bind={word}:<list>"'
        return f'unrecognized --mem-bind argument "{word}"'
    return None


def _is_frequency(text: str) -> bool:
    """Which governors are allowed is the site's own word; these are Slurm's default."""
    level = r"(?:low|medium|highm1|high|\d+)"
    governor = r"(?:ondemand|performance|userspace)"
    match = re.fullmatch(rf"({level})(?:-({level})(?::{governor})?)?|{governor}", text.lower())
    if match is None:
        return False
    low, high = match[1] or "", match[2] or ""
    return not (low.isdecimal() and high.isdecimal() and read_digits(low) > read_digits(high))


def _judge_get_user_env(text: str) -> str | None:
    return None if re.fullmatch(r"\d*[sSlL]?", text) else "Invalid --get-user-env specification"


_POSITIVE = (
    *("ntasks", "cpus-per-task", "cpus-per-gpu", "ntasks-per-node", "ntasks-per-core", "ntasks-per-socket"),
    *("ntasks-per-gpu", "ntasks-per-tres", "mincpus", "threads-per-core", "cores-per-socket", "sockets-per-node"),
)
_HINTS = ("compute_bound", "memory_bound", "multithread", "nomultithread")
_ROOT_ONLY = "--{} only permitted by root user"
_JUDGES: Mapping[str, Callable[[str], str | None]] = {
    **{name: _judge_numeric(name) for name in _POSITIVE},
    **{name: _judge_by(name, read_megabytes) for name in (*MEMORY_OPTIONS, "tmp")},
    **{name: _judge_by(name, _read_time) for name in ("time", "time-min", "delay-boot")},
    **{name: _judge_moment(name) for name in ("begin", "deadline")},
    "nodes": _judge_nodes,
    "core-spec": _judge_numeric("core-spec", least=0),
    "thread-spec": _judge_numeric("thread-spec", least=0),
    "switches": lambda text: _judge_numeric("switches")(text.partition("@")[0]),
    "signal": _allow("signal", read_signal),
    "exclusive": _allow("exclusive", lambda text: text.lower() in ("", "user", "mcs")),
    "open-mode": _allow("open-mode", lambda text: text[:1].lower() in ("a", "t") and text),
    "kill-on-invalid-dep": _allow("kill-on-invalid-dep", lambda text: text.lower() in ("yes", "no")),
    "mail-type": _allow("mail-type", _is_mail),
    "gres-flags": _allow("gres-flags", lambda text: text.lower() in ("enforce-binding", "disable-binding")),
    "no-kill": _allow("no-kill", lambda text: text.lower() in ("", "off", "set")),
    "nice": _allow("nice", _is_nice, "Invalid --nice value, out of range (+/- 2147483645)"),
    "distribution": _allow("distribution", _is_distribution),
    "hint": _allow(
        "hint",
        lambda text: all(word.lower() in _HINTS for word in text.split(",")),
        'unrecognized --hint argument "{}", see --hint=help',
    ),
    "priority": _judge_priority,
    "extra-node-info": _judge_extra_node,
    "propagate": _judge_limits,
    "gpu-bind": _allow("gpu-bind", _is_gpu_bind, "Invalid --gpu-bind argument: gpu:{}"),
    "gpu-freq": _allow("gpu-freq", _is_gpu_frequency, "Invalid --gpu-freq argument: gpu:{}"),
    "cpu-freq": _allow("cpu-freq", _is_frequency, "Invalid --cpu-freq argument"),
    "mem-bind": _judge_memory_binding,
    "acctg-freq": _allow("acctg-freq", _is_accounting, "Invalid --acctg-freq specification: {}"),
    "profile": _allow("profile", _is_profile, "invalid --profile={} option"),
    "get-user-env": _judge_get_user_env,
    "wait-all-nodes": lambda text: (
        _judge_numeric("wait-all-nodes", least=0)(text)
        or (None if read_number(text) in (0, 1) else "Invalid --wait-all-nodes specification")
    ),
    "uid": lambda _: _ROOT_ONLY.format("uid"),
    "gid": lambda _: _ROOT_ONLY.format("gid"),
}
