"""sacctmgr: what this user may do, by account and by QOS."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta

from windlass.core.facts import Association, SeenQos
from windlass.schedulers.slurm.fields import (
    Fields,
    make_fields,
    read_limit,
    read_names,
    read_rows,
    read_seconds,
    read_text,
)
from windlass.schedulers.slurm.tres import keep_least, read_tres

ASSOCIATION_FIELDS = make_fields(
    cluster="Cluster",
    account="Account",
    partition="Partition",
    qos="QOS",
    default_qos="DefaultQOS",
    max_jobs="MaxJobs",
    max_submit="MaxSubmit",
    max_time="MaxWall",
    max_per_job="MaxTRES",
    group_minutes="GrpTRESMins",
    group_at_once="GrpTRES",
)
ACCOUNT_FIELDS = make_fields(
    cluster="Cluster", account="Account", parent="ParentName", group_minutes="GrpTRESMins", group_at_once="GrpTRES"
)
QOS_FIELDS = make_fields(
    name="Name",
    priority="Priority",
    flags="Flags",
    max_time="MaxWall",
    max_jobs="MaxJobsPerUser",
    max_submit="MaxSubmitJobsPerUser",
    max_per_job="MaxTRES",
    min_per_job="MinTRES",
    max_per_user="MaxTRESPerUser",
    group_minutes="GrpTRESMins",
    group_at_once="GrpTRES",
    preempt="Preempt",
)

_DEEPEST = 100  # accounts above one another


def make_associations_command(fields: Fields = ASSOCIATION_FIELDS) -> list[str]:
    """Through sh, since only the other side knows the user's name, and asking first would be a round trip more."""
    return _make_sacctmgr_command('show assoc where user="$(id -un)"', fields)


def make_accounts_command(fields: Fields = ACCOUNT_FIELDS) -> list[str]:
    """The rows of accounts, which hold the limits of groups; other limits a user's own row has inherited already."""
    return _make_sacctmgr_command("show assoc where user=", fields)


def make_default_account_command() -> list[str]:
    return _make_sacctmgr_command('show user where name="$(id -un)"', make_fields(account="DefaultAccount"))


def make_qos_command(fields: Fields = QOS_FIELDS) -> list[str]:
    return ["sacctmgr", "-nP", "show", "qos", "format=" + ",".join(field.asked for field in fields)]


def read_associations(
    text: str, *, default_account: str | None = None, cluster: str | None = None, fields: Fields = ASSOCIATION_FIELDS
) -> tuple[Association, ...]:
    """Of this cluster only: one database may serve several."""
    mine = _of_cluster(read_rows(text, fields, separator="|"), cluster)
    return tuple(_read_association(row, default_account) for row in mine if row.get("account"))


def add_parents(
    associations: tuple[Association, ...], text: str, *, cluster: str | None = None, fields: Fields = ACCOUNT_FIELDS
) -> tuple[Association, ...]:
    """With the accounts above and the limits of their groups; `text` is the answer to `make_accounts_command`."""
    rows = {row.get("account", ""): row for row in _of_cluster(read_rows(text, fields, separator="|"), cluster)}
    return tuple(_add_groups(one, rows) for one in associations)


def read_default_account(text: str) -> str | None:
    return read_text(next((line.strip() for line in text.split("\n") if line.strip()), None))


def read_qos(text: str, fields: Fields = QOS_FIELDS) -> tuple[SeenQos, ...]:
    rows = [row for row in read_rows(text, fields, separator="|") if row.get("name")]
    preempted_by: dict[str, list[str]] = {}
    for other in rows:
        for name in read_names(other.get("preempt")):
            preempted_by.setdefault(name, []).append(other["name"])
    return tuple(_read_one_qos(row, tuple(preempted_by.get(row["name"], ()))) for row in rows)


def _make_sacctmgr_command(question: str, fields: Fields) -> list[str]:
    asked = ",".join(field.asked for field in fields)
    return ["sh", "-c", f"exec sacctmgr -nP {question} format={asked}"]


def _of_cluster(rows: Iterator[Mapping[str, str]], cluster: str | None) -> Iterator[Mapping[str, str]]:
    return (row for row in rows if cluster is None or row.get("cluster", cluster) in (cluster, ""))


def _read_association(row: Mapping[str, str], default_account: str | None) -> Association:
    return Association(
        account=row["account"],
        partition=read_text(row.get("partition")),
        qos=read_names(row.get("qos")),
        default_qos=read_text(row.get("default_qos")),
        is_default=row["account"] == default_account,
        max_jobs=read_limit(row.get("max_jobs")),
        max_submit=read_limit(row.get("max_submit")),
        max_time=_read_time(row.get("max_time")),
        max_per_job=read_tres(row.get("max_per_job")),
        group_minutes=read_tres(row.get("group_minutes")),
        group_at_once=read_tres(row.get("group_at_once")),
    )


def _add_groups(association: Association, rows: Mapping[str, Mapping[str, str]]) -> Association:
    minutes, at_once = dict(association.group_minutes), dict(association.group_at_once)
    name, passed = association.account, list[str]()
    while name in rows and name not in passed and len(passed) < _DEEPEST:
        passed.append(name)
        minutes = keep_least(minutes, read_tres(rows[name].get("group_minutes")))
        at_once = keep_least(at_once, read_tres(rows[name].get("group_at_once")))
        name = rows[name].get("parent", "")
    return replace(association, parents=tuple(passed[1:]), group_minutes=minutes, group_at_once=at_once)


def _read_one_qos(row: Mapping[str, str], preempted_by: tuple[str, ...]) -> SeenQos:
    return SeenQos(
        name=row["name"],
        max_time=_read_time(row.get("max_time")),
        max_jobs=read_limit(row.get("max_jobs")),
        max_submit=read_limit(row.get("max_submit")),
        priority=read_limit(row.get("priority")) or 0 if row.get("priority") else None,
        max_per_job=read_tres(row.get("max_per_job")),
        min_per_job=read_tres(row.get("min_per_job")),
        max_per_user=read_tres(row.get("max_per_user")),
        group_minutes=read_tres(row.get("group_minutes")),
        group_at_once=read_tres(row.get("group_at_once")),
        denies_on_limit="denyonlimit" in row.get("flags", "").lower().split(","),
        preempted_by=preempted_by,
    )


def _read_time(word: str | None) -> timedelta | None:
    seconds = read_seconds(word)
    return None if seconds is None else timedelta(seconds=seconds)
