"""`windlass sync`: what experiment trackers keep at the site, here, and from here to their servers."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from windlass.cli.opening import open_session
from windlass.cli.output import Output, make_printable
from windlass.core.trackers import TRACKERS
from windlass.core.units import format_bytes
from windlass.errors import ExitCode, Interrupted

if TYPE_CHECKING:
    from windlass.app.session import Session
    from windlass.app.syncing import Pushed, Synced


@click.command("sync")
@click.argument("runs", nargs=-1)
@click.option("-f", "--follow", is_flag=True, help="Again and again, until the runs end.")
@click.option("--push", "pushes", is_flag=True, help="Send the records on from here: wandb sync, comet upload …")
@click.option("--every", "every_s", type=click.FloatRange(min=1), default=30.0, show_default=True, metavar="SECONDS")
@click.option(
    "--to", type=click.Path(path_type=Path), metavar="FOLDER", help="Where to; default: windlass-results/RUN."
)
@click.pass_obj
def command(
    output: Output, /, runs: tuple[str, ...], follow: bool, pushes: bool, every_s: float, to: Path | None
) -> int:
    """Bring what W&B, Comet, MLflow, Neptune, ClearML and TensorBoard wrote in RUNS (default: the last) here.

    Jobs on nodes without internet write it to files; this works while they run. Only what is new is copied, and
    every file is verified. --push then calls the trackers' own programs, with your own keys.

    \b
    Examples:
      windlass sync                       the last run, once
      windlass sync RUN --follow --push   W&B shows the training as it goes on
    """
    from windlass.app.syncing import push

    told: dict[str, Synced] = {}
    sent: list[Pushed] = []
    with open_session(output) as session:
        try:
            for synced in _sync(session, runs or ("last",), follow=follow, every_s=every_s, to=to):
                _tell_synced(output, synced, is_first=synced.run_id not in told)
                told[synced.run_id] = synced
                if pushes:
                    sent = [*sent, *_push(output, push(session, synced))]
        except KeyboardInterrupt:
            raise Interrupted("stopped following", done="the runs go on; what came is here and verified") from None
    for synced in told.values():
        _show(output, synced, is_pushed=pushes)
    if output.as_json:
        output.show_json({"synced": list(told.values()), "pushed": sent})
    return int(ExitCode.FAILED if any(one.problem for one in sent) else ExitCode.OK)


def _sync(
    session: "Session", names: tuple[str, ...], *, follow: bool, every_s: float, to: Path | None
) -> "Iterator[Synced]":
    from windlass.app.refreshing import refresh
    from windlass.app.syncing import follow_sync, sync_run

    records = [session.store.load(name) for name in names]
    if follow:
        yield from follow_sync(session, records, every_s=every_s, to=to)
        return
    for record in refresh(session, records).records:
        yield sync_run(session, record, to=to)


def _tell_synced(output: Output, synced: "Synced", *, is_first: bool) -> None:
    if synced.new_files or is_first:
        size = format_bytes(synced.new_bytes)
        output.tell(f"{synced.run_id}: {len(synced.records)} records, {synced.new_files} new files ({size})")
    for name in synced.busy:
        output.tell(f"being written, comes with the next sync: {make_printable(name)}")


def _push(output: Output, done: "Iterator[Pushed]") -> "list[Pushed]":
    found = [one for one in done if not one.is_known]
    for one in found:
        output.tell(f"sent: {one.command}" if one.is_sent else f"not sent: {one.command} {one.problem}")
        for line in one.said if one.problem else ():
            output.tell(f"      | {make_printable(line)}")
    return found


def _show(output: Output, synced: "Synced", *, is_pushed: bool) -> None:
    """Paths on stdout; what to do with them beside it."""
    if output.as_json:
        return
    if not synced.records:
        output.tell(f"{synced.run_id} has no records of a tracker in its working folder yet")
    for record in synced.records:
        tracker = TRACKERS[record.tracker]
        output.show(str(record.path))
        if tracker.push and not is_pushed:
            output.tell(f"{tracker.title}: {tracker.format_push(str(record.path))}   # or windlass sync --push")
    for name in dict.fromkeys(one.tracker for one in synced.records if TRACKERS[one.tracker].look):
        tracker = TRACKERS[name]
        place = synced.folder if not tracker.unit else next(one.path for one in synced.records if one.tracker == name)
        output.tell(f"{tracker.title}: {tracker.format_look(str(place))}")
