"""`windlass env`: build, look at and remove the environments of a site."""

from typing import TYPE_CHECKING, Any

import click

from windlass.cli.commands.env_lock import lock
from windlass.cli.commands.env_pack import pack
from windlass.cli.groups import InOrder
from windlass.cli.opening import open_session, read_site_name, read_wanted
from windlass.cli.options import take_flags
from windlass.cli.output import Output

if TYPE_CHECKING:
    from windlass.app.environments.registry import Removable
    from windlass.app.session import Session
    from windlass.core.environment import Recipe
    from windlass.core.record import RunRecord
    from windlass.core.site import Site
    from windlass.core.toml.layers import Flag

_ON = click.option("--on", "site_name", metavar="SITE", help="Which site; default: run.site, else here.")


@click.group("env", cls=InOrder)
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
@click.option("--as-job", is_flag=True, help='As a short job, as with build = "job" in windlass.toml.')
@click.option("--time", "time_text", metavar="TIME", help="Of that job; default: build_time of windlass.toml, or 1h.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Any setting, such as environment.python=3.11.")
@click.pass_obj
def build(
    output: Output, /, site_name: str | None, again: bool, as_job: bool, time_text: str | None, **values: Any
) -> None:
    """Build the environment of this project at a site. Ctrl-C stops it there too.

    It is built aside: one that was built before works until the new one is whole, and after a failure.

    \b
    Examples:
      windlass env build --on narval
      windlass env build --on narval --again     with the newest packages that its files allow
      windlass env build --on narval --as-job
    """
    from windlass.app.environments.building import build_environment, find_built
    from windlass.app.environments.building_by_job import build_as_job
    from windlass.app.environments.seen import load_wish
    from windlass.cli.env_words import BuildLines, format_built, format_since
    from windlass.core.run import BuildPlace

    with open_session(output) as session:
        wanted = read_wanted(site_name, (*take_flags(values), *_read_time(time_text)))
        site = session.site(wanted.site)
        spec, recipe = load_wish(session, wanted)
        found = None if again else find_built(session, site, recipe)
        if found is not None:
            output.tell(f"there      {format_built(found)}; {format_since(found, session.clock())}")
            output.tell("nothing was built: its files say what they said then; --again builds it anew")
            if output.as_json:
                output.show_json({"environment": found, "is_new": False})
            return
        if as_job or spec.environment.build is BuildPlace.JOB:
            record = build_as_job(session, site, recipe, spec, again=again)
            _tell_job(output, record, recipe)
            return
        output.tell(f"building   {recipe.id} at {site.name}")
        with BuildLines(output) as lines:
            built = build_environment(session, site, recipe, again=again, progress=lines.update)
    if output.as_json:
        output.show_json({"environment": built, "is_new": True})
        return
    output.tell(f"built      {format_built(built)}")


def _read_time(text: str | None) -> "tuple[Flag, ...]":
    from windlass.core.toml.layers import Flag

    return (Flag(key="environment.build_time", value=text, option="--time"),) if text else ()


def _tell_job(output: Output, record: "RunRecord", recipe: "Recipe") -> None:
    output.tell(f"submitted  run {record.run_id}, job {record.job_id} at {record.site} builds {recipe.id}")
    output.tell(f"next: windlass wait {record.run_id}")
    if output.as_json:
        output.show_json({"run": record})


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
    """List the environments of a site, the newest first. One whose card cannot be read is listed as damaged.

    \b
    Examples:
      windlass env list --on narval
      windlass env list --json
    """
    from windlass.app.environments.registry import look_at_environments
    from windlass.cli.env_words import HEAD, format_damaged, format_remains, make_damaged_row, make_row

    with open_session(output) as session:
        site = session.site(read_site_name(site_name))
        found = look_at_environments(session, site)
    if output.as_json:
        parts = {"environments": found.environments, "damaged": found.damaged, "remains": found.remains}
        output.show_json({"site": site.name, **parts})
        return
    rows = [*map(make_row, found.environments), *map(make_damaged_row, found.damaged)]
    if rows:
        output.show_table(HEAD, rows)
    else:
        output.tell(f"{site.name} has no environments yet; next: windlass env build --on {site.name}")
    for remains in found.remains:
        output.tell(f"{format_remains(remains)}\n  windlass env rm {remains.id} --on {site.name}")
    for one in found.damaged:
        output.tell(
            f"{format_damaged(one)}\n  windlass env build --on {site.name}   # in its project: it is built anew\n"
            f"  windlass env rm {one.id} --on {site.name}"
        )


@click.command("rm")
@click.argument("names", metavar="ID...", nargs=-1, required=True)
@_ON
@click.option("--wheels", "only_wheels", is_flag=True, help="Only the wheels that were sent for them.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def remove(output: Output, /, names: tuple[str, ...], site_name: str | None, only_wheels: bool, yes: bool) -> None:
    """Remove environments at a site, with the wheels that were sent for them, and what failed builds left.

    One that a waiting or running run uses is refused.

    \b
    Examples:
      windlass env rm venv-3f2a9c --on narval
      windlass env rm venv-3f2a9c conda-81b2de --on narval --yes
      windlass env rm venv-3f2a9c --on narval --wheels     the environment stays
    """
    from windlass.app.environments.registry import find_removable, remove_environments
    from windlass.cli.env_words import format_removed

    with open_session(output) as session:
        site = session.site(read_site_name(site_name))
        found = [find_removable(session, site, name) for name in dict.fromkeys(names)]
        if not yes:
            _ask(found, site.name, only_wheels=only_wheels)
        removed = remove_environments(session, site, found, only_wheels=only_wheels)
    for one in removed:
        output.tell(f"removed    {format_removed(one)}")
    if output.as_json:
        output.show_json({"removed": removed})


def _read_recipe(session: "Session", site_name: str | None, values: dict[str, Any]) -> "tuple[Site, Recipe]":
    """Of the project here."""
    from windlass.app.environments.seen import load_recipe

    wanted = read_wanted(site_name, take_flags(values))
    return session.site(wanted.site), load_recipe(session, wanted)


def _ask(found: "list[Removable]", site: str, *, only_wheels: bool) -> None:
    from windlass.cli.env_words import format_any
    from windlass.cli.removal_question import confirm_removal

    words = (f"the wheels sent for {one.id}" if only_wheels else format_any(one) for one in found)
    confirm_removal(words, site)


COMMANDS = (build, show, list_, remove, lock, pack)
for one in COMMANDS:
    command.add_command(one)
