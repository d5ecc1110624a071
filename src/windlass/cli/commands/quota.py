"""`windlass quota`: storage areas, what is large in them, and what will be purged."""

from datetime import timedelta

import click

from windlass.cli.opening import open_session, read_site_name
from windlass.cli.output import Output
from windlass.core.units import Unreadable, read_duration
from windlass.errors import Interrupted, UsageError


@click.command("quota")
@click.option("--on", "site_name", metavar="SITE", help="Which site; default: run.site, else here.")
@click.option("--within", "within_text", metavar="TIME", help="Files of yours that will be purged within this time.")
@click.option("--biggest", is_flag=True, help="The largest folders.")
@click.option("--area", metavar="NAME", help="Walk only through this area.")
@click.option("--for", "limit_text", metavar="TIME", default="60s", show_default=True, help="How long to look.")
@click.option("-n", "count", type=click.IntRange(1, 100), default=15, show_default=True, help="How many lines of each.")
@click.pass_obj
def command(
    output: Output,
    /,
    site_name: str | None,
    within_text: str | None,
    biggest: bool,
    area: str | None,
    limit_text: str,
    count: int,
) -> None:
    """Show bytes and files of each storage area: used, limit and left.

    --within and --biggest walk through the areas, by work at the site that is bounded in time;
    given again, the command goes on where it stopped, and tells what it has not seen.

    \b
    Examples:
      windlass quota --on narval
      windlass quota --on narval --within 14d
      windlass quota --on narval --biggest --area scratch --for 5m
    """
    from windlass.app.storage.quota import Wanted, look_at_quotas, walk_storage
    from windlass.cli.quota_words import show_quotas

    within = _read_time("--within", within_text) if within_text else None
    limit = _read_time("--for", limit_text)
    with open_session(output) as session:
        name = read_site_name(site_name)
        if within is not None or biggest or area is not None:
            wanted = Wanted(
                within=within or timedelta(days=14),
                only_purged=not biggest and area is None,
                area=area,
                limit_s=limit.total_seconds(),
            )
            output.tell(f"walking through the areas of {name} …")
            try:
                walk_storage(session, name, wanted)
            except KeyboardInterrupt:
                done = f"the walk at {name} was stopped; the same command goes on with it"
                raise Interrupted("interrupted", done=done) from None
        found = look_at_quotas(session, name)
        now, file = session.clock(), session.folders.sites / f"{name}.toml"
    if output.as_json:
        output.show_json({"quota": found})
        return
    show_quotas(output, found, now, file=file, count=count, with_purged=within is not None, with_biggest=biggest)


def _read_time(option: str, text: str) -> timedelta:
    try:
        return read_duration(text)
    except Unreadable as problem:
        raise UsageError(f"{option} {text!r} {problem}") from problem
