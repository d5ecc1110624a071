"""scontrol show reservation: nodes that are kept for somebody, and maintenance."""

from collections.abc import Mapping
from dataclasses import dataclass

from windlass.core.facts import Reservation
from windlass.schedulers.slurm.fields import read_count, read_names, read_records, read_text, read_time
from windlass.schedulers.slurm.hostlist import expand_hosts
from windlass.schedulers.slurm.tres import read_tres


def make_reservations_command() -> list[str]:
    return ["scontrol", "--oneliner", "show", "reservation"]


def read_reservations(text: str, partitions: str = "") -> tuple[Reservation, ...]:
    """`partitions` of `scontrol --oneliner show partition` tells which of them a reservation takes whole."""
    known = [_read_partition(record) for record in read_records(partitions, "PartitionName")]
    found = (_read_reservation(record, known) for record in read_records(text, "ReservationName"))
    return tuple(sorted((one for one in found if one is not None), key=lambda one: one.starts))


@dataclass(frozen=True)
class _Nodes:
    partition: str
    names: frozenset[str]
    cpus: int | None


def _read_reservation(record: Mapping[str, str], known: list[_Nodes]) -> Reservation | None:
    starts, ends = read_time(record.get("StartTime")), read_time(record.get("EndTime"))
    if starts is None or ends is None:
        return None
    flags = record.get("Flags", "").upper().split(",")
    names = expand_hosts(record.get("Nodes", ""))
    cpus = read_tres(record.get("TRES")).get("cpu")
    covered = tuple(one.partition for one in known if "ALL_NODES" in flags or _is_covered(one, names, cpus))
    return Reservation(
        name=record["ReservationName"],
        starts=starts,
        ends=ends,
        partition=read_text(record.get("PartitionName")),
        nodes=read_count(record.get("NodeCnt")),
        all_nodes="ALL_NODES" in flags or (bool(known) and len(covered) == len(known)),
        accounts=read_names(record.get("Accounts")),
        users=read_names(record.get("Users")),
        is_maintenance="MAINT" in flags,
        partitions_covered=covered,
    )


def _is_covered(partition: _Nodes, names: frozenset[str], cpus: int | None) -> bool:
    """No node is outside. A reservation of some cores names whole nodes all the same, so the cores must do too."""
    if not partition.names or not partition.names <= names:
        return False
    return cpus is None or partition.cpus is None or cpus >= partition.cpus


def _read_partition(record: Mapping[str, str]) -> _Nodes:
    return _Nodes(record["PartitionName"], expand_hosts(record.get("Nodes", "")), read_count(record.get("TotalCPUs")))
