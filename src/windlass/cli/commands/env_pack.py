"""`windlass env pack`: a built environment as one file, for the nodes of a job."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from windlass.cli.opening import open_session, read_site_name
from windlass.cli.output import Output
from windlass.cli.progress import Progress
from windlass.errors import EnvironmentNotFound, UsageError

if TYPE_CHECKING:
    from windlass.app.session import Session


@click.command("pack")
@click.argument("env_id", metavar="[ID]", required=False)
@click.option("--on", "site_name", metavar="SITE", help="Which site; default: run.site, else here.")
@click.option("--again", is_flag=True, help="Even where it was packed since it was built.")
@click.pass_obj
def pack(output: Output, /, env_id: str | None, site_name: str | None, again: bool) -> None:
    """Make one file of an environment.

    Every node of a job then unpacks it on its own disk, instead of opening thousands of files on the shared file
    system. Runs with `[environment] pack = true` do this by themselves. Without ID: the environment of this project.

    \b
    Examples:
      windlass env pack --on narval
      windlass env pack venv-3f2a9c --on narval --again
    """
    from windlass.app.environments.packing import pack_environment
    from windlass.core.units import format_bytes

    with open_session(output) as session, Progress(output, "packing") as progress:
        site = session.site(read_site_name(site_name))
        env_id = env_id or _find_own(session, site.name)
        packed = pack_environment(session, site, env_id, again=again, progress=progress.update)
    if output.as_json:
        output.show_json({"packed": packed})
        return
    how = "is" if packed.is_new else "was already"
    output.tell(f"{packed.id} {how} packed: {packed.files} files, {format_bytes(packed.bytes)}, in {packed.path}")
    for one in packed.told:
        output.tell(f"on the nodes too {one}")
    if packed.is_new:
        output.tell("next: pack = true in [environment] of windlass.toml has the nodes unpack it")


def _find_own(session: "Session", site_name: str) -> str:
    from windlass.app.environments.seen import read_recipe
    from windlass.edges.settings import load_wanted_environment

    project = Path.cwd()
    environment = load_wanted_environment(project, site_name, session.environ)
    recipe = read_recipe(environment, session.site(site_name), project)
    if recipe is None:
        raise EnvironmentNotFound(
            "windlass.toml asks for no environment that could be packed",
            hint=f"windlass env list --on {site_name} shows what there is: windlass env pack ID --on {site_name}",
        )
    if recipe.existing is not None:
        raise UsageError(
            f"{recipe.existing} was not built by Windlass: it is used as it is",
            hint='a list of packages is built, and packed: venv = "requirements.txt", or conda = "environment.yml"',
        )
    return recipe.id
