"""The data of the run: its size, its number of files, and how long it stays."""

from collections.abc import Iterator

from windlass.core.case import Case, DataSeen
from windlass.core.finding import Finding, Severity
from windlass.core.run import Staging
from windlass.core.seen.areas import find_area, find_quota
from windlass.core.shell import quote
from windlass.core.staging import list_in_turn, tell_taken
from windlass.core.toml.writing import format_key

_GB = 1e9
_MANY_FILES = 100_000
_SMALL_FILES = 10_000
_SMALL_BYTES = 1_000_000
_DAY_S = 86_400
_HARDLY_ANY_GB = 0.1


def data_stays_on_the_laptop(case: Case) -> Iterator[Finding]:
    """The data lies on this laptop only: code travels with a run, data does not.

    `windlass data send` packs it and brings it to the site once; each run then names it as `set:NAME`.
    """
    for one in case.data:
        if case.site.is_local or not one.is_here or one.is_sent or one.name not in case.spec.data:
            continue
        source = case.spec.data[one.name].source
        size = "" if one.bytes is None else f", {_at_least(one)}{one.files} files, {one.bytes / _GB:.2g} GB"
        yield Finding(
            code="C302",
            severity=Severity.WARNING,
            message=f"data.{one.name} ({source}{size}) lies on this laptop and does not travel with the code",
            hint=f"windlass data send {quote(source)} --name {one.name} --on {case.site.name}\n"
            f'[{format_key(("data", one.name))}] source = "set:{one.name}"',
            fact=f"ls {source} at {case.site.name}" if one.is_missing else "the files that go along with the run",
        )


def data_does_not_fit(case: Case) -> Iterator[Finding]:
    """The data has more bytes or files than the area where it must lie has left."""
    area = find_area(case.site.root, case.site, case.facts)
    seen = find_quota(area, case.site.root, case.facts)
    files = (seen.limit_files if seen else None) or (area.quota_files if area else None)
    size = (seen.limit_bytes if seen else None) or (int(area.quota_gb * _GB) if area and area.quota_gb else None)
    for one in case.data:
        name = area.name if area else seen.area if seen else ""
        if files is not None and one.files is not None and one.files + (seen.used_files or 0 if seen else 0) > files:
            told = f"{_at_least(one)}{one.files} files; {name} holds {_left(seen.used_files if seen else None)}{files}"
        elif size is not None and one.bytes is not None and one.bytes + (seen.used_bytes or 0 if seen else 0) > size:
            told = f"{_at_least(one)}{one.bytes / _GB:.1f} GB; {name} holds {size / _GB:.1f} GB"
        else:
            continue
        yield Finding(
            code="C410",
            severity=Severity.WARNING,
            message=f"data.{one.name} has {told}",
            hint=_tell_packing(case, one) + ", or another format: windlass data convert (TFRecord, HDF5, LMDB)",
            fact=(seen.source if seen else "") or f"storage.{name} of {case.site.name}",
        )


def too_many_small_files(case: Case) -> Iterator[Finding]:
    """Shared file systems are slow with many small files: GPUs wait, and other users too. Pack them."""
    area = find_area(case.site.root, case.site, case.facts)
    small = int(area.advised_file_mb * 1e6) if area and area.advised_file_mb else _SMALL_BYTES
    for one in case.data:
        if case.site.is_local or not one.files or one.bytes is None:
            continue
        mean = one.bytes / one.files
        if one.files >= _MANY_FILES or (one.files >= _SMALL_FILES and mean < small):
            yield Finding(
                code="C411",
                severity=Severity.WARNING if one.files >= _MANY_FILES else Severity.ADVICE,
                message=f"data.{one.name} has {_at_least(one)}{one.files} files of {mean / 1e6:.2g} MB on average",
                hint=_tell_packing(case, one),
                fact=f"the files of data.{one.name}",
            )


def data_could_lie_nearer(case: Case) -> Iterator[Finding]:
    """Small data fits into memory, larger data onto the node's own disk; only what is larger is read from afar.

    Read from the shared file system in every epoch, data makes GPUs wait. Without `stage` the nearest place that holds
    it is chosen; here the run file says that it is to stay where it is.
    """
    rules, disk = case.site.rules, _find_local_disk_gb(case)
    for one in case.data:
        wanted = case.spec.data[one.name].stage if one.name in case.spec.data else Staging.AUTO
        gigabytes = (one.bytes or 0) / _GB
        if wanted is not Staging.SHARED or one.bytes is None or gigabytes < _HARDLY_ANY_GB:
            continue
        if rules.data_in_memory_gb is not None and gigabytes <= rules.data_in_memory_gb and not one.is_partial:
            limit, place, rule = rules.data_in_memory_gb, "load it into memory at the start", "data_in_memory_gb"
        elif rules.data_on_node_gb is not None and gigabytes <= min(rules.data_on_node_gb, disk or 1e9):
            limit, place = rules.data_on_node_gb, f"copy it to {case.site.local_scratch} at the start"
            rule = "data_on_node_gb"
        else:
            continue
        yield Finding(
            code="C412",
            severity=Severity.ADVICE,
            message=f"data.{one.name} has {gigabytes:.1f} GB; up to {limit:g} GB {case.site.name} advises to {place}",
            hint=f'[{format_key(("data", one.name))}] stage = "{"memory" if rule == "data_in_memory_gb" else "node"}"',
            fact=f"rules.{rule} of {case.site.name}",
        )


def staged_data_is_too_large(case: Case) -> Iterator[Finding]:
    """The data is to be copied to the node's memory or disk, and is larger than that, alone or beside other data."""
    disk = _find_local_disk_gb(case)
    memory = case.plan.memory_mb * 1024**2 / _GB if case.plan.memory_mb else None
    known = {one.name: one for one in case.data}
    taken = {Staging.MEMORY: 0.0, Staging.NODE: 0.0}
    for name, data in list_in_turn(case.spec.data):
        one, wanted = known.get(name), data.stage
        room = {Staging.MEMORY: memory, Staging.NODE: disk}.get(wanted)
        if room is None or one is None or one.bytes is None:
            continue
        if one.bytes / _GB + taken[wanted] <= room:
            taken[wanted] += one.bytes / _GB
            continue
        has = f"{room:.1f} GB{tell_taken(taken[wanted])}"
        where = "the job's memory" if wanted is Staging.MEMORY else "the node's own disk"
        yield Finding(
            code="C416",
            severity=Severity.WARNING,
            message=f"data.{one.name} has {_at_least(one)}{one.bytes / _GB:.1f} GB; {where} has {has}",
            hint=f'[{format_key(("data", one.name))}] stage = "shared"',
            fact="the memory of the plan"
            if wanted is Staging.MEMORY
            else f"node.NAME.local_disk_gb of {case.site.name}",
        )


def data_is_missing(case: Case) -> Iterator[Finding]:
    """The data is said to lie at the site, and nothing is there: it was purged, or the path has a slip.

    Login nodes were asked; a folder that only compute nodes have is not seen from there.
    """
    for one in case.data:
        if one.is_missing and not one.is_here and one.name in case.spec.data:
            source = case.spec.data[one.name].source
            yield Finding(
                code="C417",
                severity=Severity.WARNING,
                message=f"data.{one.name} should be {source}, and {case.site.name} has nothing there",
                hint=f"bring it there, or correct [{format_key(('data', one.name))}] source",
                fact=f"ls {source}",
            )


def data_may_be_purged(case: Case) -> Iterator[Finding]:
    """The data lies on an area where files that nobody used for a while are removed, perhaps before the run ends."""
    for name, data in case.spec.data.items():
        known = case.facts.data_set(data.set_name)
        area = find_area(known.path if known else data.source, case.site, case.facts)
        if area is None or area.purge_days is None:
            continue
        seen = next((one for one in case.data if one.name == name), None)
        if seen is not None and seen.oldest is not None and case.now is not None:
            unused = (case.now - seen.oldest) / _DAY_S
            ends_before = area.purge_days - unused < case.plan.total_time.total_seconds() / _DAY_S
            if not ends_before:
                continue
            told = f"some of it was last used {unused:.0f} days ago"
        elif case.plan.total_time.days >= area.purge_days:
            told = f"the run may take {case.plan.total_time.days}"
        else:
            continue
        yield Finding(
            code="C413",
            severity=Severity.WARNING,
            message=f"data.{name} lies on {area.name}, which removes files after {area.purge_days} days; {told}",
            hint="keep the original elsewhere, and copy it again before the run",
            fact=f"storage.{area.name}.purge_days of {case.site.name}",
        )


def tmp_is_memory(case: Case) -> Iterator[Finding]:
    """At this site /tmp lies in the job's memory: what is written there counts against --mem."""
    uses = any("/tmp" in text for text in (case.spec.command, *case.spec.env.values()))
    if case.site.rules.tmp_in_memory and uses:
        yield Finding(
            code="C414",
            severity=Severity.ADVICE,
            message=f"the command uses /tmp, which at {case.site.name} counts against the job's memory"
            + (f" of {case.plan.memory_mb} MB" if case.plan.memory_mb else ""),
            hint=f"use {case.site.local_scratch}",
            fact=f"rules.tmp_in_memory of {case.site.name}",
        )


def _tell_packing(case: Case, one: DataSeen) -> str:
    """The command that makes few files of many, where the data lies."""
    data = case.spec.data.get(one.name)
    source = quote(data.source) if data else "FOLDER"
    verb = "send" if one.is_here else "pack"
    return f"windlass data {verb} {source} --name {one.name} --on {case.site.name}"


def _find_local_disk_gb(case: Case) -> float | None:
    """The least of those nodes the job may get."""
    partition = case.site.partition(case.plan.partition or "")
    types = [case.site.node_type(name) for name in (partition.nodes if partition else ())]
    return min((one.local_disk_gb for one in types if one is not None and one.local_disk_gb is not None), default=None)


def _at_least(one: DataSeen) -> str:
    return "more than " if one.is_partial else ""


def _left(used: int | None) -> str:
    return "" if used is None else f"{used} of "
