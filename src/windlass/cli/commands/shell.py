"""`windlass shell`: a shell on a compute node."""

from typing import TYPE_CHECKING, Any

import click

from windlass.cli.foreground import ended_by_signals
from windlass.cli.opening import open_session, read_wanted
from windlass.cli.options import on_option, service_options, take_service_flags
from windlass.cli.output import Output
from windlass.cli.services import idle_option, read_idle
from windlass.errors import Interrupted, UsageError

if TYPE_CHECKING:
    from windlass.app.services.shells import Opened, Typing
    from windlass.app.session import Session
    from windlass.core.toml.layers import Flag

_COMMAND = "windlass.shell.command"


class _WithCommand(click.Command):
    """What stands behind `--` is a command, and not a RUN."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[_COMMAND], args = tuple(args[at + 1 :]), args[:at]
        return super().parse_args(ctx, args)


@click.command("shell", cls=_WithCommand, options_metavar="[OPTIONS] [-- COMMAND...]")
@click.argument("run", required=False)
@on_option
@service_options
@idle_option("End it when nobody typed and nothing computed so long.")
@click.option("--no-idle", is_flag=True, help="Never end it before its time.")
@click.option("--force", is_flag=True, help="Ask Slurm although a check found errors.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    run: str | None,
    site_name: str | None,
    idle: str,
    no_idle: bool,
    force: bool,
    **values: Any,
) -> int:
    """Open a shell on a node in the environment of this project, or beside the training of RUN. `exit` leaves it.

    It is a job that one waits for and types into: one node and at most one GPU unless you say more, 2 hours unless
    --time says otherwise. Its exit code is passed on. A shell in which nobody types and nothing computes is warned and
    then ended, because it spends the project's hours.

    \b
    Examples:
      windlass shell --on wilson --gpus 1 --time 30m
      windlass shell --on wilson --gpus 1 -- nvidia-smi
      windlass shell digits-k3f9w                        on its first node, while it trains
    """
    from windlass.app.services.shells import Typing, open_joined, run_shell

    output: Output = ctx.obj
    typing = Typing(command=ctx.meta.get(_COMMAND, ()), idle=None if no_idle else read_idle(idle))
    flags = take_service_flags(values, hint="windlass shell -- COMMAND runs one there")
    if run and (site_name or flags):
        raise UsageError("a RUN has its own site and size: name either RUN, or --on and its flags")
    with open_session(output) as session, ended_by_signals():
        if run:
            opened = open_joined(session, run, typing)
        else:
            opened = _open_new(output, session, site_name, flags, typing, force=force)
        output.tell(f"a shell {opened.where}" + ("" if typing.command else "; `exit` leaves it"))
        try:
            return run_shell(session, opened)
        except KeyboardInterrupt:
            raise Interrupted("the shell is ended", done="and its job with it" if opened.job_name else None) from None


def _open_new(
    output: Output,
    session: "Session",
    site_name: str | None,
    flags: "tuple[Flag, ...]",
    typing: "Typing",
    *,
    force: bool,
) -> "Opened":
    from windlass.app.services.shells import open_new, want_shell
    from windlass.cli.starting import plan_with_environment

    planned = plan_with_environment(output, session, want_shell(read_wanted(site_name, flags)), force=force)
    return open_new(session, planned, typing, force=force)
