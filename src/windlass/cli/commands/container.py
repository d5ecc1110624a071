"""`windlass container`: a shell in an image, and the images of a site."""

from typing import Any

import click

from windlass.cli.groups import InOrder
from windlass.cli.opening import open_session, read_site_name, read_wanted
from windlass.cli.options import choose_options, take_flags
from windlass.cli.output import Output
from windlass.core.units import format_bytes
from windlass.errors import ExitCode

_ON = click.option("--on", "site_name", metavar="SITE", help="Which site; default: run.site, else here.")
_HEAD = ("ID", "SIZE", "PYTHON", "DIGEST", "SOURCE")


@click.group("container", cls=InOrder)
def command() -> None:
    """Look into the containers of a site: Apptainer, Singularity.

    \b
    What a run is in stands under [environment] container in windlass.toml; `windlass run` fetches or builds it.
    `windlass env` builds, shows and removes images like other environments.

    \b
    Examples:
      windlass container shell --on wilson
      windlass container list --on wilson
    """


@click.command("shell")
@click.argument("run", required=False)
@_ON
@click.option("--image", metavar="IMAGE", help="Another than that of this project; as in [environment] container.")
@click.option("--job", "in_job", is_flag=True, help="In the job of RUN, which must be running, or in a new one.")
@choose_options("--gpus", "--gpu", "--time", "--account", "--partition", "--qos")
@click.pass_obj
def shell(
    output: Output, /, run: str | None, site_name: str | None, image: str | None, in_job: bool, **values: Any
) -> int:
    """Open a shell inside a container, as the command of a run sees it; `exit` leaves it.

    With RUN in its folder, with its binds and variables; without in the image of this project. Login nodes have no
    GPUs: `--job` asks Slurm for a node.

    \b
    Examples:
      windlass container shell digits-k3f9w           the image and folder of that run
      windlass container shell --on wilson            the image of this project, on the login node
      windlass container shell --on wilson --job --gpus 1 --time 30m
      windlass container shell digits-k3f9w --job     beside the training, on its first node
      windlass container shell --on wilson --image /work1/images/pytorch.sif
    """
    from windlass.app.environments.containers import open_run_shell, open_shell
    from windlass.edges.terminal import run_in_terminal
    from windlass.errors import UsageError

    flags = take_flags(values)
    if run and (site_name or image or flags):
        raise UsageError("a RUN has its own site, image and size: name either RUN, or --on and --image")
    with open_session(output) as session:
        if run:
            opened = open_run_shell(session, run, in_job=in_job)
        else:
            wanted = read_wanted(site_name, flags)
            opened = open_shell(session, wanted, image=image, in_job=in_job)
        output.tell(f"a shell in the container, {opened.where}; `exit` leaves it")
        return run_in_terminal(session.host(opened.site), opened.line)


@click.command("list")
@_ON
@click.pass_obj
def list_(output: Output, /, site_name: str | None) -> None:
    """List the images that were fetched or built for runs at a site, the newest first.

    \b
    Examples:
      windlass container list --on wilson
      windlass container list --on wilson --json
    """
    from windlass.app.environments.containers import list_images

    with open_session(output) as session:
        site = session.site(read_site_name(site_name))
        found = list_images(session, site)
    if output.as_json:
        output.show_json({"site": site.name, "images": found})
        return
    if not found:
        output.tell(f"{site.name} has no images of ours yet; next: windlass env build --on {site.name}")
        return
    rows = [(one.id, format_bytes(one.bytes), one.python or "", (one.digest or "")[:19], one.source) for one in found]
    output.show_table(_HEAD, rows)
    output.tell(
        f"{format_bytes(sum(one.bytes for one in found))} in all; windlass env rm ID --on {site.name} removes one"
    )


@click.command("verify")
@click.argument("names", metavar="[ID]...", nargs=-1)
@_ON
@click.pass_obj
def verify(output: Output, /, names: tuple[str, ...], site_name: str | None) -> int:
    """Read images at a site from end to end, and compare them with what was built. Default: all.

    `windlass run` does so only with an image that was written to since; a large one takes half a minute.

    \b
    Examples:
      windlass container verify --on wilson
    """
    from windlass.app.environments.containers import verify_images

    with open_session(output) as session:
        site = session.site(read_site_name(site_name))
        found = verify_images(session, site, names)
    damaged = [(one, problem) for one, problem in found if problem]
    if output.as_json:
        told = [{"id": one.id, "digest": one.digest, "problem": problem} for one, problem in found]
        output.show_json({"site": site.name, "images": told})
        return int(ExitCode.FAILED if damaged else ExitCode.OK)
    for one, problem in found:
        output.show(f"{one.id}  {'damaged: ' + problem if problem else 'as it was built'}")
    if damaged:
        output.tell(f"next: windlass env build --again --on {site.name}, in the project whose image it is")
    return int(ExitCode.FAILED if damaged else ExitCode.OK)


@click.command("clean")
@_ON
@click.pass_obj
def clean(output: Output, /, site_name: str | None) -> None:
    """Empty the cache in which layers of images wait for the next image that shares them. Images stay.

    \b
    Examples:
      windlass container clean --on wilson
    """
    from windlass.app.environments.containers import clean_cache

    with open_session(output) as session:
        site = session.site(read_site_name(site_name))
        clean_cache(session, site)
    if output.as_json:
        output.show_json({"site": site.name})
    output.tell(f"the cache of images at {site.name} is empty; the images are as they were")


for one in (shell, list_, verify, clean):
    command.add_command(one)
