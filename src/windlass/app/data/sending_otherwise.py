"""`data send` by ways of others, Globus and rsync: they carry files as they are, and the site packs them afterwards."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from windlass.app.data.send_commands import make_pack_command, make_pack_there_command
from windlass.app.data.sending_jobs import goes_as_it_is, make_unpackable, refuse_wishes
from windlass.app.data.targets import suggest
from windlass.core.shell import quote, quote_path
from windlass.core.site import Site
from windlass.errors import UsageError
from windlass_job import wire
from windlass_job.shards.sources import choose_source, guess_kind

if TYPE_CHECKING:
    from windlass.app.data.sending import SendOptions

_PLAIN = "plain"  # plain files do not lie among the packed data sets


@dataclass(frozen=True, kw_only=True)
class Carrying:
    path: str  # a folder at the site: what is in a folder here comes into it, or the file itself under its own name
    then: str  # the command that makes a data set of it, or looks whether one came whole


def plan_carrying(site: Site, source: Path, name: str, options: "SendOptions", way: str) -> Carrying:
    if not source.exists():
        raise UsageError(f"there is no {source}", done="nothing was sent")
    if goes_as_it_is(source):
        refuse_wishes(source, options)
        return _carry_set(site, name, options)
    obstacle = find_obstacle(source, options)
    if obstacle is not None:
        packed = suggest(Path(name))
        raise UsageError(
            f"{obstacle}, and --with {way} carries {source} as it is",
            hint=f"{make_pack_command(str(source), str(packed), options)}\n"
            f"then: windlass data send {quote_path(packed)} --name {name} --on {site.name} --with {way}",
            done="nothing was sent",
        )
    path = options.to or f"{site.root}/{_PLAIN}/{name}"
    what = path if source.is_dir() else f"{path}/{source.name}"
    return Carrying(path=path, then=make_pack_there_command(site, what, name, options))


def find_obstacle(source: Path, options: "SendOptions") -> str | None:
    """Why the site could not pack it as it would be packed here."""
    if goes_as_it_is(source):
        return None
    asked = {"--labels": options.labels, "--follow-links": options.follow_links, "--outside": options.outside}
    given = [option for option, value in asked.items() if value]
    if given:
        return f"{', '.join(given)} is about files as they lie here"
    kind = _find_kind(source, options)
    return f"a {kind} only names files, which lie elsewhere" if kind in ("list", "table") else None


def _find_kind(source: Path, options: "SendOptions") -> str:
    path = os.fsencode(source)
    try:
        kind = guess_kind(path) if options.kind == "auto" else options.kind
        if kind == "folder":
            choose_source(path, kind)  # raises where the site could not pack it either
    except (ValueError, OSError) as problem:
        raise make_unpackable(source, problem) from problem
    return kind


def _carry_set(site: Site, name: str, options: "SendOptions") -> Carrying:
    verify = f"windlass data verify {name} --on {site.name}"
    if options.to is None:
        return Carrying(path=f"{site.root}/{wire.DATA}/{name}", then=verify)
    register = f"windlass data register {name} {quote(options.to)} --on {site.name}"
    return Carrying(path=options.to, then=f"{register} && {verify}")
