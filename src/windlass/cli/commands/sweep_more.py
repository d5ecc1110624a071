"""`windlass sweep show` and `windlass sweep resume`."""

from pathlib import Path

import click

from windlass.cli.opening import open_session
from windlass.cli.output import Output
from windlass.errors import ExitCode


@click.command("show")
@click.argument("sweep", default="last")
@click.option("--all", "is_all", is_flag=True, help="Every trial, not only the best.")
@click.option("--csv", "as_csv", is_flag=True, help="Every trial as CSV.")
@click.option(
    "--picture", type=click.Path(dir_okay=False, path_type=Path), help="Parallel coordinates: FILE.svg or .png."
)
@click.option(
    "--history", type=click.Path(dir_okay=False, path_type=Path), help="The best over time: FILE.svg or .png."
)
@click.pass_obj
def show(output: Output, /, sweep: str, is_all: bool, as_csv: bool, picture: Path | None, history: Path | None) -> None:
    """The trials of SWEEP, the best first, with its command, what mattered and what failed.

    \b
    Examples:
      windlass sweep show
      windlass sweep show digits-k3f9w
      windlass sweep show digits-k3f9w --csv > trials.csv
      windlass sweep show digits-k3f9w --picture trials.svg --history best.svg
    """
    from windlass.app.sweeps.looking import find_sweep, look_at_sweep
    from windlass.cli.sweep_following import show_sweep
    from windlass.core.sweep.pictures import draw_history, draw_trials
    from windlass.core.sweep.tables import format_csv
    from windlass.edges.picture_files import save_picture

    with open_session(output) as session:
        seen = look_at_sweep(session, find_sweep(session, sweep))
    for path, draw in ((picture, draw_trials), (history, draw_history)):
        if path is not None:
            save_picture(path, draw(seen))
            output.tell(f"{path} is written")
    if as_csv:
        output.show(format_csv(seen))
    else:
        show_sweep(output, seen, is_all=is_all)


@click.command("resume")
@click.argument("sweep")
@click.argument("values", nargs=-1, metavar="[NAME=VALUES]...")
@click.option("--trials", type=click.IntRange(min=1), metavar="N", help="So many more.")
@click.option("--table", metavar="FILE", help="Of a sweep by table: rows that are not tried yet are added.")
@click.option("-d", "--detach", is_flag=True, help="Do not follow; print the sweep's name and return.")
@click.pass_obj
def resume(
    output: Output, /, sweep: str, values: tuple[str, ...], trials: int | None, table: str | None, detach: bool
) -> int:
    """Go on with SWEEP: after Ctrl-C or a crash, with more trials, or with other values.

    What was tried is not tried again.

    \b
    Examples:
      windlass sweep resume digits-k3f9w
      windlass sweep resume digits-k3f9w --trials 50
      windlass sweep resume digits-k3f9w --trials 20 lr=log:1e-4..1e-2
    """
    from windlass.app.sweeps.looking import find_sweep
    from windlass.app.sweeps.resuming import More, resuming
    from windlass.cli.sweep_following import show_to_the_end
    from windlass.cli.sweep_words import format_unwatched
    from windlass.core.sweep.space import read_dimensions
    from windlass.core.sweep.wish import make_space

    more = More(trials=trials, space=make_space(read_dimensions(values)), table=table)
    with open_session(output) as session:
        record = find_sweep(session, sweep)
        with resuming(session, record, more, stays=not detach) as resumed:
            told = f"{resumed.added} trials added" if resumed.added else "nothing to add"
            output.tell(told if not resumed.sweep.learns else f"up to {resumed.sweep.trials} trials")
            for pilot in resumed.pilots:
                output.tell(f"{'submitted':<10} run {pilot.run_id}, job {pilot.job_id} at {pilot.site}")
            if detach and resumed.sweep.prune is not None:
                output.tell(format_unwatched(record.run_id))
            code = show_to_the_end(output, session, record, detach=detach, is_held=resumed.sweep.learns)
    return code or int(ExitCode.OK)
