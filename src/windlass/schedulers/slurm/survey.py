"""scontrol, sinfo and sacctmgr: what a site has and what this user may use."""

import re
from collections.abc import Mapping
from datetime import timedelta

from windlass.core.facts import Association, SeenPartition, SeenQos
from windlass.schedulers.slurm.fields import (
    Fields,
    make_fields,
    read_count,
    read_limit,
    read_rows,
    read_seconds,
    read_text,
)

NODE_FIELDS = make_fields(partition="%R", nodes="%D", cpus="%c", memory_mb="%m", gres="%G")
ASSOCIATION_FIELDS = make_fields(
    cluster="Cluster",
    account="Account",
    partition="Partition",
    qos="QOS",
    default_qos="DefaultQOS",
    max_jobs="MaxJobs",
    max_submit="MaxSubmit",
    max_time="MaxWall",
)
QOS_FIELDS = make_fields(name="Name", max_time="MaxWall", max_jobs="MaxJobsPerUser", max_submit="MaxSubmitJobsPerUser")
_GPU = re.compile(r"(?:^|,)gpu(?::(?P<kind>[^,:(]+))??(?::no_consume)?:(?P<count>\d+)(?=[,(]|$)", re.ASCII)
_PAIR = re.compile(r"(?:^|\s)([A-Za-z]\w*)=(\S*)", re.ASCII)


def make_version_command() -> list[str]:
    return ["sinfo", "--version"]


def make_partitions_command() -> list[str]:
    return ["scontrol", "--oneliner", "show", "partition"]


def make_nodes_command(fields: Fields = NODE_FIELDS) -> list[str]:
    """--exact: nodes that differ come in rows of their own, not as `8+`."""
    return ["sinfo", "--noheader", "--exact", "--format=" + "|".join(field.asked for field in fields)]


def make_config_command() -> list[str]:
    return ["scontrol", "show", "config"]


def make_associations_command(fields: Fields = ASSOCIATION_FIELDS) -> list[str]:
    """Through sh, since only the other side knows the user's name, and asking first would be a round trip more."""
    return _make_sacctmgr_command('show assoc where user="$(id -un)"', fields)


def make_default_account_command() -> list[str]:
    return _make_sacctmgr_command('show user where name="$(id -un)"', make_fields(account="DefaultAccount"))


def make_qos_command(fields: Fields = QOS_FIELDS) -> list[str]:
    return ["sacctmgr", "-nP", "show", "qos", "format=" + ",".join(field.asked for field in fields)]


def read_version(text: str) -> str | None:
    """`slurm-wlm 22.05.8`, `slurm 24.11.5`."""
    match = re.search(r"slurm\S* +(\d+\.\d+\S*)", text, re.ASCII)
    return match[1] if match else None


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


def read_partitions(text: str, nodes: str = "", fields: Fields = NODE_FIELDS) -> tuple[SeenPartition, ...]:
    """`text` of scontrol; `nodes` of sinfo adds what a node has, the most of it where nodes differ."""
    shapes: dict[str, list[Mapping[str, str]]] = {}
    for row in read_rows(nodes, fields, separator="|"):
        shapes.setdefault(row.get("partition", ""), []).append(row)
    records = (dict(_PAIR.findall(line)) for line in text.split("\n"))
    return tuple(
        _read_partition(record, shapes.get(record["PartitionName"], []))
        for record in records
        if record.get("PartitionName")
    )


def read_gpus(gres: str) -> dict[str, int]:
    """`gpu:a100:4(S:0-1),gpu:2`: {"a100": 4, "": 2}."""
    found: dict[str, int] = {}
    # The sockets in brackets hold commas of their own.
    for match in _GPU.finditer(re.sub(r"\([^)]*\)", "", gres)):
        kind = match["kind"] or ""
        found[kind] = found.get(kind, 0) + int(match["count"][:9])
    return found


def read_associations(
    text: str, *, default_account: str | None = None, cluster: str | None = None, fields: Fields = ASSOCIATION_FIELDS
) -> tuple[Association, ...]:
    """Of this cluster only: one database may serve several."""
    rows = read_rows(text, fields, separator="|")
    mine = (row for row in rows if cluster is None or row.get("cluster", cluster) in (cluster, ""))
    return tuple(_read_association(row, default_account) for row in mine if row.get("account"))


def read_default_account(text: str) -> str | None:
    return read_text(next((line.strip() for line in text.split("\n") if line.strip()), None))


def read_qos(text: str, fields: Fields = QOS_FIELDS) -> tuple[SeenQos, ...]:
    return tuple(
        SeenQos(
            name=row["name"],
            max_time=_read_limit_time(row.get("max_time")),
            max_jobs=read_limit(row.get("max_jobs")),
            max_submit=read_limit(row.get("max_submit")),
        )
        for row in read_rows(text, fields, separator="|")
        if row.get("name")
    )


def _make_sacctmgr_command(question: str, fields: Fields) -> list[str]:
    asked = ",".join(field.asked for field in fields)
    return ["sh", "-c", f"exec sacctmgr -nP {question} format={asked}"]


def _read_partition(record: Mapping[str, str], shapes: list[Mapping[str, str]]) -> SeenPartition:
    gpus: dict[str, int] = {}
    for shape in shapes:
        for kind, count in read_gpus(shape.get("gres", "")).items():
            gpus[kind] = max(count, gpus.get(kind, 0))
    return SeenPartition(
        name=record["PartitionName"],
        state=record.get("State", "UP"),
        is_default=record.get("Default") == "YES",
        max_time=_read_limit_time(record.get("MaxTime")),
        default_time=_read_limit_time(record.get("DefaultTime")),
        max_nodes=read_count(record.get("MaxNodes")),
        nodes=read_count(record.get("TotalNodes")),
        cpus_per_node=_most(shapes, "cpus"),
        memory_mb_per_node=_most(shapes, "memory_mb"),
        gpus=tuple(sorted(gpus.items())),
        whole_nodes=record.get("OverSubscribe", "").startswith("EXCLUSIVE"),
        allow_accounts=_read_allowed(record.get("AllowAccounts")),
        allow_qos=_read_allowed(record.get("AllowQos")),
    )


def _read_association(row: Mapping[str, str], default_account: str | None) -> Association:
    return Association(
        account=row["account"],
        partition=read_text(row.get("partition")),
        qos=tuple(name for name in row.get("qos", "").split(",") if name),
        default_qos=read_text(row.get("default_qos")),
        is_default=row["account"] == default_account,
        max_jobs=read_limit(row.get("max_jobs")),
        max_submit=read_limit(row.get("max_submit")),
        max_time=_read_limit_time(row.get("max_time")),
    )


def _read_allowed(word: str | None) -> tuple[str, ...]:
    return () if word in (None, "", "ALL", "(null)") else tuple(name for name in (word or "").split(",") if name)


def _read_limit_time(word: str | None) -> timedelta | None:
    seconds = read_seconds(word)
    return None if seconds is None else timedelta(seconds=seconds)


def _most(shapes: list[Mapping[str, str]], name: str) -> int | None:
    return max(
        (count for count in (read_count(shape.get(name)) for shape in shapes) if count is not None), default=None
    )
