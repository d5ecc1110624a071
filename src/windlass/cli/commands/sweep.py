"""`windlass sweep`: many trials of one command, with other values each; `show` and `resume` are beside it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from windlass.cli.farm_options import need_options, take_needs
from windlass.cli.groups import InOrder
from windlass.cli.opening import open_session, read_wanted
from windlass.cli.options import choose_options, on_option, take_flags
from windlass.cli.output import Output
from windlass.core.sweep.wish import Goal, Method, Pruner, Sampler
from windlass.errors import UsageError

if TYPE_CHECKING:
    from windlass.app.planning import Wanted
    from windlass.app.session import Session
    from windlass.app.sweeps.starting import PlannedSweep
    from windlass.core.record import RunRecord
    from windlass.core.sweep.wish import Sweep

_OF_A_SWEEP = ("method", "trials", "seed", "metric", "goal", "pattern", "sampler", "prune", "parallel", "table")


class DefaultGroup(InOrder):
    """What is no name of a verb is the command to try: `windlass sweep "python train.py --lr {lr}" lr=1,2`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in (*self.commands, "-h", "--help"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group("sweep", cls=DefaultGroup)
def command() -> None:
    """Try many values of a command in a few jobs, and find the best.

    How many, by which method, when hopeless ones are stopped, and all else: windlass sweep run --help.

    \b
    Examples:
      windlass sweep "python train.py --lr {lr}" lr=log:1e-5..1e-1/5 depth=2,4,8
      windlass sweep "python train.py --lr {lr}" lr=log:1e-5..1e-1 --trials 40 --method optuna
      windlass sweep show digits-k3f9w
      windlass sweep resume digits-k3f9w --trials 20
    """


def _choices(kind: Any) -> click.Choice[str]:
    return click.Choice([one.value for one in kind])


@command.command("run")
@click.argument("words", nargs=-1, metavar="[COMMAND] [NAME=VALUES]...")
@on_option
@click.option("--method", type=_choices(Method), help="How trials are chosen; default: by what is given.")
@click.option("--trials", type=int, metavar="N", help="How many, of random and optuna.")
@click.option("--seed", type=int, metavar="N", help="The same seed draws the same values.")
@click.option("--table", metavar="FILE", help="A row for each trial: CSV, or JSON lines.")
@click.option("--metric", metavar="NAME", help="The number that counts; default: loss.")
@click.option("--goal", type=_choices(Goal), help="Whether small or large is good; default: min.")
@click.option("--pattern", metavar="REGEX", help="Finds the number in what a trial prints; default: run.log tells it.")
@click.option("--sampler", type=_choices(Sampler), help="Of Optuna; default: tpe.")
@click.option("--prune", type=_choices(Pruner), help="Stop hopeless trials; hyperband: of Optuna.")
@click.option("--parallel", type=int, metavar="N", help="Of Optuna: trials at once; default: 8.")
@click.option("--study", metavar="FILE", type=click.Path(dir_okay=False), help="Of Optuna: keep its journal here.")
@need_options
@choose_options("--name", "--account", "--partition", "--qos", "--gpu")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Any setting, such as checkpoint.notice=60s.")
@click.option("--plan", "only_plan", is_flag=True, help="Show trials, pilots, their size and why. Nothing is sent.")
@click.option("-d", "--detach", is_flag=True, help="Do not follow; print the sweep's name and return.")
@click.option("--force", is_flag=True, help="Submit although a check found errors.")
@click.pass_obj
def run(
    output: Output,
    /,
    words: tuple[str, ...],
    site_name: str | None,
    only_plan: bool,
    detach: bool,
    force: bool,
    **values: Any,
) -> int:
    """Start a sweep, and follow it. Ctrl-C leaves its jobs alone and says so.

    Without a command: run.command, or [sweep] of windlass.toml. {lr} in it is the trial's value of lr, {trial} its
    number. A trial takes what [resources] says of the training, where [farm] and flags say nothing.

    \b
    Values:
      depth=2,4,8          these
      x=0..1               any number between them
      lr=log:1e-5..1e-1    the same, by powers of ten
      n=int:1..100         whole numbers
      lr=log:1e-5..1e-1/5  of a grid: five of them
    """
    from windlass.app.sweeps.starting import plan_sweep, send_sweep
    from windlass.cli.starting import plan_with_environment
    from windlass.cli.sweep_following import show_to_the_end
    from windlass.cli.sweep_wish import choose_needs, make_sweep, split_words
    from windlass.core.toml.layers import Flag
    from windlass.edges.settings import load_run_spec

    own = {name: values.pop(name) for name in _OF_A_SWEEP}
    study = values.pop("study")
    line = split_words(words)[0]
    of_the_line = (Flag(key="run.command", value=line, option="windlass sweep"),) if line else ()
    wanted = read_wanted(site_name, (*take_needs(values), *take_flags(values), *of_the_line))
    with open_session(output) as session:
        _refuse_nothing(words, wanted)
        spec, origins = load_run_spec(wanted.project, wanted.site, session.environ, wanted.flags)
        sweep = make_sweep(spec, words, own)
        if detach and sweep.learns and not only_plan:
            raise UsageError(
                "Optuna chooses each trial by those before it, so this program must stay",
                hint="without -d; after Ctrl-C `windlass sweep resume` goes on",
            )
        planned = plan_sweep(
            session,
            wanted,
            sweep,
            needs=choose_needs(spec, origins),
            plan=lambda used, wish: plan_with_environment(output, used, wish, force=force),
        )
        if only_plan:
            return _show_plan(output, session, planned)
        record = send_sweep(session, planned, study_file=Path(study) if study else None, force=force)
        _tell_start(output, record, planned.card.sweep, detach=detach)
        return show_to_the_end(output, session, record, detach=detach)


def _refuse_nothing(words: tuple[str, ...], wanted: "Wanted") -> None:
    """A windlass.toml would say what to try as well."""
    from windlass.edges.settings import RUN_FILE

    if not words and not wanted.flags and not (wanted.project / RUN_FILE).exists():
        raise UsageError(
            "there is nothing to try: no command with values, and no windlass.toml with [sweep]",
            hint='windlass sweep "python train.py --lr {lr}" lr=0.1,0.01',
        )


def _show_plan(output: Output, session: "Session", planned: "PlannedSweep") -> int:
    from windlass.cli.farm_plan import show_farm_plan
    from windlass.core.farm.rows import read_row
    from windlass.core.sweep.card import make_rows

    sweep = planned.card.sweep
    rows = make_rows(sweep, 0, planned.trials[:1])
    count = sweep.trials or 1 if sweep.learns else len(planned.trials)
    return show_farm_plan(output, session, planned.farm, count=count, first=read_row(rows[0]).command if rows else None)


def _tell_start(output: Output, record: "RunRecord", sweep: "Sweep", *, detach: bool) -> None:
    from windlass.cli.sweep_words import format_unwatched

    output.tell(f"{'submitted':<10} sweep {record.run_id}, job {record.job_id} at {record.site}")
    if sweep.seed is not None:
        output.tell(f"{'seed':<10} {sweep.seed}")
    if detach and sweep.prune is not None:
        output.tell(format_unwatched(record.run_id))


def _register() -> None:
    from windlass.cli.commands.sweep_more import resume, show

    command.add_command(show)
    command.add_command(resume)


_register()
