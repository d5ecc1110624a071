"""The files of gauges/ read into series.

    from windlass.core.gauges.lines import read_files

    gauges = read_files({"n1.jsonl": text, "data.1.0.jsonl": other})
    gauges.nodes[0].gpus[0].use.values

NODE.jsonl holds heads and rows. A head is an object that names the columns of the rows after it, and what does not
change: GPUs, cores, the limit of memory. A row is a list, one value a column, the first the time. Each start of a
sampler begins with a head, and one comes again every hundred rows, so that the end of a file can be read alone.
data.LINK.RANK.jsonl holds an object a line. A line that is damaged, cut or of another kind is passed over.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from windlass.core.gauges.series import DataWaits, GpuGauges, NodeSeries, RankGauges, RunGauges, Series
from windlass.core.moments import read_moment
from windlass_job import wire

_WAITS = re.compile(r"data\.(\d{1,9})\.(\d{1,9})\.jsonl")
_OF_A_PART = re.compile(r"(gpu|rank)(\d{1,6})\.(\w+)")
_END = ".jsonl"
_APART_S = 0.01
_FIELDS = tuple(name for name in wire.GAUGE_COLUMNS if name != wire.GAUGE_TIME)

_Head = Mapping[str, Any]
_Columns = dict[str, dict[float, float | None]]  # by name, then by time


def read_files(texts: Mapping[str, str]) -> RunGauges:
    """By the names of the files in gauges/; what holds no rows is left out."""
    waits = (_read_waits(name, text) for name, text in texts.items() if _WAITS.fullmatch(name))
    nodes = (read_node(name.removesuffix(_END), text) for name, text in texts.items() if is_node_file(name))
    return RunGauges(
        nodes=tuple(sorted((one for one in nodes if one is not None), key=lambda one: _natural(one.node))),
        waits=tuple(sorted((one for one in waits if one.wait_share), key=lambda one: (one.link, one.rank))),
    )


def is_node_file(name: str) -> bool:
    return name.endswith(_END) and not _WAITS.fullmatch(name)


def cut_text(text: str, seconds: float) -> str:
    """Of NODE.jsonl the last rows, at least as far back as this, under their head: a small part of a long file."""
    lines = text.splitlines()
    first = _find_first(lines, seconds)
    heads = (place for place in range(first - 1, -1, -1) if lines[place].startswith("{"))
    head = next(([lines[place]] for place in heads if isinstance(_load(lines[place]), dict)), [])
    return "\n".join([*head, *lines[first:]])


def read_node(node: str, text: str) -> NodeSeries | None:
    """Of NODE.jsonl, or its end; None when it holds no rows."""
    heads: list[_Head] = []
    columns: _Columns = {}
    times: set[float] = set()
    repeated: Counter[float] = Counter()
    for head, row in _read_rows(text):
        if not heads or heads[-1] is not head:
            heads.append(head)
            names = _name_columns(head)[1:]
        repeated[row[0]] += 1
        time = row[0] + _APART_S * (repeated[row[0]] - 1)  # two rows of one second, such as the last two, stay two
        times.add(time)
        for name, value in zip(names, row[1:], strict=True):
            columns.setdefault(name, {})[time] = value
    return _make_node(node, heads, columns, tuple(sorted(times))) if times else None


def _find_first(lines: Sequence[str], seconds: float) -> int:
    """Where the rows begin that are at most so much older than the last one; nothing but their time is read."""
    last: float | None = None
    for place in range(len(lines) - 1, -1, -1):
        time = _peek(lines[place])
        if time is not None:
            last = time if last is None else last
            if time < last - seconds:
                return place + 1
    return 0


def _peek(row: str) -> float | None:
    word, comma, _ = row.partition(",")
    try:
        return read_moment(float(word[1:])) if word.startswith("[") and comma else None
    except ValueError:
        return None


def _read_rows(text: str) -> Iterator[tuple[_Head, list[Any]]]:
    """Each row with the head it stands under; a head alone says nothing."""
    head: _Head | None = None
    width = 0
    for line in text.splitlines():
        values = _load(line)
        if isinstance(values, dict):
            head = _read_head(values)
            width = len(head["columns"]) if head else 0
        elif isinstance(values, list) and head is not None and len(values) == width:
            row = [_number(value) for value in values]
            if read_moment(row[0]) is not None:
                yield head, row


def _read_head(values: _Head) -> _Head | None:
    """None for one that is not ours, or of a form to come."""
    names = values.get("columns")
    if values.get("gauges") != wire.GAUGE_FORMAT or not isinstance(names, list) or names[:1] != [wire.GAUGE_TIME]:
        return None
    if not all(isinstance(name, str) for name in names):
        return None
    return {**values, "gpus": _read_gpus(values.get("gpus"))}


def _read_gpus(listed: object) -> list[dict[str, Any]]:
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _name_columns(head: _Head) -> list[str]:
    """`gpu1.use` by its place in this head becomes that of a card: another start may have got others."""
    return [_name_column(name, head["gpus"]) for name in head["columns"]]


def _name_column(name: str, gpus: list[dict[str, Any]]) -> str:
    found = _OF_A_PART.fullmatch(name)
    if found is None or found[1] != "gpu" or int(found[2]) >= len(gpus):
        return name
    return f"gpu/{gpus[int(found[2])].get('uuid')}/{found[3]}"


def _make_node(node: str, heads: list[_Head], columns: _Columns, times: tuple[float, ...]) -> NodeSeries:
    def pick(name: str) -> Series:
        values = columns.get(name, {})
        return Series(times=times, values=tuple(values.get(time) for time in times))

    cards = {str(one.get("uuid")): one for head in heads for one in head["gpus"]}
    ranks = sorted({int(found[2]) for name in columns if (found := _OF_A_PART.fullmatch(name)) and found[1] == "rank"})
    last = heads[-1]
    return NodeSeries(
        node=node,
        cores=_whole(last.get("cores")),
        memory_limit_mb=_number(last.get("memory_limit_mb")),
        shared=str(last["shared"]) if last.get("shared") else None,
        gpus=tuple(
            GpuGauges(
                uuid=uuid,
                name=str(card.get("name") or ""),
                memory_total_mb=_number(card.get("memory_mb")),
                is_slice=card.get("slice") is True,
                use=pick(f"gpu/{uuid}/use"),
                memory_mb=pick(f"gpu/{uuid}/memory_mb"),
                power_w=pick(f"gpu/{uuid}/power_w"),
            )
            for uuid, card in cards.items()
        ),
        ranks=tuple(RankGauges(rank=rank, cpu_cores=pick(f"rank{rank}.cpu_cores")) for rank in ranks),
        **{name: pick(name) for name in _FIELDS},
    )


def _read_waits(name: str, text: str) -> DataWaits:
    found = _WAITS.fullmatch(name)
    assert found is not None
    rows: dict[float, tuple[float | None, float | None]] = {}
    for line in text.splitlines():
        values = _load(line)
        if isinstance(values, dict) and (time := read_moment(values.get("t"))) is not None:
            rows[time] = _number(values.get("wait_share")), _number(values.get("samples_s"))
    times = tuple(sorted(rows))
    return DataWaits(
        link=int(found[1]),
        rank=int(found[2]),
        wait_share=Series(times=times, values=tuple(rows[time][0] for time in times)),
        samples_s=Series(times=times, values=tuple(rows[time][1] for time in times)),
    )


def _load(line: str) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _natural(name: str) -> list[tuple[int, str]]:
    """n2 before n10."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name)]
