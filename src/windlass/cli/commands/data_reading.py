"""`windlass data`: verify, extract, sample and convert."""

from collections.abc import Sequence
from pathlib import Path

import click

from windlass.cli.opening import open_session, read_site_name
from windlass.cli.output import Output, make_printable
from windlass.cli.progress import Progress
from windlass.core.shell import quote, quote_path
from windlass.errors import DataDamaged, DataFailed, ExitCode
from windlass_job.wire import is_data_name

_ON = click.option(
    "--on",
    "site_name",
    metavar="SITE",
    help="At this site; default: here if it is a PATH, at run.site if it is a NAME.",
)
_MOST_SHOWN = 50
_FORCE = click.option("--force", is_flag=True, help="Write over files that are there.")


@click.command("verify")
@click.argument("what", metavar="NAME|PATH")
@_ON
@click.pass_obj
def verify(output: Output, /, what: str, site_name: str | None) -> int:
    """Read every byte and name each damaged file.

    Exit code 1 when something is damaged.
    At a site the reading is done there: on its transfer node, or on the login node with low priority.

    \b
    Examples:
      windlass data verify packed/imagenet
      windlass data verify imagenet --on narval
    """
    from windlass.app.data.info import is_here
    from windlass.app.data.taking import find_packed, verify_here, verify_there
    from windlass.cli.data_words import format_count, format_damage
    from windlass.core.units import format_bytes

    with open_session(output) as session, Progress(output, "verifying") as progress:
        if site_name is None and is_here(what):
            mending = _mend_here(what)
            found = verify_here(Path(what).expanduser(), progress.update)
        else:
            site = session.site(read_site_name(site_name))
            mending = _mend_there(what, site.name)
            found = verify_there(session, site, find_packed(session, site, what), progress.update)
    if output.as_json:
        output.show_json({"verified": found})
        return int(ExitCode.FAILED if found.count else ExitCode.OK)
    if found.count:
        raise DataDamaged(
            f"{what} is damaged: {format_count(found.count, 'part')} not as packed",
            details=[format_damage(one) for one in found.damages[:_MOST_SHOWN]],
            hint=mending,
            done=f"all of {found.path} was read; nothing was changed",
        )
    output.tell(f"{what} is whole: {format_count(found.files, 'file')}, {format_bytes(found.bytes)}")
    return int(ExitCode.OK)


def _mend_here(path: str) -> str:
    return f"windlass data pack SOURCE {quote_path(path)} --anew"


def _mend_there(what: str, site: str) -> str:
    place = f"--name {what}" if is_data_name(what) else f"--to {quote(what)}"
    return f"windlass data send SOURCE {place} --on {site} --anew"


@click.command("extract")
@click.argument("what", metavar="NAME|PATH")
@click.argument("target")
@click.option("--only", multiple=True, metavar="PATTERN", help="Only files like this, such as 'train/cat/**'.")
@_ON
@_FORCE
@click.pass_obj
def extract(
    output: Output, /, what: str, target: str, only: tuple[str, ...], site_name: str | None, force: bool
) -> int:
    """Unpack a data set, or some of its files.

    Exit code 1 when not all of them are there as they were packed.
    With --on both the data set and the folder are at the site.

    \b
    Examples:
      windlass data extract packed/imagenet plain/ --only 'val/**'
      windlass data extract imagenet '$SCRATCH/plain' --on narval
    """
    from windlass.app.data.info import is_here
    from windlass.app.data.taking import extract_here, extract_there, find_packed
    from windlass.cli.data_words import format_count
    from windlass.core.units import format_bytes

    with open_session(output) as session, Progress(output, "extracting") as progress:
        if site_name is None and is_here(what):
            mending = _mend_here(what)
            place = Path(what).expanduser()
            done = extract_here(place, Path(target).expanduser(), only, force=force, progress=progress.update)
        else:
            site = session.site(read_site_name(site_name))
            mending = _mend_there(what, site.name)
            path = find_packed(session, site, what)
            done = extract_there(session, site, path, target, only, force=force, progress=progress.update)
    if output.as_json:
        output.show_json({"extracted": done})
        return int(ExitCode.FAILED if done.damaged or done.told else ExitCode.OK)
    output.show(done.path)
    kept = f"; {format_count(done.kept, 'file')} there already" if done.kept else ""
    output.tell(f"{format_count(done.files, 'file')}, {format_bytes(done.bytes)}{kept}")
    if done.damaged:
        raise DataDamaged(
            f"{format_count(len(done.damaged), 'file')} of {what} not extracted, because they are damaged",
            details=done.damaged[:_MOST_SHOWN],
            hint=mending,
            done="all others are there",
        )
    if done.told:
        raise DataFailed(
            f"not all files of {what} are in {done.path} as they were packed",
            details=[make_printable(line) for line in done.told],
            hint=_tell_way_on(done.told),
            done="all others are there",
        )
    return int(ExitCode.OK)


def _tell_way_on(told: Sequence[str]) -> str:
    from windlass_job.shards.told import TOO_LONG, is_about

    if all(is_about(line, TOO_LONG) for line in told):
        return "read those files packed, as windlass_job.data does: no folder there can hold such names"
    return "name an empty folder, or add --force to write over what is there"


@click.command("sample")
@click.argument("what", metavar="NAME|PATH")
@click.argument("target", type=click.Path(path_type=Path))
@click.option("-n", "--per-class", default=5, show_default=True, type=click.IntRange(1), help="Files of each class.")
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same files.")
@click.option("--packed", is_flag=True, help="A small data set instead of plain files.")
@_ON
@click.pass_obj
def sample(
    output: Output, /, what: str, target: Path, per_class: int, seed: int, packed: bool, site_name: str | None
) -> None:
    """Take some files of each class, to look at or to try out.

    From a site they are brought here.

    \b
    Examples:
      windlass data sample packed/imagenet few/
      windlass data sample imagenet few/ -n 2 --seed 7 --packed --on narval
    """
    from windlass.app.data.info import is_here
    from windlass.app.data.sampling import fetch_sample
    from windlass.app.data.taking import Sampling, sample_here
    from windlass.cli.data_words import format_count
    from windlass.core.units import format_bytes

    sampling = Sampling(per_class=per_class, seed=seed, packed=packed)
    with open_session(output) as session, Progress(output, "sampling") as progress:
        if site_name is None and is_here(what):
            done = sample_here(Path(what).expanduser(), target, sampling, progress.update)
        else:
            site = session.site(read_site_name(site_name))
            done = fetch_sample(session, site, what, target, sampling, progress.update)
    if output.as_json:
        output.show_json({"sample": done})
        return
    output.show(done.path)
    output.tell(f"{format_count(done.files, 'file')}, {format_bytes(done.bytes)}")


@click.command("convert")
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--to", "form", default="windlass", show_default=True, metavar="FORMAT", help="What to make.")
@click.option("--from", "source_form", metavar="FORMAT", help="What SOURCE is; default: seen from it.")
@click.option("--name", help="Of the data set, in its card.")
@click.option("--shard-size", metavar="SIZE", help="Such as 512M, where the format has shards.")
@click.option("--replace", is_flag=True, help="Where TARGET is there already.")
@click.pass_obj
def convert(
    output: Output,
    /,
    source: Path,
    target: Path,
    form: str,
    source_form: str | None,
    name: str | None,
    shard_size: str | None,
    replace: bool,
) -> None:
    """Turn a data set into another format, or back.

    \b
    Formats: windlass (packed here), tfrecord (with DALI's layout and index files), hdf5, lmdb,
             webdataset, zip, squashfs, mds

    \b
    Examples:
      windlass data convert packed/imagenet records/ --to tfrecord
      windlass data convert old.h5 packed/old --from hdf5
    """
    from windlass.app.data.converting import ConvertOptions
    from windlass.app.data.converting import convert as convert_set
    from windlass.cli.data_words import format_count, read_size_bytes
    from windlass.core.units import format_bytes

    options = ConvertOptions(name=name, shard_bytes=read_size_bytes(shard_size) or None, replace=replace)
    with Progress(output, "converting") as progress:
        done = convert_set(
            source,
            target,
            to=form,
            source_format=source_form,
            options=options,
            progress=lambda files, size, all_files, all_bytes: progress.update(size, all_bytes or 0),
        )
    if output.as_json:
        output.show_json({"converted": done})
        return
    output.show(str(done.path))
    for line in done.notices:
        output.tell(line)
    output.tell(f"{format_count(done.files, 'file')}, {format_bytes(done.bytes)} as {done.format}")


COMMANDS = (verify, extract, sample, convert)
