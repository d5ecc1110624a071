"""`windlass wheels`: what a site's wheelhouse has of what you ask for, before anything is built."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from windlass.cli.opening import open_session, read_site_name
from windlass.cli.output import Output
from windlass.errors import ExitCode

if TYPE_CHECKING:
    from windlass.app.session import Session
    from windlass.core.run import Environment

_ON = click.option("--on", "site_name", metavar="SITE", help="Which site; default: run.site, else here.")
_PYTHON = click.option("--python", metavar="VERSION", help="For this Python, such as 3.11; default: as [environment].")
_MODULE = click.option(
    "--module", "modules", multiple=True, metavar="NAME", help="Load this in place of [environment]."
)


@click.group("wheels")
def command() -> None:
    """Look into a site's wheelhouse: Python packages that need no internet.

    \b
    Examples:
      windlass wheels check --on narval              all that this project asks for
      windlass wheels find 'torch*' --on narval
    """


@command.command("check")
@click.argument("file", required=False)
@_ON
@_PYTHON
@_MODULE
@click.option("--missing", "only_missing", is_flag=True, help="Only what is not there.")
@click.pass_context
def check(
    ctx: click.Context,
    /,
    file: str | None,
    site_name: str | None,
    python: str | None,
    modules: tuple[str, ...],
    only_missing: bool,
) -> None:
    """Say for every package, and for what it needs in turn, which wheel of the site would be taken.

    FILE: requirements.txt, pyproject.toml, pyproject.toml[EXTRA] or uv.lock; default: `venv` of [environment].
    Exit code 1 when something is missing. Nothing is built or sent.

    \b
    Examples:
      windlass wheels check --on narval
      windlass wheels check requirements.txt --python 3.10 --missing --on narval
    """
    from windlass.app.environments.wheels import check_wheels, load_environment, locate, override
    from windlass.cli.wheel_words import show_checked

    output: Output = ctx.obj
    project = _find_project()
    with open_session(output) as session:
        site = session.site(read_site_name(site_name))
        environment = load_environment(session, project, site.name)
        if file is not None:
            project, file = locate(file, project, Path.cwd())
        environment = override(environment, file=file, python=python, modules=modules)
        checked = check_wheels(session, site, environment, project)
    if output.as_json:
        output.show_json({"checked": checked, "missing": [one.name for one in checked.report.missing]})
    else:
        show_checked(output, checked, only_missing=only_missing)
    if checked.report.missing:
        ctx.exit(int(ExitCode.FAILED))


@command.command("find")
@click.argument("words", nargs=-1, required=True, metavar="NAME|PATTERN|REQUIREMENT...")
@_ON
@_PYTHON
@_MODULE
@click.option("--all-versions", is_flag=True, help="Not only the newest.")
@click.option("--any-python", is_flag=True, help="Also what is for another Python or processor.")
@click.pass_obj
def find(
    output: Output,
    /,
    words: tuple[str, ...],
    site_name: str | None,
    python: str | None,
    modules: tuple[str, ...],
    all_versions: bool,
    any_python: bool,
) -> None:
    """List wheels of the site by name, by pattern or by version, as avail_wheels does.

    \b
    Examples:
      windlass wheels find torch --on narval
      windlass wheels find '*cdf*' --all-versions --on narval
      windlass wheels find 'numpy<1.23' --python 3.9 --on narval
    """
    from windlass.app.environments.wheels import find_in_house
    from windlass.cli.wheel_words import FOUND_HEAD, make_found_row

    with open_session(output) as session:
        site = session.site(read_site_name(site_name))
        environment = _load(session, site.name, python, modules)
        seen, found = find_in_house(session, site, environment, words, all_versions=all_versions, any_python=any_python)
    if output.as_json:
        rows = [
            {"name": one.name, "version": str(one.version), "file": one.file, "folder": one.folder} for one in found
        ]
        output.show_json({"site": site.name, "platform": str(seen.platform), "wheels": rows})
        return
    if not found:
        output.tell(
            f"the wheelhouse of {site.name} has nothing such for {seen.platform}; --any-python looks at the others too"
        )
        return
    output.show_table(FOUND_HEAD, [make_found_row(one) for one in found])


def _load(session: "Session", site_name: str, python: str | None, modules: tuple[str, ...]) -> "Environment":
    from windlass.app.environments.wheels import load_environment, override

    return override(load_environment(session, _find_project(), site_name), python=python, modules=modules)


def _find_project() -> Path:
    from windlass.app.projects import find_project_folder

    return find_project_folder(Path.cwd(), os.environ)
