"""A first site file for a machine: every line rests on what was seen of it, or says that it was not seen."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

from windlass.core.facts import NodeShape, SeenPartition, SeenQos
from windlass.core.seen.discovery import CONTAINERS, AreaSeen, Discovered
from windlass.core.seen.quotas import QUOTA_PROGRAMS
from windlass.core.site import ModuleSystem
from windlass.core.toml.writing import Value, format_key, format_string, format_value

_QUESTION = "# ?"
_GPUS_MUST_BE_ASKED = "jobs that ask for no GPU are refused where the GPUs are"
# Those files are kept here for the whole site, or for one job: never the place for runs.
_NO_PLACE_FOR_RUNS = ("nearline", "localscratch", "home")


def make_draft(seen: Discovered) -> str:
    """Valid as it is; what was not seen stands in comments that begin with `# ?`."""
    nodes = _name_shapes(seen)
    parts = [
        _make_head(seen),
        _make_login(seen),
        *_make_areas(seen),
        *_make_gpus(seen),
        *_make_nodes(nodes),
        *_make_partitions(seen, nodes),
        *_make_levels(seen),
        _make_accounting(),
        _make_rules(seen),
        _make_software(seen),
        _make_network(),
        _make_sources(seen),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def choose_root(seen: Discovered) -> str:
    """The first large shared place that can be written to; home where there is no other."""
    for disk in seen.shell.areas:
        name = disk.path.rpartition("/")[2]
        if disk.is_writable and disk.variable != "HOME" and name not in _NO_PLACE_FOR_RUNS:
            return f"{_show_path(disk, seen)}/windlass"
    return "$HOME/windlass"


def _make_head(seen: Discovered) -> str:
    where = seen.host or "this machine"
    return "\n".join(
        (
            f"# Drafted on {seen.day} by `windlass site discover` from {where}, as {seen.facts.user or 'you'}.",
            f"# A line that begins with `{_QUESTION}` was not seen: ask the centre, or read its pages, and fill it in.",
            f"title = {format_string(seen.cluster or where)}",
            f"root = {format_string(choose_root(seen))}",
            *([f"notes = {format_value([_GPUS_MUST_BE_ASKED])}"] if seen.gpus_must_be_asked else []),
            f'{_QUESTION} support = "where to ask for help"',
            f'{_QUESTION} documentation = "the centre\'s own pages"',
        )
    )


def _make_login(seen: Discovered) -> str:
    needs_login_shell = "sbatch" in seen.shell.programs and "sbatch" not in seen.bare_shell.programs
    lines = {
        "host": seen.host,
        "user": seen.user,
        "jump": seen.jump or None,
        "login_shell": True if needs_login_shell else None,
    }
    return _table("login", lines, missing=("transfer_host", "vpn", "globus")) if seen.host else ""


def _make_areas(seen: Discovered) -> Iterator[str]:
    for disk in seen.shell.areas:
        name = (disk.variable or disk.path.strip("/").replace("/", "-") or "root").lower()
        size = f"{disk.kind or 'file system'}, {disk.size_gb:g} GB in all" if disk.size_gb is not None else disk.kind
        values = {"path": _show_path(disk, seen), "purpose": size, "quota_command": _find_quota_command(disk, seen)}
        yield _table(f"storage.{name}", values, missing=("quota_gb", "quota_files", "purge_days", "backed_up"))


def _find_quota_command(disk: AreaSeen, seen: Discovered) -> str | None:
    for name, program in QUOTA_PROGRAMS.items():
        if program.line and name in seen.shell.programs and program.only_on in (None, disk.kind):
            return program.line.format(path=disk.path)
    return None


def _make_gpus(seen: Discovered) -> Iterator[str]:
    kinds = {_key(kind): kind for one in seen.facts.partitions or () for kind, _ in _list_gpus(one) if kind}
    for key, kind in sorted(kinds.items()):
        yield _table(f"gpu.{key}", {"spelled": kind}, missing=("memory_gb", "capability"))


def _list_gpus(partition: SeenPartition) -> Iterator[tuple[str, int]]:
    yield from partition.gpus
    yield from (gpu for shape in partition.shapes for gpu in shape.gpus)


def _name_shapes(seen: Discovered) -> dict[str, NodeShape]:
    """The kinds of node of the whole machine; one that stands in several partitions has one name."""
    named: dict[str, NodeShape] = {}
    for partition in seen.facts.partitions or ():
        for shape in partition.shapes:
            if _find_name(shape, named) is None:
                named[_invent_name(shape, named)] = shape
    return named


def _find_name(shape: NodeShape, named: Mapping[str, NodeShape]) -> str | None:
    return next((name for name, one in named.items() if _kind_of_node(one) == _kind_of_node(shape)), None)


def _kind_of_node(shape: NodeShape) -> tuple[object, ...]:
    return shape.cpus, shape.memory_mb, shape.gpus, shape.features


def _invent_name(shape: NodeShape, named: Mapping[str, NodeShape]) -> str:
    gpu = next((f"{kind or 'gpu'}x{count}" for kind, count in shape.gpus), f"cpu{shape.cpus or ''}")
    base = _key(gpu)
    return next(name for name in (base, *(f"{base}-{i}" for i in range(2, 1000))) if name not in named)


def _make_nodes(nodes: Mapping[str, NodeShape]) -> Iterator[str]:
    for name, shape in nodes.items():
        kind, count = next(iter(shape.gpus), ("", 0))
        values = {
            "count": shape.nodes,
            "cores": shape.cpus,
            "memory_gb": None if shape.memory_mb is None else shape.memory_mb / 1000,
            "gpu": _key(kind) if kind else None,
            "gpus": count or None,
            "features": shape.features or None,
        }
        yield _table(f"node.{name}", values, missing=("local_disk_gb", "architecture"))


def _make_partitions(seen: Discovered, nodes: Mapping[str, NodeShape]) -> Iterator[str]:
    for one in seen.facts.partitions or ():
        names = [name for shape in one.shapes if (name := _find_name(shape, nodes))]
        values = {
            "nodes": tuple(dict.fromkeys(names)) or None,
            "max_time": one.max_time,
            "default_time": one.default_time,
            "max_nodes": one.max_nodes,
            "min_nodes": one.min_nodes,
            "whole_nodes": True if one.whole_nodes else None,
            "accounts": one.allow_accounts or None,
            "is_default": True if one.is_default else None,
        }
        yield _table(f"partition.{format_key((one.name,))}", values, missing=_ask_about(one))


def _ask_about(partition: SeenPartition) -> tuple[str, ...]:
    return ("for_tests",) if partition.max_time and partition.max_time <= timedelta(hours=4) else ()


def _make_levels(seen: Discovered) -> Iterator[str]:
    """Only those this user may have: the others are nobody's business."""
    mine = {name for one in seen.facts.associations or () for name in one.qos}
    defaults = {one.default_qos for one in seen.facts.associations or ()}
    for one in seen.facts.qos or ():
        if one.name in mine:
            yield _table(f"qos.{format_key((one.name,))}", _make_level(one, is_default=one.name in defaults))


def _make_level(one: SeenQos, *, is_default: bool) -> dict[str, Value | None]:
    return {
        "max_time": one.max_time,
        "max_running": one.max_jobs,
        "max_submitted": one.max_submit,
        "max_gpus": one.max_per_user.get("gres/gpu"),
        "priority": one.priority,
        "is_default": True if is_default else None,
    }


def _make_accounting() -> str:
    return _table("accounting", {}, missing=("unit", "period", "balance_command"))


def _make_rules(seen: Discovered) -> str:
    rules: dict[str, Value | None] = {
        "needs_account": seen.needs_account,
        "needs_time": seen.needs_time,
        "memory_can_be_asked": seen.memory_can_be_asked,
        "gpu_dialect": seen.gpu_dialect,
        "typed_gpus": seen.typed_gpus,
        "max_array": seen.facts.max_array - 1 if seen.facts.max_array else None,
    }
    not_seen = tuple(name for name, value in rules.items() if value is None)
    return _table("rules", rules, missing=(*not_seen, "compute_internet", "jobs_from_home", "min_job_time"))


def _make_software(seen: Discovered) -> str:
    system = seen.shell.modules
    values = {
        "modules": None if system is ModuleSystem.NONE else system.value,
        "container": next((name for name in CONTAINERS if name in seen.shell.programs), None),
    }
    not_seen = tuple(name for name, value in values.items() if value is None)
    return _table("software", values, missing=(*not_seen, "wheelhouse", "always_load"))


def _make_network() -> str:
    return _table("network", {}, missing=("host_suffix", "interface"))


def _make_sources(seen: Discovered) -> str:
    """Where each part is from; a table without a single key would be a mistake of TOML's reader, not of ours."""
    asked = f"seen on {seen.day}"
    sources = {
        "root": f"df and the variables of a login shell, {asked}",
        "login": f"windlass site discover, {asked}",
        "storage": f"df -PT, {asked}",
        "gpu": f"sinfo, {asked}",
        "node": f"sinfo, {asked}",
        "partition": f"scontrol show partition, {asked}",
        "qos": f"sacctmgr show qos, {asked}",
        "rules": f"sbatch --test-only, scontrol show config, {asked}",
        "software": f"a login shell, {asked}",
    }
    for key, words in seen.said.items():
        sources[f"rules.{key}"] = f"sbatch --test-only said: {' '.join(words.split())[:200]}; {asked}"
    return "\n".join(["[sources]", *(f"{format_key((key,))} = {format_value(text)}" for key, text in sources.items())])


def _table(name: str, values: Mapping[str, Value | None], *, missing: Sequence[str] = ()) -> str:
    lines = [f"{key} = {format_value(value)}" for key, value in values.items() if value is not None]
    return "\n".join([f"[{name}]", *lines, *(f"{_QUESTION} {key} =" for key in missing)])


def _show_path(disk: AreaSeen, seen: Discovered) -> str:
    """By its variable where there is one, and with $USER, so that the file serves others too."""
    if disk.variable:
        return f"${disk.variable}"
    user = seen.facts.user
    return disk.path.replace(f"/{user}", "/$USER") if user and f"/{user}" in disk.path else disk.path


def _key(word: str) -> str:
    plain = "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "-" for char in word)
    return plain if plain[:1].isalnum() else f"gpu{plain}"
