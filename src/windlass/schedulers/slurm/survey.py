"""scontrol and sinfo: what a site has, and how its Slurm is set up."""

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta

from windlass.core.facts import NodeShape, SeenPartition
from windlass.schedulers.slurm.fields import (
    Fields,
    make_fields,
    read_count,
    read_limit,
    read_names,
    read_records,
    read_rows,
    read_seconds,
    read_text,
)
from windlass.schedulers.slurm.tres import read_weights

NODE_FIELDS = make_fields(partition="%R", nodes="%D", cpus="%c", memory_mb="%m", layout="%z", features="%f", gres="%G")
_GPU = re.compile(r"(?:^|,)gpu(?::(?P<kind>[^,:(]+))??(?::no_consume)?:(?P<count>\d+)(?=[,(]|$)", re.ASCII)
_FIRST_THAT_ALLOWS_CHILDREN = 23
_DEFAULT_OF_GPU = re.compile(r"(?:^|,)(Def(?:Cpu|Mem)PerGPU)=(\d{1,12})", re.ASCII | re.IGNORECASE)


def make_version_command() -> list[str]:
    return ["sinfo", "--version"]


def make_partitions_command() -> list[str]:
    return ["scontrol", "--oneliner", "show", "partition"]


def make_nodes_command(fields: Fields = NODE_FIELDS) -> list[str]:
    """--exact: nodes that differ come in rows of their own, not as `8+`."""
    return ["sinfo", "--noheader", "--exact", "--format=" + "|".join(field.asked for field in fields)]


def make_config_command() -> list[str]:
    return ["scontrol", "show", "config"]


def read_version(text: str) -> str | None:
    """`slurm-wlm 22.05.8`, `slurm 24.11.5`."""
    match = re.search(r"slurm\S* +(\d+\.\d+\S*)", text[:1000], re.ASCII)
    return match[1] if match else None


def read_allows_children(version: str | None) -> bool | None:
    """Whether AllowAccounts holds for the accounts below those it names: since 23.02; 22.05 refuses them."""
    return None if version is None else int(version.partition(".")[0]) >= _FIRST_THAT_ALLOWS_CHILDREN


def read_config(text: str) -> dict[str, str]:
    """MaxArraySize, ClusterName, SelectTypeParameters, EnforcePartLimits, AccountingStorageType, MinJobAge, ..."""
    pairs = (line.partition("=") for line in text.split("\n"))
    return {name.strip(): value.strip() for name, equals, value in pairs if equals and name.strip()}


def read_max_array(config: Mapping[str, str]) -> int | None:
    """MaxArraySize: one more than the largest index allowed."""
    return read_count(config.get("MaxArraySize"))


def read_has_accounting(config: Mapping[str, str]) -> bool | None:
    kind = config.get("AccountingStorageType")
    return None if kind is None else "slurmdbd" in kind


def read_enforces_partition_limits(config: Mapping[str, str]) -> bool | None:
    """With NO, Slurm's default, a job over the limit is taken and waits for ever."""
    word = config.get("EnforcePartLimits")
    return None if word is None else word.upper() in ("ALL", "ANY", "YES")


def read_enforces_limits(config: Mapping[str, str]) -> bool | None:
    word = config.get("AccountingStorageEnforce")
    return None if word is None else bool({"limits", "safe", "all"} & set(word.lower().split(",")))


def read_starts_only_what_is_paid(config: Mapping[str, str]) -> bool | None:
    """AccountingStorageEnforce=safe; without it a job starts while anything is left, and is stopped when nothing is."""
    word = config.get("AccountingStorageEnforce")
    return None if word is None else bool({"safe", "all"} & set(word.lower().split(",")))


def read_memory_is_counted(config: Mapping[str, str]) -> bool | None:
    word = config.get("SelectTypeParameters")
    return None if word is None else "MEMORY" in word.upper()


def read_bills_the_largest(config: Mapping[str, str]) -> bool | None:
    word = config.get("PriorityFlags")
    return None if word is None else "MAX_TRES" in word.upper()


def read_partitions(
    text: str, nodes: str = "", *, config: Mapping[str, str] | None = None, fields: Fields = NODE_FIELDS
) -> tuple[SeenPartition, ...]:
    """`text` of scontrol; `nodes` of sinfo adds the kinds of node; `config` what holds where a partition is silent."""
    shapes: dict[str, list[NodeShape]] = {}
    for row in read_rows(nodes, fields, separator="|"):
        shapes.setdefault(row.get("partition", ""), []).append(_read_shape(row))
    partitions = read_records(text, "PartitionName")
    highest = max((read_count(record.get("PriorityTier")) or 0 for record in partitions), default=0)
    return tuple(
        _read_partition(record, shapes.get(record["PartitionName"], []), config or {}, highest) for record in partitions
    )


def read_gpus(gres: str) -> dict[str, int]:
    """`gpu:a100:4(S:0-1),gpu:2`: {"a100": 4, "": 2}."""
    found: dict[str, int] = {}
    # The sockets in brackets hold commas of their own.
    for match in _GPU.finditer(re.sub(r"\([^()]*\)", "", gres)):
        kind = match["kind"] or ""
        found[kind] = found.get(kind, 0) + int(match["count"][:9])
    return found


def _read_shape(row: Mapping[str, str]) -> NodeShape:
    layout = re.fullmatch(r"(\d{1,5}):(\d{1,5}):(\d{1,5})", row.get("layout", ""), re.ASCII)
    return NodeShape(
        nodes=read_count(row.get("nodes")),
        cpus=read_count(row.get("cpus")),
        cores=int(layout[1]) * int(layout[2]) if layout else None,
        memory_mb=read_count(row.get("memory_mb")),
        gpus=tuple(sorted(read_gpus(row.get("gres", "")).items())),
        features=read_names(row.get("features")),
    )


def _read_partition(
    record: Mapping[str, str], shapes: Sequence[NodeShape], config: Mapping[str, str], highest_tier: int
) -> SeenPartition:
    gpus: dict[str, int] = {}
    for shape in shapes:
        for kind, count in shape.gpus:
            gpus[kind] = max(count, gpus.get(kind, 0))
    defaults = {name.lower(): int(count) for name, count in _DEFAULT_OF_GPU.findall(record.get("JobDefaults", ""))}
    return SeenPartition(
        name=record["PartitionName"],
        state=record.get("State", "UP"),
        is_default=record.get("Default") == "YES",
        max_time=_read_limit_time(record.get("MaxTime")),
        default_time=_read_limit_time(record.get("DefaultTime")),
        max_nodes=read_count(record.get("MaxNodes")),
        min_nodes=read_limit(record.get("MinNodes")),
        nodes=read_count(record.get("TotalNodes")),
        cpus_per_node=max((shape.cpus for shape in shapes if shape.cpus is not None), default=None),
        memory_mb_per_node=max((shape.memory_mb for shape in shapes if shape.memory_mb is not None), default=None),
        gpus=tuple(sorted(gpus.items())),
        shapes=tuple(shapes),
        # Since 26.05 a field of its own.
        whole_nodes=record.get("OverSubscribe", "").startswith("EXCLUSIVE") or record.get("Exclusive") == "NODE",
        allow_accounts=read_names(record.get("AllowAccounts")),
        deny_accounts=read_names(record.get("DenyAccounts")),
        allow_qos=read_names(record.get("AllowQos")),
        deny_qos=read_names(record.get("DenyQos")),
        qos=read_text(record.get("QoS")),
        allow_groups=read_names(record.get("AllowGroups")),
        max_cpus_per_node=read_limit(record.get("MaxCPUsPerNode")),
        max_memory_mb_per_node=_read_memory(record, config, "MaxMemPerNode"),
        max_memory_mb_per_cpu=_read_memory(record, config, "MaxMemPerCPU"),
        default_cpus_per_gpu=defaults.get("defcpupergpu"),
        default_memory_mb_per_gpu=defaults.get("defmempergpu"),
        preempts=_read_preempts(record, config, highest_tier),
        needs_reservation=record.get("ReqResv") == "YES",
        only_root=record.get("RootOnly") == "YES",
        billing_weights=read_weights(record.get("TRESBillingWeights")),
    )


def _read_memory(record: Mapping[str, str], config: Mapping[str, str], name: str) -> int | None:
    """A partition that says nothing, or UNLIMITED, has the limit of the whole cluster."""
    found = read_limit(record.get(name))
    return read_limit(config.get(name)) if found is None else found


def _read_preempts(record: Mapping[str, str], config: Mapping[str, str], highest_tier: int) -> bool | None:
    """By partition, not by QOS: jobs of a lower tier make room, unless the partition's mode is OFF."""
    how = config.get("PreemptType")
    if how is None:
        return None
    if "partition_prio" not in how:
        return False
    mode = record.get("PreemptMode", "OFF").split(",")[0].upper()
    return mode not in ("OFF", "GANG", "") and (read_count(record.get("PriorityTier")) or 0) < highest_tier


def _read_limit_time(word: str | None) -> timedelta | None:
    seconds = read_seconds(word)
    return None if seconds is None else timedelta(seconds=seconds)
