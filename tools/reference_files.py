"""The reference of windlass.toml and of site files: each key with what it holds, its default and its meaning."""

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from datetime import timedelta
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from reference_comments import read_comments

from windlass.core import notices, run, site
from windlass.core.spending.amounts import Amount
from windlass.core.sweep import wish
from windlass.core.toml import run_file, site_file, user_file
from windlass.core.toml.reading import Leaf, Many, Named, Shape, Table
from windlass.core.units import format_duration

_WORDS = {
    Amount: 'hours, such as `"200 GPU-h"`',
    int: "whole number",
    float: "number",
    str: "text",
    bool: "true or false",
    timedelta: 'time, such as `"36h"`',
}


def make_run_file() -> str:
    sections = (
        ("[run]", run.RunSpec, run_file.RUN),
        ("[resources]", run.Resources, run_file.RESOURCES),
        ("[environment]", run.Environment, run_file.ENVIRONMENT),
        ("[data.NAME]", run.Data, run_file.DATA),
        ("[checkpoint]", run.Checkpoint, run_file.CHECKPOINT),
        ("[prefetch]", run.Prefetch, run_file.PREFETCH),
        ("[sweep]", wish.Sweep, run_file.SWEEP),
        ("[budget]", run.Budget, run_file.BUDGET),
        ("[farm]", run.Farm, run_file.FARM),
    )
    of_the_user = (
        make_section("[notices]", notices.Notices, user_file.NOTICES)
        + "\n\nOnly in `config.toml` of your settings folder: a project must not start programs on your laptop."
    )
    lead = (
        "Every key of `windlass.toml`, the file at the top of your project.",
        "Only `run.command` must be there; what is left out is chosen, and `windlass plan` says why.",
        "An unknown key is refused, with a suggestion.",
        "",
        "A value may come from several places; the later wins:",
        "the default, `config.toml` in your settings folder, `windlass.toml`, `[site.NAME.SECTION]` in either file for "
        "the site the run goes to, a variable `WINDLASS_SECTION_KEY`, a flag.",
        "`--set SECTION.KEY=VALUE` is a flag for any key.",
        "`windlass config --origin` shows each value and where it came from.",
        "",
        'Times are written `"90s"`, `"30m"`, `"36h"`, `"3d"` or `"1d12h"`; sizes `"500M"` or `"64G"`.',
    )
    parts = (*(make_section(*section) for section in sections), of_the_user)
    return "\n\n".join(("# The run file", "\n".join(lead), *parts))


def make_site_file() -> str:
    sections = (
        ("At the top", site.Site, site_file.SITE),
        ("[machine]", site.Machine, site_file.MACHINE),
        ("[login]", site.Login, site_file.LOGIN),
        ("[storage.NAME]", site.Area, site_file.AREA),
        ("[gpu.NAME]", site.GpuKind, site_file.GPU),
        ("[node.NAME]", site.NodeType, site_file.NODE),
        ("[partition.NAME]", site.Partition, site_file.PARTITION),
        ("[qos.NAME]", site.Qos, site_file.QOS),
        ("[accounting]", site.Accounting, site_file.ACCOUNTING),
        ("[rules]", site.Rules, site_file.RULES),
        ("[software]", site.Software, site_file.SOFTWARE),
        ("[network]", site.Network, site_file.NETWORK),
    )
    lead = (
        "Every key of a site file: what is known about one supercomputer, and nothing else.",
        "Yours lie in `~/.config/windlass/sites/NAME.toml`; `windlass site add` writes one and checks it.",
        "No key must be there: what a file does not say is asked at the site where Slurm knows it.",
        '`extends = "NAME"` takes over another site\'s facts.',
        "A file whose name begins with `_` is no site by itself: it holds what several share, and they extend it.",
        "`[sources]` says, key by key, where a fact is from; `[decisions]` which of two was taken, and why.",
    )
    return "\n\n".join(("# The site file", "\n".join(lead), *(make_section(*section) for section in sections)))


def make_section(title: str, kind: type[Any], keys: Mapping[str, Shape]) -> str:
    comments, hints = read_comments(kind), get_type_hints(kind)
    found: dict[str, Field[Any]] = {field.name: field for field in fields(kind)}
    rows = []
    for key, shape in keys.items():
        if isinstance(shape, Table) or (isinstance(shape, Named) and isinstance(shape.item, Table)):
            continue  # it has a section of its own
        name = shape.into or key
        holds = 'size, such as `"64G"`' if _is_memory(shape) else describe_type(hints[name], shape)
        rows.append(f"| `{key}` | {holds} | {format_default(found[name].default)} | {comments.get(name, '')} |")
    return "\n".join((f"## {title}", "", "| key | holds | default | meaning |", "| --- | --- | --- | --- |", *rows))


def describe_type(hint: Any, shape: Shape) -> str:
    if get_origin(hint) is UnionType:
        hint = next(one for one in get_args(hint) if one is not NoneType)
    if isinstance(shape, Named):
        return "table of texts"
    if isinstance(shape, Many):
        if issubclass(get_args(hint)[0], StrEnum):
            return f"list of {describe_type(get_args(hint)[0], shape.item)}"
        return f"list of {_WORDS[get_args(hint)[0]].split(',')[0]}s"
    if issubclass(hint, StrEnum):
        return ", ".join(f'`"{one}"`' for one in hint)
    return _WORDS[hint]


def format_default(value: object) -> str:
    match value:
        case None | ():
            return ""
        case bool():
            return f"`{str(value).lower()}`"
        case tuple():
            return "all"
        case timedelta():
            return f'`"{format_duration(value)}"`'
        case str():
            return f'`"{value}"`' if value else ""
        case _:
            return "" if value is MISSING else f"`{value}`"


def _is_memory(shape: Shape) -> bool:
    return isinstance(shape, Leaf) and shape.into is not None and shape.into.endswith("_mb")
