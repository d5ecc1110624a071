"""`windlass fetch`: bring a run's results home."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from windlass.cli.data_words import format_count
from windlass.cli.opening import open_session
from windlass.cli.output import Output, make_printable
from windlass.cli.progress import Progress
from windlass.core.units import format_bytes

if TYPE_CHECKING:
    from windlass.app.fetching import Fetched


def _explain_nothing(run: str, fetched: "Fetched") -> str:
    what = "no result matched, only logs and plan came"
    if fetched.proposal is None:
        return f"{what}: --only PATTERN names them, and for the next run run.results"
    only = make_printable(fetched.proposal)
    return f"{what}: windlass fetch {run} --only '{only}', and for the next run name them in run.results"


@click.command("fetch")
@click.argument("run", default="last")
@click.option(
    "--to", type=click.Path(path_type=Path), metavar="FOLDER", help="Where to; default: windlass-results/RUN."
)
@click.option(
    "--only",
    multiple=True,
    metavar="PATTERN",
    help="Only files like this; default: run.results, and of a farm without them what its tasks wrote.",
)
@click.pass_obj
def command(output: Output, /, run: str, to: Path | None, only: tuple[str, ...]) -> None:
    """Copy RUN's results here; its logs and plan go into .windlass beside them.

    Only what is new is copied, every file is verified, and an interrupted fetch goes on where it stopped.
    """
    from windlass.app.fetching import fetch_run

    with open_session(output) as session, Progress(output, "fetching") as progress:
        fetched = fetch_run(session, session.store.load(run), to=to, patterns=only, progress=progress.update)
    if output.as_json:
        output.show_json({"fetched": fetched})
        return
    output.show(str(fetched.folder))
    if not fetched.results:
        output.tell(_explain_nothing(run, fetched))
    for name in fetched.left_out:
        output.tell(f"left out: {make_printable(name)} is a link that leads out of the run")
    output.tell(f"{format_count(fetched.files, 'file')}, {fetched.new_files} new ({format_bytes(fetched.new_bytes)})")
