"""`windlass env lock`: the packages of an environment with their versions and sums, as one file."""

import os
from pathlib import Path
from typing import Any

import click

from windlass.cli.data_words import format_count
from windlass.cli.opening import open_session, read_site_name
from windlass.cli.output import Output


@click.command("lock")
@click.argument("file", required=False)
@click.option("--on", "site_name", metavar="SITE", help="Which site; default: run.site, else here.")
@click.option("--built", "from_built", is_flag=True, help="What is in the one that was built at the site.")
@click.option(
    "-o", "--output", metavar="FILE", help="Default: requirements.lock; of a conda environment conda-linux-64.lock."
)
@click.option("--force", is_flag=True, help="Also over a file that Windlass did not write.")
@click.pass_obj
def lock(output: Output, /, file: str | None, site_name: str | None, from_built: bool, **values: Any) -> None:
    """Pin every package for the site's Python and processor, in pip's format with the sums of the wheels.

    FILE: requirements.txt, pyproject.toml[EXTRA] or uv.lock; default: `venv` of [environment].
    Versions are chosen by pip on this laptop. Nothing is built or sent.

    --built writes down what is there: of a venv its pins, of a conda environment
    the address and sum of each package, which needs no client of conda's.

    \b
    Examples:
      windlass env lock --on narval
      windlass env lock --built --on narval     as it was built there
    """
    from windlass.app.environments.locking import lock_built, lock_resolved, name_lock, refuse_foreign
    from windlass.app.environments.wheels import load_environment, locate, narrow_site, override
    from windlass.app.projects import find_project_folder

    project = find_project_folder(Path.cwd(), os.environ)
    with open_session(output) as session:
        site = narrow_site(session, project, session.site(read_site_name(site_name)))
        environment = load_environment(session, project, site.name)
        if file is not None:
            project, file = locate(file, project, Path.cwd())
        environment = override(environment, file=file)
        target = Path(values["output"] or name_lock(environment, site, project, from_built=from_built))
        refuse_foreign(target, force=values["force"])
        make = lock_built if from_built else lock_resolved
        locked = make(session, site, environment, project, target)
    if output.as_json:
        output.show_json({"locked": locked})
        return
    output.show(str(locked.path))
    output.tell(
        f"{format_count(locked.count, 'package')} of {locked.source} for {locked.platform}; "
        f'in windlass.toml: [environment] {locked.key} = "{locked.path}"'
    )
    if locked.left_out:
        names = ", ".join(locked.left_out)
        output.tell(f"not in it, for no channel has them: {names}; what pip installed stays in environment.yml")
