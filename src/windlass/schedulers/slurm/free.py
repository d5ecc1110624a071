"""sinfo and squeue: what of each partition is free just now, and how many jobs run and wait there."""

import re
from collections.abc import Mapping

from windlass.core.seen.free import Free
from windlass.schedulers.slurm.fields import Fields, make_fields, read_rows
from windlass.schedulers.slurm.survey import read_gpus

FREE_FIELDS = make_fields(
    partition="PartitionName", state="StateLong", nodes="Nodes", cpus="CPUsState", gres="Gres", gres_used="GresUsed"
)
_COUNTS = re.compile(r"\s*(?P<count>\d{1,9}) (?P<partitions>\S+)\|(?P<state>\w+)", re.ASCII)
# Slurm marks states with signs: * does not answer, ~ is powered down, # starts, $ has maintenance, @ reboots.
_SIGNS = "*~#!%$@^-+"
_FREE_STATES = ("idle",)
_PART_STATES = ("mixed", "allocated", "completing")


def make_free_command(fields: Fields = FREE_FIELDS) -> list[str]:
    """With a sign behind each field and no width, for with a width names are cut."""
    return ["sinfo", "--noheader", "--exact", "--Format=" + ",".join(f"{field.asked}:|" for field in fields)]


def make_counts_command() -> list[str]:
    """Counted at the site: a large one has a hundred thousand jobs. An array counts once."""
    question = 'squeue --all --noheader --states=PENDING,RUNNING --format="%P|%T"'
    return ["sh", "-c", f"{question} | sort | uniq -c"]


def read_free(text: str, fields: Fields = FREE_FIELDS) -> dict[str, Free]:
    """By partition. Nodes that are down, drained or reserved count as such, and nothing of theirs as free."""
    found: dict[str, Free] = {}
    for line in text.split("\n"):
        for row in read_rows(line.removesuffix("|"), fields, separator="|"):
            name = row.get("partition", "")
            nodes = int(row["nodes"][:9]) if row.get("nodes", "").isdecimal() else 0
            if name and nodes:
                found[name] = found.get(name, Free()).plus(_read_row(row, nodes))
    return found


def read_counts(text: str) -> dict[str, tuple[int, int]]:
    """By partition: jobs that run and jobs that wait. One that may go to several partitions waits in each."""
    found: dict[str, tuple[int, int]] = {}
    for line in text.split("\n"):
        match = _COUNTS.fullmatch(line.rstrip())
        for name in match["partitions"].split(",") if match else ():
            running, waiting = found.get(name, (0, 0))
            count = int(match["count"]) if match else 0
            is_running = match is not None and match["state"] == "RUNNING"
            found[name] = (running + count, waiting) if is_running else (running, waiting + count)
    return found


def _read_row(row: Mapping[str, str], nodes: int) -> Free:
    word = row.get("state", "").lower()
    state = word.rstrip(_SIGNS)
    # A powered-down node (~) starts for a job; one that does not answer (*) or is kept for a maintenance ($) does not.
    is_usable = state in (*_FREE_STATES, *_PART_STATES) and not set(word[len(state) :]) & set("*$@^")
    counts = [int(word[:9]) if word.isdecimal() else 0 for word in row.get("cpus", "").split("/")]
    cpus = counts if len(counts) == 4 else [0, 0, 0, 0]
    gpus = read_gpus(row.get("gres", ""))
    used = read_gpus(row.get("gres_used", ""))
    # GresUsed without kinds, as pocket and older Slurms write it, is of the only kind there is.
    if set(used) == {""} and len(gpus) == 1:
        used = {next(iter(gpus)): used[""]}
    return Free(
        nodes_idle=nodes if is_usable and state in _FREE_STATES else 0,
        nodes_mixed=nodes if is_usable and state == "mixed" else 0,
        nodes_full=nodes if is_usable and state in ("allocated", "completing") else 0,
        nodes_down=0 if is_usable else nodes,
        cores_free=cpus[1] if is_usable else 0,
        cores=cpus[3],
        gpus={
            kind: ((count - min(count, used.get(kind, 0))) * nodes if is_usable else 0, count * nodes)
            for kind, count in gpus.items()
        },
    )
