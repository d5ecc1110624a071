"""`windlass env`: build, look at and remove the environments of a site."""

import sys
from typing import TYPE_CHECKING, Any

import click

from windlass.cli.commands.env_lock import lock
from windlass.cli.commands.env_pack import pack
from windlass.cli.opening import open_session, read_site_name, read_wanted
from windlass.cli.options import take_flags
from windlass.cli.output import Output
from windlass.errors import Interrupted, UsageError

if TYPE_CHECKING:
    from windlass.app.session import Session
    from windlass.core.environment import Built, Recipe
    from windlass.core.site import Site

_ON = click.option("--on", "site_name", metavar="SITE", help="Which site; default: run.site, else here.")


class _InOrder(click.Group):
    """As they are used, and not by the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group("env", cls=_InOrder)
def command() -> None:
    """Build the environment of a run at a site, once for all runs that want the same.

    \b
    What it is stands under [environment] in windlass.toml: modules, venv, conda or container.
    `windlass run` builds it where it is missing; an environment is known by what it is made of.

    \b
    Examples:
      windlass env build --on narval       build that of this project
      windlass env list --on narval
      windlass env show --on narval        what is in that of this project
      windlass env rm venv-3f2a9c --on narval
    """


@click.command("build")
@_ON
@click.option("--again", is_flag=True, help="Also where it is built already.")
@click.option("--as-job", is_flag=True, help="As a short job, where login nodes allow no long work.")
@click.option("--time", "time_limit", metavar="TIME", default="1h", show_default=True, help="Of that job.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Any setting, such as environment.python=3.11.")
@click.pass_obj
def build(output: Output, /, site_name: str | None, again: bool, as_job: bool, time_limit: str, **values: Any) -> None:
    """Build the environment of this project at a site. Ctrl-C stops it there too.

    It is built aside: one that was built before works until the new one is whole, and after a failure.

    \b
    Examples:
      windlass env build --on narval
      windlass env build --on narval --again     with the newest packages that its files allow
      windlass env build --on narval --as-job
    """
    from windlass.app.environments.building import build_as_job, build_environment
    from windlass.cli.env_words import BuildLines, format_built

    with open_session(output) as session:
        site, recipe = _read_recipe(session, site_name, values)
        if as_job:
            record = build_as_job(session, site, recipe, time_limit=time_limit, again=again)
            output.tell(f"submitted  run {record.run_id}, job {record.job_id} at {site.name} builds {recipe.id}")
            if output.as_json:
                output.show_json({"run": record})
            return
        output.tell(f"building   {recipe.id} at {site.name}")
        with BuildLines(output) as lines:
            built = build_environment(session, site, recipe, again=again, progress=lines.update)
    if output.as_json:
        output.show_json({"environment": built})
        return
    output.tell(f"built      {format_built(built)}")


@click.command("show")
@click.argument("name", metavar="ID", required=False)
@_ON
@click.option("--log", "with_log", is_flag=True, help="What it said when it was last built.")
@click.pass_obj
def show(output: Output, /, name: str | None, site_name: str | None, with_log: bool) -> None:
    """Tell what is in an environment: its Python, packages, GPU code. Default: that of this project.

    \b
    Examples:
      windlass env show --on narval
      windlass env show venv-3f2a9c --on narval --log
    """
    from windlass.app.environments.registry import find_environment, load_log
    from windlass.cli.env_words import show_built

    with open_session(output) as session:
        if name is None:
            site, recipe = _read_recipe(session, site_name, {})
            name = recipe.id
        else:
            site = session.site(read_site_name(site_name))
        if with_log:
            output.show_bytes(load_log(session, site, name))
            return
        built = find_environment(session, site, name)
    if output.as_json:
        output.show_json({"environment": built})
        return
    show_built(output, built)


@click.command("list")
@_ON
@click.pass_obj
def list_(output: Output, /, site_name: str | None) -> None:
    """List the environments of a site, the newest first.

    \b
    Examples:
      windlass env list --on narval
      windlass env list --json
    """
    from windlass.app.environments.registry import list_environments
    from windlass.cli.env_words import HEAD, make_row

    with open_session(output) as session:
        site = session.site(read_site_name(site_name))
        found = list_environments(session, site)
    if output.as_json:
        output.show_json({"site": site.name, "environments": found})
        return
    if not found:
        output.tell(f"{site.name} has no environments yet; next: windlass env build --on {site.name}")
        return
    output.show_table(HEAD, [make_row(one) for one in found])


@click.command("rm")
@click.argument("names", metavar="ID...", nargs=-1, required=True)
@_ON
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def remove(output: Output, /, names: tuple[str, ...], site_name: str | None, yes: bool) -> None:
    """Remove environments at a site. One that a waiting or running run uses is refused.

    \b
    Examples:
      windlass env rm venv-3f2a9c --on narval
      windlass env rm venv-3f2a9c conda-81b2de --on narval --yes
    """
    from windlass.app.environments.registry import find_environment, remove_environments
    from windlass.cli.env_words import format_removed

    with open_session(output) as session:
        site = session.site(read_site_name(site_name))
        found = [find_environment(session, site, name) for name in dict.fromkeys(names)]
        if not yes:
            _ask(found, site.name)
        removed = remove_environments(session, site, found)
    for one in removed:
        output.tell(f"removed    {format_removed(one)}")
    if output.as_json:
        output.show_json({"removed": removed})


def _read_recipe(session: "Session", site_name: str | None, values: dict[str, Any]) -> "tuple[Site, Recipe]":
    """Of the project here."""
    from windlass.app.environments.seen import load_recipe

    wanted = read_wanted(site_name, take_flags(values))
    return session.site(wanted.site), load_recipe(session, wanted)


def _ask(found: "list[Built]", site: str) -> None:
    from windlass.cli.env_words import format_built

    words = "\n".join(f"  {format_built(one)}" for one in found)
    if not sys.stdin.isatty():
        raise UsageError(
            f"this removes at {site} for good, and nobody is there to ask:\n{words}",
            hint="add --yes",
            done="nothing was removed",
        )
    if not click.confirm(f"This removes at {site}:\n{words}\nGo on?", err=True):
        raise Interrupted("you said no", done="nothing was removed")


COMMANDS = (build, show, list_, remove, lock, pack)
for one in COMMANDS:
    command.add_command(one)
