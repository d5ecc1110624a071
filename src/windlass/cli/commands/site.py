"""`windlass site`: add, discover, show or check one."""

import sys
from pathlib import Path
from typing import Any

import click

from windlass.cli.lines import show_lines
from windlass.cli.opening import open_session
from windlass.cli.options import choose_options, take_flags
from windlass.cli.output import Output
from windlass.errors import UsageError


@click.group("site")
def command() -> None:
    """Add, show or check a site."""


@command.command("add")
@click.argument("name")
@click.option("--host", help="Login host, as you would give it to ssh.")
@click.option("--user", help="Your name there, when it differs.")
@click.option("--jump", multiple=True, help="Jump host on the way; may be repeated.")
@click.option("--root", help="Folder for runs there, such as '$SCRATCH/windlass'.")
@click.option("--file", type=click.Path(path_type=Path), help="A whole site file (TOML); `-` reads stdin.")
@click.option("--replace", is_flag=True, help="Replace your own site of that name.")
@click.pass_obj
def add(
    output: Output,
    /,
    name: str,
    host: str | None,
    user: str | None,
    jump: tuple[str, ...],
    root: str | None,
    file: Path | None,
    replace: bool,
) -> None:
    """Write a site file of your own. If `ssh HOST` works, Windlass works."""
    from windlass.app.sites import make_site_text, save_site

    if (host is None) == (file is None):
        raise UsageError("give either --host or --file", hint=f"windlass site add {name} --host LOGIN_HOST")
    text = _read(file) if file else make_site_text(name, host=host or "", user=user, jump=jump, root=root)
    with open_session(output) as session:
        path = save_site(session, name, text, replace=replace)
    if output.as_json:
        output.show_json({"path": str(path)})
    output.tell(f"wrote {path}; next: windlass login {name}, windlass site check {name}")


@command.command("discover")
@click.argument("host")
@click.option("--name", help="What to call the site; default: the first part of HOST.")
@click.option("--user", help="Your name there, when it differs.")
@click.option("--jump", multiple=True, help="Jump host on the way; may be repeated.")
@click.option("--save", is_flag=True, help="Save it as your own site instead of printing it.")
@click.option("--replace", is_flag=True, help="With --save: replace your own site of that name.")
@click.pass_obj
def discover(
    output: Output,
    /,
    host: str,
    name: str | None,
    user: str | None,
    jump: tuple[str, ...],
    save: bool,
    replace: bool,
) -> None:
    """Draft a site file from the living Slurm at HOST. Nothing is submitted there and nothing left behind.

    What could not be seen stands in the file as a comment that begins with `# ?`.

    \b
    Examples:
      windlass site discover login.example.org
      windlass site discover login.example.org --jump gate.example.org --save
    """
    from windlass.app.discovering import discover_site, format_command, pick_name
    from windlass.app.sites import save_site
    from windlass.core.site import Login

    name = name or pick_name(host)
    login = Login(host=host, user=user, jump=jump)
    again = format_command(name, login)
    with open_session(output) as session:
        draft = discover_site(session, name, login)
        path = save_site(session, name, draft.text, replace=replace, hint=f"{again} --replace") if save else None
    if output.as_json:
        output.show_json({"name": name, "text": draft.text, "questions": draft.questions, "path": path})
        return
    if path is None:
        output.show(draft.text.rstrip("\n"))
        output.tell(f"nothing was saved; to keep it: {again}")
    else:
        output.tell(f"wrote {path}")
    facts = draft.seen.facts
    accounts = {one.account for one in facts.associations or ()}
    output.tell(
        f"seen: {len(facts.partitions or ())} partitions, {len(accounts)} accounts, "
        f"{len(draft.seen.shell.areas)} places for files; not seen: {draft.questions} facts, marked `# ?`"
    )
    if path is not None:
        output.tell(f"next: windlass site check {name}")


@command.command("show")
@click.argument("name")
@click.option("--sources", "with_sources", is_flag=True, help="Also where each fact is from, and what was decided.")
@click.option("--more", "with_more", is_flag=True, help="Also how to get in, and what is good to know there.")
@click.pass_obj
def show(output: Output, /, name: str, with_sources: bool, with_more: bool) -> None:
    """Show what is written about a site, and what its Slurm says: partitions, limits, cores, memory and GPUs."""
    from windlass.app.sites import look_at_site
    from windlass.cli.site_more import show_more
    from windlass.cli.site_page import show_site

    with open_session(output) as session:
        site, queues, note = look_at_site(session, name)
    if output.as_json:
        output.show_json({"site": site, "queues": queues})
        return
    show_site(output, site, queues, with_sources=with_sources)
    if with_more:
        show_more(output, site)
    elif site.onboarding:
        output.tell(f"how to get in, and what is good to know there: windlass site show {name} --more")
    if note:
        output.tell(note)


@command.command("check")
@click.argument("name")
@click.option("--deep", is_flag=True, help="Also run a test job of five minutes at most, with a GPU if there are some.")
@click.option("--wait", "wait_s", default=600, show_default=True, help="Seconds to wait for the test job.")
@choose_options("--account", "--partition", "--qos", "--gpus", "--gpu", "--nodes")
@click.pass_obj
def check(output: Output, /, name: str, deep: bool, wait_s: int, **values: Any) -> int:
    """Ask the site itself and compare it with its file.

    Connection, Python, Slurm's version and fields, partitions, limits, GPUs, accounts, QOS, quotas, folder.
    With --deep a short test job also tells of the compute node: GPU, driver, internet, /dev/shm, local disk, clock.

    \b
    Examples:
      windlass site check narval
      windlass site check narval --deep --gpus 1 --account def-prof
    """
    from windlass.app.checking_site import check_site
    from windlass.app.probing import add_probe

    with open_session(output) as session:
        lines = check_site(session, name)
        if deep:
            lines = add_probe(session, name, lines, take_flags(values), wait_s=wait_s)
    return show_lines(output, lines)


def _read(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from error
