"""`windlass data`: pack, send, get, and the sendings that go on in the background."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from windlass.cli.commands.data_options import packing_options, read_packing
from windlass.cli.commands.data_sends import globus_login, send_otherwise, sends
from windlass.cli.opening import open_session, read_site_name
from windlass.cli.output import Output
from windlass.cli.progress import Progress
from windlass.core.shell import quote_path
from windlass.core.toml.writing import format_key
from windlass.errors import ExitCode, Interrupted, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from windlass.app.data.packing import PackedSet, PackOptions
    from windlass.app.data.sending_estimate import Estimate

_ON = click.option("--on", "site_name", metavar="SITE", help="Which site; default: run.site, else here.")


@click.command("pack")
@click.argument("source")
@click.argument("target", required=False)
@click.option("--name", help="Of the data set; default: the target's, with --on the source's.")
@packing_options
@click.option("--verify", is_flag=True, help="Read what is there too, and pack again what is damaged.")
@click.option("--anew", is_flag=True, help="All of it again, in place of what is there.")
@click.option("--dry-run", is_flag=True, help="Only count, and say what the quota would say.")
@click.option("--on", "site_name", metavar="SITE", help="SOURCE lies at this site, and is packed there.")
@click.option("--as-job", is_flag=True, help="With --on: in a job, for what is too much for a login node.")
@click.option("--time", "time_limit", default="4h", show_default=True, help="With --as-job: how long it may take.")
@click.pass_obj
def pack(
    output: Output,
    /,
    source: str,
    target: str | None,
    site_name: str | None,
    dry_run: bool,
    as_job: bool,
    time_limit: str,
    **values: str | int | bool | None,
) -> int:
    """Pack SOURCE into a data set: few large files with an index.

    Classes come from the folders, or from the column `label` of a table.
    SOURCE is a folder, a list of paths, a table (CSV) of paths and labels, a tar or a zip.
    Packed again, only what changed is added, by name, size and time; --verify also reads what is there.
    Interrupted, the same command goes on.

    \b
    Examples:
      windlass data pack ~/imagenet packed/imagenet --nodes 4
      windlass data pack labels.csv packed/birds --licence CC-BY-4.0
      windlass data pack ~/photos packed/photos --labels ~/labels.csv
      windlass data pack ~/imagenet --dry-run
      windlass data pack '$SCRATCH/raw' --name raw --on narval
    """
    from windlass.app.data.packing import pack_here, try_packing
    from windlass.app.data.room import find_room
    from windlass.cli.data_words import judge_told, show_packed, show_trial

    options = _make_options(values)
    if site_name is not None and target is not None:
        raise UsageError(
            "at a site it is packed into the site's own data folder", hint=f"--name {_name_from(target)} instead"
        )
    if site_name is not None and dry_run:
        _try_at_site(output, source, site_name, options)
        return int(ExitCode.OK)
    if site_name is not None:
        return _pack_at_site(output, source, site_name, options, time_limit if as_job else None)
    place = Path(source).expanduser()
    if dry_run:
        trial = try_packing(place, options)
        if output.as_json:
            output.show_json({"trial": trial})
            return int(ExitCode.OK)
        with open_session(output) as session:
            site = session.site(read_site_name(None))
            show_trial(output, trial, find_room(session, site), site.name)
        return int(ExitCode.OK)
    into = Path(target).expanduser() if target else Path.cwd() / f"{_name_from(source)}-packed"
    with Progress(output, "packing") as progress:
        packed = pack_here(place, into, options, progress.update)
    if output.as_json:
        output.show_json({"packed": packed})
        return judge_told(output, packed.told, source, packed.path)
    show_packed(output, packed)
    code = judge_told(output, packed.told, source, packed.path)
    output.tell(f"next: windlass data send {quote_path(into)} --name {options.name or into.name} --on SITE")
    return code


def _try_at_site(output: Output, source: str, site_name: str, options: "PackOptions") -> None:
    """What lies at a site is counted there, also where this machine has the same path."""
    from windlass.app.data.packing import try_packing_there
    from windlass.app.data.room import find_room
    from windlass.cli.data_words import show_trial

    with open_session(output) as session, Progress(output, "counting") as progress:
        site = session.site(site_name)
        trial = try_packing_there(session, site, source, options, progress.update)
        room = find_room(session, site)
    if output.as_json:
        output.show_json({"trial": trial})
        return
    show_trial(output, trial, room, site.name)


def _pack_at_site(output: Output, source: str, site_name: str, options: "PackOptions", time_limit: str | None) -> int:
    from windlass.app.data.packing import pack_as_job, pack_there
    from windlass.app.data.sending import check_name
    from windlass.cli.data_words import judge_told, show_packed

    name = options.name or _name_from(source)
    check_name(name)
    with open_session(output) as session, Progress(output, "packing") as progress:
        site = session.site(site_name)
        if time_limit is not None:
            record = pack_as_job(session, site, source, name, options, time_limit=time_limit)
            output.show_json({"run": record}) if output.as_json else output.show(record.run_id)
            output.tell(f"it is packed in job {record.job_id}; windlass logs -f {record.run_id} follows it")
            return int(ExitCode.OK)
        packed: PackedSet = pack_there(session, site, source, name, options, progress.update)
    if output.as_json:
        output.show_json({"packed": packed})
        return judge_told(output, packed.told, source, packed.path)
    show_packed(output, packed)
    code = judge_told(output, packed.told, source, packed.path)
    output.tell(f"in windlass.toml: [{format_key(('data', name))}]")
    return code


def _make_options(values: dict[str, str | int | bool | None]) -> "PackOptions":
    from windlass.app.data.packing import PackOptions

    return PackOptions(
        name=str(values["name"]) if values["name"] else None,
        verify=bool(values["verify"]),
        anew=bool(values["anew"]),
        **read_packing(values),
    )


def _name_from(path: str) -> str:
    """photos.tar.gz -> photos"""
    name = path.rstrip("/").rpartition("/")[2]
    for suffix in (".gz", ".bz2", ".xz", ".tar", ".tgz", ".zip", ".csv", ".tsv", ".txt", ".jsonl"):
        name = name.removesuffix(suffix)
    return name.strip(".$") or "data"


@click.command("send")
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--name", help="Of the data set at the site; default: the source's.")
@_ON
@click.option("--to", metavar="PATH", help="A folder at the site; default: the site's own data folder.")
@click.option("--streams", type=click.IntRange(1, 32), help="Connections at once; default: by the way's delay.")
@packing_options
@click.option("--anew", is_flag=True, help="All of it again, in place of what is there.")
@click.option("--replace", is_flag=True, help="Where most of a data set that came from another source would go.")
@click.option("--background", is_flag=True, help="Go on without this terminal; `windlass data sends` tells.")
@click.option("--with", "way", type=click.Choice(["globus", "rsync"]), help="Another way than our own.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask when it takes long.")
@click.pass_obj
def send(
    output: Output,
    /,
    source: Path,
    name: str | None,
    site_name: str | None,
    background: bool,
    way: str | None,
    yes: bool,
    **values: str | int | bool | None,
) -> int:
    """Pack SOURCE on its way to a site, over its transfer node.

    Sent again, only what changed travels.
    What arrived whole stays: after a cut the same command goes on.

    \b
    Examples:
      windlass data send ~/imagenet --on narval
      windlass data send labels.csv --name birds --on narval
      windlass data send ~/photos --labels ~/labels.csv --licence CC-BY-4.0 --on narval
      windlass data send packed/imagenet --on narval --background
    """
    from windlass.app.data.sending import SendOptions, check_name
    from windlass.app.data.sending import send as send_set
    from windlass.cli.data_words import judge_told, show_sent

    name = name or _name_from(str(source.expanduser().absolute()))
    check_name(name)
    options = SendOptions(
        to=str(values["to"]) if values["to"] else None,
        streams=int(values["streams"]) if values["streams"] else None,
        anew=bool(values["anew"]),
        replace=bool(values["replace"]),
        **read_packing(values),
    )
    with open_session(output) as session, Progress(output, "sending") as progress:
        site = session.site(read_site_name(site_name))
        if background or way:
            send_otherwise(output, session, site, source.expanduser(), name, options, way)
            return int(ExitCode.OK)
        decide = _make_decision(output, yes=yes)
        sent = send_set(
            session, site, source.expanduser(), name, options=options, progress=progress.update, decide=decide
        )
    if output.as_json:
        output.show_json({"sent": sent})
        return judge_told(output, sent.told, str(source), sent.path)
    show_sent(output, sent)
    return judge_told(output, sent.told, str(source), sent.path)


def _make_decision(output: Output, *, yes: bool) -> "Callable[[Estimate], None]":
    """Tells how long it takes; asks, where it is long and somebody is there."""

    def decide(estimate: "Estimate") -> None:
        output.tell(estimate.sentence)
        if not estimate.is_long:
            return
        for offer in estimate.offers:
            output.tell(f"  {offer.sentence}:\n      {offer.command}")
        is_asked = not yes and output.is_terminal and sys.stdin.isatty()
        if is_asked and not click.confirm("Send it here and now?", default=True, err=True):
            raise Interrupted("you said no", done="nothing was sent")

    return decide


def _name_copy(path: str) -> str:
    """The name it has there, with its ending."""
    name = path.rstrip("/").rpartition("/")[2].lstrip("$~")
    return name if name not in ("", ".", "..") else "data"


@click.command("get")
@click.argument("what", metavar="NAME|PATH")
@click.argument("target", type=click.Path(path_type=Path), required=False)
@_ON
@click.option("--extract", is_flag=True, help="As plain files.")
@click.option(
    "--force", is_flag=True, help="Over files of the same name; with --extract also among files that are there."
)
@click.option("--streams", type=click.IntRange(1, 32), help="Connections at once.")
@click.pass_obj
def get(
    output: Output,
    /,
    what: str,
    target: Path | None,
    site_name: str | None,
    extract: bool,
    force: bool,
    streams: int | None,
) -> None:
    """Bring a data set, a folder or a file of the site here.

    Only what is not here yet travels.
    A data set comes into a folder that is new, empty, or holds it already.
    Plain files are not written over others of the same name.

    \b
    Examples:
      windlass data get imagenet --on narval
      windlass data get imagenet plain/ --extract --on narval
      windlass data get '$SCRATCH/results' results/ --on narval
    """
    from windlass.app.data.getting import get as get_set
    from windlass.cli.data_words import show_got

    into = target or Path(_name_copy(what))
    with open_session(output) as session, Progress(output, "fetching") as progress:
        site = session.site(read_site_name(site_name))
        got = get_set(
            session, site, what, into, extract=extract, force=force, streams=streams, progress=progress.update
        )
    if output.as_json:
        output.show_json({"got": got})
        return
    show_got(output, got)


COMMANDS = (pack, send, get, sends, globus_login)
