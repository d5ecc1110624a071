"""`windlass site`: add, show or check one."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from windlass.cli.opening import open_session
from windlass.cli.output import Output
from windlass.core.queues import Queue
from windlass.core.site import Site
from windlass.core.units import format_duration
from windlass.errors import ExitCode, UsageError


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


@command.command("show")
@click.argument("name")
@click.pass_obj
def show(output: Output, /, name: str) -> None:
    """Show what is written about a site, and what its Slurm says: partitions, limits, cores, memory and GPUs."""
    from windlass.app.sites import look_at_site

    with open_session(output) as session:
        site, queues, note = look_at_site(session, name)
    if output.as_json:
        output.show_json({"site": site, "queues": queues})
        return
    _show(output, site, queues)
    if note:
        output.tell(note)


@command.command("check")
@click.argument("name")
@click.pass_obj
def check(output: Output, /, name: str) -> int:
    """Ask the site itself and compare: connection, Python, Slurm, partitions, accounts, folder."""
    from windlass.app.sites import check_site

    with open_session(output) as session:
        lines = check_site(session, name)
    if output.as_json:
        output.show_json({"lines": lines})
    else:
        for line in lines:
            hint = f"   try: {line.hint}" if line.hint else ""
            output.show(f"{line.verdict:<5} {line.what:<11} {line.words}{hint}")
    return int(ExitCode.CHECK_FAILED if any(line.verdict == "fail" for line in lines) else ExitCode.OK)


def _show(output: Output, site: Site, queues: Sequence[Queue]) -> None:
    output.show(f"{site.name}: {site.title}\nlogin: {site.login.host or 'this machine'}\nruns: {site.root}")
    if queues:
        head = ("PARTITION", "LIMIT", "NODES", "CORES", "MEMORY", "GPUS")
        output.show_table(head, [_make_row(queue) for queue in queues])
    areas = [(one.name, one.path, f"{one.purge_days} d" if one.purge_days else "") for one in site.storage]
    if areas:
        output.show_table(("AREA", "PATH", "PURGE"), areas)
    for note in site.notes:
        output.show(f"note: {note}")


def _make_row(queue: Queue) -> tuple[str, ...]:
    gpus = f"{queue.gpus} x {queue.gpu or 'GPU'}" if queue.gpus else ""
    memory = f"{queue.memory_mb / 1000:.0f} GB" if queue.memory_mb else ""
    limit = format_duration(queue.max_time) if queue.max_time else ""
    return queue.name, limit, str(queue.max_nodes or ""), str(queue.cores or ""), memory, gpus


def _read(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from error
