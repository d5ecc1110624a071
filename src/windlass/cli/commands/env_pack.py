"""`windlass env pack`: a built environment as one file, for the nodes of a job."""

import click

from windlass.cli.data_words import format_count
from windlass.cli.opening import open_session, read_wanted
from windlass.cli.output import Output
from windlass.cli.progress import Progress


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
    from windlass.app.environments.packing import find_own, pack_environment
    from windlass.core.units import format_bytes

    with open_session(output) as session, Progress(output, "packing") as progress:
        wanted = read_wanted(site_name, ())
        site = session.site(wanted.site)
        env_id = env_id or find_own(session, wanted)
        packed = pack_environment(session, site, env_id, again=again, progress=progress.update)
    if output.as_json:
        output.show_json({"packed": packed})
        return
    how = "is" if packed.is_new else "was already"
    size = f"{format_count(packed.files, 'file')}, {format_bytes(packed.bytes)}"
    output.tell(f"{packed.id} {how} packed: {size}, in {packed.path}")
    for one in packed.told:
        output.tell(f"on the nodes too {one}")
    if packed.is_new:
        output.tell("next: pack = true in [environment] of windlass.toml has the nodes unpack it")
