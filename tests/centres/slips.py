"""What users get wrong at a centre: each a good plan with one thing changed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.centres.wishes import HOUR, MINUTE, find_limit, first_account, list_nodes, list_open
from tests.centres.worlds import load, make_centre
from tests.cluster.centre import OUTSIDERS
from windlass.core.run import Resources
from windlass.core.site import GpuDialect, Site


@dataclass(frozen=True, kw_only=True)
class Slip:
    id: str
    resources: Resources  # of the good plan
    changes: Mapping[str, Any]  # of that plan
    about: str = ""  # which partition or QOS
    asked: Resources | None = None  # the same as a user writes it, where Windlass does not even plan it


def list_slips(name: str) -> list[Slip]:
    site = load(name.partition("@")[0])
    return [*_anywhere(site), *_in_partitions(site)]


def _anywhere(site: Site) -> Iterator[Slip]:
    good = Resources(time=HOUR, gpus=1, account=first_account(site.name))

    def slip(id: str, asked: Resources | None = None, about: str = "", **changes: Any) -> Slip:
        return Slip(id=id, resources=good, changes=changes, asked=asked, about=about)

    yield slip("account-nosuch", account="nosuch")
    yield slip("account-of-others", account=OUTSIDERS)
    yield slip("qos-nosuch", qos="nosuch")
    yield slip("reservation-nosuch", reservation="nosuch")
    yield slip("feature-nosuch", constraint="nosuch")
    yield slip("array-too-large", links=1001)
    cores = max(one.cores or 1 for one in site.node_types) * 4 + 1
    yield slip("more-cores", replace(good, cpus=cores), cpus_per_task=cores)
    yield slip("more-memory", replace(good, memory_mb=4_000_000), memory_mb=4_000_000)
    yield slip("partition-nosuch", replace(good, partition="nosuch"), partition="nosuch")
    if not make_centre(site.name).has_default_account:
        yield slip("account-none", account=None)
    if site.rules.gpu_dialect is not GpuDialect.CONSTRAINT:
        yield slip("gpu-nosuch", replace(good, gpu="h900"), gpu_spelled="h900")
    if not site.rules.names_partition and site.rules.max_time is not None:
        yield slip("longer", about="limit", link_time=site.rules.max_time + MINUTE)
    for qos in site.qos:
        if qos.hidden:
            yield slip(f"qos-{qos.name}", about=qos.name, qos=qos.name)
        if qos.max_time is not None:
            yield slip(f"over-qos-{qos.name}", about=qos.name, qos=qos.name, link_time=qos.max_time + MINUTE)
    for partition in site.partitions if site.rules.names_partition else ():
        if site.find_closed(partition) is not None:
            yield slip(f"closed-{partition.name}", about=partition.name, partition=partition.name)


def _in_partitions(site: Site) -> Iterator[Slip]:
    account = first_account(site.name)
    for one in list_open(site):
        kinds = list_nodes(site, one)
        gpus = min(kind.gpus for kind in kinds)
        limit = find_limit(site, one)
        good = Resources(time=min(limit, HOUR), partition=one.name, gpus_per_node=gpus, account=account)
        most = one.max_nodes or sum(kind.count or 1 for kind in kinds)
        changes: dict[str, dict[str, Any]] = {
            "longer": {"link_time": limit + MINUTE, "qos": "regular" if site.qos else None},
            "more-nodes": {"nodes": most + 1},
        }
        if gpus and site.rules.gpu_dialect is not GpuDialect.CONSTRAINT:
            changes["more-gpus"] = {"gpus_per_node": max(kind.gpus for kind in kinds) + 1}
        for what, change in changes.items():
            yield Slip(id=f"{what}-{one.name}", about=one.name, resources=good, changes=change)
