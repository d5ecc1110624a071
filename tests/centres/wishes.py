"""What users ask of a centre: the largest, longest and oddest that its site file allows."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from tests.centres.worlds import NAMES, load, make_centre
from windlass.core.run import Resources
from windlass.core.site import NodeType, Partition, Site

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True)
class Wish:
    name: str  # of the centre
    id: str
    resources: Resources
    about: str = ""  # which partition, kind of node or QOS


def list_wishes() -> list[Wish]:
    return [wish for name in NAMES for wish in _of_site(load(name), first_account(name))]


def first_account(name: str) -> str:
    return make_centre(name).members[0].account


def list_open(site: Site) -> list[Partition]:
    """The partitions that this user's jobs may name."""
    return [one for one in site.partitions if site.find_closed(one) is None] if site.rules.names_partition else []


def list_nodes(site: Site, partition: Partition) -> list[NodeType]:
    return [found for name in partition.nodes if (found := site.node_type(name))]


def find_limit(site: Site, partition: Partition) -> timedelta:
    return min(limit for limit in (partition.max_time, site.rules.max_time, timedelta(days=365)) if limit is not None)


def _of_site(site: Site, account: str) -> Iterator[Wish]:
    def wish(what: str, about: str = "", **resources: Any) -> Wish:
        given = {"time": HOUR, "account": account, **resources}
        id = f"{what}-{about}" if about else what
        return Wish(name=site.name, id=id, about=about, resources=Resources(**given))

    yield wish("nothing-but-time")
    yield wish("one-gpu", gpus=1)
    yield wish("a-chain", gpus=1, time=timedelta(days=70))
    yield wish("whole-nodes", gpus=1, exclusive=True)
    for member in make_centre(site.name).members[1:]:
        if member.partition is None and not member.limits and not member.group_limits:
            yield wish("account", member.account, gpus=1, account=member.account)
    for node in site.node_types:
        if node.gpus and node.architecture == "x86_64":
            yield wish("one-of", node.name, gpus=1, gpu=node.gpu)
            yield wish("all-of", node.name, gpus_per_node=node.gpus, gpu=node.gpu)
            if (node.count or 1) > 1:
                yield wish("two-of", node.name, nodes=2, gpus_per_node=node.gpus, gpu=node.gpu)
    if not site.rules.names_partition and site.rules.max_time is not None:
        yield wish("longest", "limit", gpus=1, time=site.rules.max_time)
    for partition in list_open(site):
        kinds = list_nodes(site, partition)
        where = {"partition": partition.name, "gpus_per_node": min(kind.gpus for kind in kinds)}
        limit = find_limit(site, partition)
        most = partition.max_nodes or max(kind.count or 1 for kind in kinds)
        yield wish("longest", partition.name, time=limit, **where)
        yield wish("most", partition.name, nodes=most, time=min(limit, HOUR), **where)
    for qos in site.qos:
        if not qos.hidden:
            yield wish("longest-qos", qos.name, qos=qos.name, time=qos.max_time or HOUR)
