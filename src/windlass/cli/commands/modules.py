"""`windlass modules`: find a site's modules, with all that must be loaded before."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from windlass.app.environments.modules import Ask, ModuleSearch, ModulesThere, find_modules, list_there
from windlass.app.session import Session
from windlass.cli.opening import open_session, read_site_name
from windlass.cli.options import choose_options, on_option, take_flags
from windlass.cli.output import Output
from windlass.core.modules.found import FoundModule

_HEAD = ("MODULE", "VERSIONS")
_MOST_VERSIONS = 6
_MOST_MENTIONS = 8
F = TypeVar("F", bound=Callable[..., Any])


def _job_options(function: F) -> F:
    function = choose_options("--account", "--partition", "--qos")(function)
    function = click.option("--wait", "wait_s", default=600, show_default=True, help="Seconds to wait for the job.")(
        function
    )
    return click.option("--job", is_flag=True, help="Ask by a short job, where login nodes have no modules.")(function)


@click.group("modules")
def command() -> None:
    """Find a site's modules, and how they are loaded."""


@command.command("find")
@click.argument("name")
@on_option
@click.option("--version", metavar="X", help="Only this version: 2.1 is also 2.1.0-CUDA-12.")
@_job_options
@click.pass_obj
def find(
    output: Output, /, name: str, site_name: str | None, version: str | None, job: bool, wait_s: int, **values: Any
) -> None:
    """Find modules by NAME, packages inside modules, and modules that speak of NAME.

    Each with the whole line that loads it, and as a line for [environment] of windlass.toml. The newest comes first.

    \b
    Examples:
      windlass modules find PyTorch --on jureca-dc
      windlass modules find PyTorch --version 2.1 --on jureca-dc
      windlass modules find numpy --on narval --json
      windlass modules find PyTorch --on daint --job
    """
    with open_session(output) as session:
        there = read_site_name(site_name)
        ask = _make_ask(session, there, values, job=job, wait_s=wait_s)
        search = find_modules(session, there, name, version=version, ask=ask)
    if output.as_json:
        lines = [{"load_line": one.load_line, "toml_line": one.toml_line} for one in search.found]
        output.show_json({"modules": search, "lines": lines})
        return
    show_search(output, search)


@command.command("list")
@on_option
@_job_options
@click.pass_obj
def list_all(output: Output, /, site_name: str | None, job: bool, wait_s: int, **values: Any) -> None:
    """List all modules of a site, the newest version first; with Lmod also those that need others first.

    \b
    Examples:
      windlass modules list --on narval
    """
    with open_session(output) as session:
        name = read_site_name(site_name)
        there = list_there(session, name, ask=_make_ask(session, name, values, job=job, wait_s=wait_s))
    if output.as_json:
        output.show_json({"modules": there, "versions": there.versions})
        return
    show_list(output, there)


def _make_ask(session: Session, site_name: str, values: dict[str, Any], *, job: bool, wait_s: int) -> Ask | None:
    if not job:
        return None
    from windlass.app.environments.modules_by_job import ask_by_job

    return ask_by_job(session, site_name, take_flags(values), wait_s=wait_s)


def show_search(output: Output, search: ModuleSearch) -> None:
    for one in search.found:
        output.show("\n".join(_format_found(one)))
    if search.more:
        output.tell(f"older ones: {', '.join(search.more)}")
    if search.mentions:
        shown = list(search.mentions)[:_MOST_MENTIONS]
        left = len(search.mentions) - len(shown)
        output.tell(f"these speak of it: {', '.join(shown)}{f', and {left} more' if left else ''}")
    if search.similar:
        output.tell(f"similar names: {', '.join(search.similar)}")
    output.tell("`modules = ...` goes under [environment] of windlass.toml")


def _format_found(one: FoundModule) -> list[str]:
    told = [one.name, one.gpu or "", f"has {one.inside}" if one.inside else "", one.about]
    lines = ["  ".join(part for part in told if part), f"  {one.load_line}", f"  {one.toml_line}"]
    return [*lines, *(f"  or: module load {' '.join(other)}" for other in one.others)]


def show_list(output: Output, there: ModulesThere) -> None:
    rows = []
    for name, versions in there.versions.items():
        left = len(versions) - _MOST_VERSIONS
        words = ", ".join(version for version in versions[:_MOST_VERSIONS] if version)
        rows.append((name, f"{words}, and {left} older" if left > 0 else words))
    output.show_table(_HEAD, rows)
    seen = "also those that need others first" if there.system.startswith("lmod") else "what is in sight at first"
    output.tell(f"{len(there.names)} modules ({there.system}), {seen}; how to load one: windlass modules find NAME")
