"""sinfo: the machine, as the one node of every partition."""

import re
import time
from collections.abc import Callable
from typing import NamedTuple

from windlass.pocket import queue
from windlass.pocket.database import open_database
from windlass.pocket.errors import PocketError
from windlass.pocket.getopt import make_grammar, parse
from windlass.pocket.places import Places
from windlass.pocket.programs.scontrol_show import node_state
from windlass.pocket.programs.usage import show_about
from windlass.pocket.settings import Partition, Settings, load_settings
from windlass.pocket.timeforms import format_short

_GRAMMAR = make_grammar(
    "sinfo",
    """all.a clusters=M dead.d exact.e federation. format=o Format=O help. hide. iterate=i list-reasons.R local.
    long.l Node.N nodes=n noconvert. noheader.h partition=p reservation.T responding.r sort=S states=t state=
    summarize.s usage. verbose.v version.V""",
    permutes=True,
    bad_usage=1,
)
_DEFAULT = "%9P %.5a %.10l %.6D %.6t %N"
_NODES = "%9N %.6D %.9P %6t"
_SUMMARY = "%9P %.5a %.10l %.16F  %N"


class Row(NamedTuple):
    partition: Partition
    settings: Settings
    cpus: int
    memory_mb: int
    gpus: int

    @property
    def state(self) -> str:
        return node_state(self.cpus, self.settings.machine.cpus)


class Field(NamedTuple):
    heading: str
    value: Callable[[Row], object]
    word: str = ""


def _gres(row: Row) -> str:
    machine = row.settings.machine
    kind = f":{machine.gpu_type}" if machine.gpu_type else ""
    return f"gpu{kind}:{machine.gpus}" if machine.gpus else "(null)"


def _cpu_counts(row: Row) -> str:
    total = row.settings.machine.cpus
    return f"{row.cpus}/{max(0, total - row.cpus)}/0/{total}"


def _short_state(row: Row) -> str:
    return {"idle": "idle", "mixed": "mix", "allocated": "alloc"}[row.state]


def _node_counts(row: Row) -> str:
    return "0/1/0/1" if row.state == "idle" else "1/0/0/1"


_FIELDS = {
    "a": Field("AVAIL", lambda row: "up", "available"),
    "A": Field("NODES(A/I)", lambda row: "0/1" if row.state == "idle" else "1/0", "nodeai"),
    "B": Field("MAX_CPUS_PER_NODE", lambda row: "UNLIMITED", "maxcpuspernode"),
    "c": Field("CPUS", lambda row: row.settings.machine.cpus, "cpus"),
    "C": Field("CPUS(A/I/O/T)", _cpu_counts, "cpusstate"),
    "d": Field("TMP_DISK", lambda row: 0, "disk"),
    "D": Field("NODES", lambda row: 1, "nodes"),
    "e": Field("FREE_MEM", lambda row: max(0, row.settings.machine.memory_mb - row.memory_mb), "freemem"),
    "E": Field("REASON", lambda row: "none", "reason"),
    "f": Field("AVAIL_FEATURES", lambda row: "(null)", "features"),
    "b": Field("ACTIVE_FEATURES", lambda row: "(null)", "featuresact"),
    "F": Field("NODES(A/I/O/T)", _node_counts, "nodeaiot"),
    "g": Field("GROUPS", lambda row: "all", "groups"),
    "G": Field("GRES", _gres, "gres"),
    "h": Field("OVERSUBSCRIBE", lambda row: "NO", "oversubscribe"),
    "H": Field("TIMESTAMP", lambda row: "Unknown", "timestamp"),
    "I": Field("PRIO_JOB_FACTOR", lambda row: 1, "priorityjobfactor"),
    "l": Field("TIMELIMIT", lambda row: _limit(row), "time"),
    "L": Field("DEFAULTTIME", lambda row: "n/a", "defaulttime"),
    "m": Field("MEMORY", lambda row: row.settings.machine.memory_mb, "memory"),
    "M": Field("PREEMPT_MODE", lambda row: "OFF", "preemptmode"),
    "n": Field("HOSTNAMES", lambda row: "pocket1", "nodehost"),
    "N": Field("NODELIST", lambda row: "pocket1", "nodelist"),
    "o": Field("NODE_ADDR", lambda row: "127.0.0.1", "nodeaddr"),
    "O": Field("CPU_LOAD", lambda row: "N/A", "cpusload"),
    "p": Field("PRIO_TIER", lambda row: 1, "prioritytier"),
    "P": Field("PARTITION", lambda row: row.partition.name + ("*" if row.partition.is_default else ""), "partition"),
    "r": Field("ROOT", lambda row: "no", "root"),
    "R": Field("PARTITION", lambda row: row.partition.name, "partitionname"),
    "s": Field("JOB_SIZE", lambda row: "1-infinite", "size"),
    "S": Field("ALLOCNODES", lambda row: "all", "allocnodes"),
    "t": Field("STATE", _short_state, "statecompact"),
    "T": Field("STATE", lambda row: row.state, "statelong"),
    "u": Field("USER", lambda row: "Unknown", "user"),
    "v": Field("VERSION", lambda row: "22.05.0", "version"),
    "w": Field("WEIGHT", lambda row: 1, "weight"),
    "X": Field("SOCKETS", lambda row: 1, "sockets"),
    "Y": Field("CORES", lambda row: row.settings.machine.cpus, "cores"),
    "z": Field("S:C:T", lambda row: f"1:{row.settings.machine.cpus}:1", "socketcorethread"),
    "Z": Field("THREADS", lambda row: 1, "threads"),
}
_WORDS = {field.word: field for field in _FIELDS.values()} | {
    "gresused": Field("GRES_USED", lambda row: f"gpu:{row.gpus}" if row.settings.machine.gpus else "gpu:0"),
    "allocmem": Field("ALLOCMEM", lambda row: row.memory_mb),
    "cluster": Field("CLUSTER", lambda row: "pocket"),
}


def run(places: Places, words: list[str]) -> int:
    options = dict(parse(_GRAMMAR, words).options)
    if show_about(_GRAMMAR, options, "[OPTIONS]"):
        return 0
    rows = _rows(places, options)
    default = _SUMMARY if "summarize" in options else _NODES if "Node" in options else _DEFAULT
    text = options.get("format") or default
    if "Format" in options:
        text = _as_letters(options["Format"])
    if "long" in options:
        print(time.strftime("%a %b %d %H:%M:%S %Y"))
    if "noheader" not in options:
        print(_format(text, lambda field: field.heading))
    for row in rows:
        print(_format(text, lambda field, row=row: field.value(row)))  # type: ignore[misc]
    return 0


def _rows(places: Places, options: dict[str, str]) -> list[Row]:
    settings = load_settings(places)
    running = queue.fetch_jobs(open_database(places), "state = 'RUNNING'")
    wanted = options["partition"].split(",") if "partition" in options else None
    totals = (
        sum(job.cpus for job in running),
        sum(job.memory_mb for job in running),
        sum(job.gpu_count for job in running),
    )
    rows = [Row(one, settings, *totals) for one in settings.partitions if wanted is None or one.name in wanted]
    states = (options.get("states") or options.get("state") or "").lower()
    return [row for row in rows if not states or row.state in states or _short_state(row) in states]


def _format(text: str, value_of: Callable[[Field], object]) -> str:
    def put(match: re.Match[str]) -> str:
        field = _FIELDS.get(match[3]) or _WORDS.get(match[4] or "")
        if field is None:
            return match[0]
        value, size = str(value_of(field)), int(match[2] or 0)
        if not size:
            return value
        return value[:size].rjust(size) if match[1] else value[:size].ljust(size)

    return re.sub(r"%(\.?)(\d*)(?:([A-Za-z])|\{(\w+)\})", put, text)


def _as_letters(text: str) -> str:
    """-O as -o: `NodeList:20,CPUsState` becomes `%20{nodelist}%20{cpusstate}`."""
    pieces = []
    for item in text.split(","):
        name, _, form = item.strip().lower().partition(":")
        if name not in _WORDS:
            raise PocketError(f"Invalid field requested: {name}")
        match = re.fullmatch(r"(\.?)(\d*)(.*)", form)
        dot, size, end = match.groups() if match else ("", "", "")
        pieces.append(f"%{dot}{size or ('' if end else '20')}{{{name}}}{end}")
    return "".join(pieces)


def _limit(row: Row) -> str:
    limit = row.partition.max_time_s
    return "infinite" if limit is None else format_short(limit)
