"""The reference of the sites that come with Windlass: every fact of their files, with the document it is from."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from datetime import timedelta
from typing import Any

from reference_comments import read_comments

from windlass.core.site import Area, GpuKind, NodeType, Partition, Qos, Site
from windlass.core.units import format_duration
from windlass.edges.folders import find_folders
from windlass.edges.site_files import load_sites

_ALWAYS_TOLD = ("gpu_dialect", "whole_nodes")  # also where they are as everywhere
_LISTS = (("onboarding", "Getting an account"), ("notes", "Good to know"))


def make_sites() -> str:
    nobody = find_folders({"WINDLASS_CONFIG_DIR": "/nonexistent", "WINDLASS_STATE_DIR": "/nonexistent"})
    sites = [site for site in load_sites(nobody).sites if not site.is_local]
    lead = (
        "What Windlass knows about these machines before it has asked them anything.",
        "Once you are connected, what Slurm says there wins; `windlass site check NAME` compares both.",
        "To change a fact for yourself, write a file of your own that begins with "
        '`extends = "NAME"`: see [The site file](site-file.md).',
        "The numbers in brackets lead to the document a fact is from.",
    )
    rows = [(f"[{one.name}](#{one.name})", one.title, f"`{one.login.host}`", one.replaced_by or "") for one in sites]
    overview = make_table(("site", "machine", "login", "replaced by"), rows)
    return "\n\n".join(("# Sites", "\n".join(lead), overview, *(make_site(site) for site in sites)))


def make_site(site: Site) -> str:
    notes = Footnotes(site.sources)
    parts = [
        f"## {site.name}",
        f"{site.title}.",
        make_section(site, "machine", "The whole machine", notes),
        make_head(site, notes),
        make_section(site, "login", "Access", notes),
        make_queues(site, notes),
        make_qos(site, notes),
        make_nodes(site, notes),
        make_gpus(site, notes),
        make_storage(site, notes),
        make_section(site, "accounting", "Cost and accounts", notes),
        make_section(site, "rules", "Rules", notes),
        make_section(site, "software", "Software", notes),
        make_section(site, "network", "Network", notes),
        *(make_list(title, getattr(site, key), notes.find(key)) for key, title in _LISTS),
        make_pairs("Shared data", site.datasets, notes.find("datasets")),
        make_pairs("Links", site.links, notes.find("links")),
        make_pairs("Where documents disagree", site.decisions, ""),
        notes.make_list(),
    ]
    return "\n\n".join(part for part in parts if part)


class Footnotes:
    """Sources in the order in which they are first used."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources
        self._seen: list[str] = []

    def find(self, key: str) -> str:
        parts = key.split(".")
        found = next(
            (self._sources[k] for n in range(len(parts), 0, -1) if (k := ".".join(parts[:n])) in self._sources), ""
        )
        if found and found not in self._seen:
            self._seen.append(found)
        return f"[{self._seen.index(found) + 1}]" if found else ""

    def find_all(self, keys: Iterable[str]) -> str:
        return " ".join(dict.fromkeys(found for key in keys if (found := self.find(key))))

    def make_list(self) -> str:
        return "\n".join(("### Sources", "", *(f"{index}. {text}" for index, text in enumerate(self._seen, 1))))


def make_head(site: Site, notes: Footnotes) -> str:
    names = ("root", "local_scratch", "category", "replaced_by", "support", "documentation")
    comments = read_comments(Site)
    rows = [
        (f"`{name}`", format_value(value), comments.get(name, ""), notes.find(name))
        for name in names
        if (value := getattr(site, name))
    ]
    return make_table(("key", "value", "meaning", "source"), rows)


def make_section(site: Site, name: str, title: str, notes: Footnotes) -> str:
    value = getattr(site, name)
    comments = read_comments(type(value))
    rows = [
        (f"`{field.name}`", format_value(found), comments.get(field.name, ""), notes.find(f"{name}.{field.name}"))
        for field in fields(value)
        if (found := getattr(value, field.name)) != find_default(field) or field.name in _ALWAYS_TOLD
    ]
    return f"### {title}\n\n{make_table(('key', 'value', 'meaning', 'source'), rows)}" if rows else ""


def make_queues(site: Site, notes: Footnotes) -> str:
    def make_row(one: Partition) -> tuple[str, ...]:
        words = [f"for {one.category} projects" if one.category else "", "for tests" if one.for_tests else ""]
        words += ["whole nodes" if one.whole_nodes else "", one.forbidden or "", one.purpose or ""]
        return (", ".join(one.nodes), show(one.max_time), show(one.default_time), show(one.max_nodes), join(words))

    head = ("nodes", "longest", "default", "largest", "remarks")
    return make_things("Queues", "partition", site.partitions, head, make_row, notes)


def make_qos(site: Site, notes: Footnotes) -> str:
    def make_row(one: Qos) -> tuple[str, ...]:
        words = ["default" if one.is_default else "", "hidden" if one.hidden else "", one.purpose or ""]
        return (show(one.priority), show(one.max_time), show(one.max_running), show(one.max_submitted), join(words))

    head = ("priority", "longest", "running at once", "in the queue", "remarks")
    return make_things("Quality of service", "qos", site.qos, head, make_row, notes)


def make_nodes(site: Site, notes: Footnotes) -> str:
    def make_row(one: NodeType) -> tuple[str, ...]:
        cores = f"{one.cores} x {one.threads_per_core} threads" if one.threads_per_core > 1 else show(one.cores)
        gpus = f"{one.gpus} x {one.gpu}" if one.gpus else ""
        share = join([f"{one.cpus_per_gpu} cores" if one.cpus_per_gpu else "", gigabytes(one.memory_per_gpu_gb)])
        disk = gigabytes(one.local_disk_gb)
        architecture = "" if one.architecture == "x86_64" else one.architecture
        words = join([one.processor or "", architecture])
        return (show(one.count), cores, gigabytes(one.memory_gb), gpus, share, disk, words)

    head = ("how many", "cores", "memory", "GPUs", "advised for a GPU", "own disk", "processor")
    return make_things("Nodes", "node", site.node_types, head, make_row, notes)


def make_gpus(site: Site, notes: Footnotes) -> str:
    def make_row(one: GpuKind) -> tuple[str, ...]:
        typed = f"`gpu:{one.spelled or one.name}:N`" if site.rules.typed_gpus else "without its kind"
        words = [f"{one.cuda_cores} CUDA cores" if one.cuda_cores else "", one.link or ""]
        words += [f"builds for it: {one.wheels}" if one.wheels else ""]
        return (gigabytes(one.memory_gb), one.capability or "", typed, join(words))

    return make_things("GPUs", "gpu", site.gpus, ("memory", "capability", "asked for", "remarks"), make_row, notes)


def make_storage(site: Site, notes: Footnotes) -> str:
    def make_row(one: Area) -> tuple[str, ...]:
        whose = " (group)" if one.per_group and (one.quota_gb or one.quota_files) else ""
        size = gigabytes(one.quota_gb) + (whose if one.quota_gb else "")
        files = f"{one.quota_files:,}{whose}" if one.quota_files else ""
        purge = f"{one.purge_days} days" if one.purge_days else ""
        backup = "" if one.backed_up is None else "yes" if one.backed_up else "no"
        words = ["" if one.in_jobs else "not seen by jobs", "over it no job is taken" if one.blocks_jobs else ""]
        words += [f"files of {one.advised_file_mb:g} MB or more" if one.advised_file_mb else "", one.purpose or ""]
        return (f"`{one.path}`", size, files, purge, backup, join(words))

    head = ("path", "bytes", "files", "removed after", "backup", "remarks")
    return make_things("Storage", "storage", site.storage, head, make_row, notes)


def make_things(
    title: str,
    table: str,
    things: Sequence[Any],
    head: tuple[str, ...],
    make_row: Callable[[Any], tuple[str, ...]],
    notes: Footnotes,
) -> str:
    """A row for each, with the sources of all its facts."""
    if not things:
        return ""
    rows = []
    for one in things:
        told = [f.name for f in fields(one) if f.name != "name" and getattr(one, f.name) != find_default(f)]
        rows.append((f"`{one.name}`", *make_row(one), notes.find_all(f"{table}.{one.name}.{key}" for key in told)))
    return f"### {title}\n\n{make_table(('name', *head, 'source'), rows)}"


def make_list(title: str, texts: Sequence[str], source: str) -> str:
    return (
        "\n".join((f"### {title}", "", *(f"- {escape(text)}" for text in texts), "", f"Source: {source}"))
        if texts
        else ""
    )


def make_pairs(title: str, pairs: Mapping[str, str], source: str) -> str:
    if not pairs:
        return ""
    told = f"\n\nSource: {source}" if source else ""
    rows = [(f"`{key}`", f"<{text}>" if text.startswith("https://") else text) for key, text in pairs.items()]
    return f"### {title}\n\n{make_table(('about', 'what'), rows)}{told}"


def make_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns that nobody fills are left out."""
    kept = [index for index in range(len(head)) if any(row[index] for row in rows)]
    lines = [[head[i] for i in kept], ["---"] * len(kept), *([escape(row[i]) for i in kept] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def find_default(field: Field[Any]) -> object:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def format_value(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case timedelta():
            return format_duration(value)
        case tuple():
            return ", ".join(format_value(one) for one in value)
        case Mapping():
            return ", ".join(f"`{key}={one}`" for key, one in value.items())
        case float():
            return f"{value:g}"
        case str() if "$" in value or value.startswith("/"):
            return f"`{value}`"
        case _:
            return str(value)


def show(value: object) -> str:
    return "" if value is None else format_value(value)


def gigabytes(value: float | None) -> str:
    return "" if value is None else f"{value / 1000:g} TB" if value >= 2000 else f"{value:g} GB"


def join(words: Iterable[str]) -> str:
    return "; ".join(word for word in words if word)


def escape(text: str) -> str:
    return text.replace("|", "\\|")
