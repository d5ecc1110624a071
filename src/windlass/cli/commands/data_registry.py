"""`windlass data`: the data sets of a site: ls, info, register, unregister, rm, share, advise."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from windlass.cli.opening import open_session, read_site_name
from windlass.cli.output import Output
from windlass.errors import UsageError

if TYPE_CHECKING:
    from windlass.app.data.sets import Removed

_ON = click.option("--on", "site_name", metavar="SITE", help="Which site; default: run.site, else here.")


@click.command("ls")
@_ON
@click.pass_obj
def list_(output: Output, /, site_name: str | None) -> None:
    """List the data sets of a site.

    With their size, when they will be purged if nobody reads them, and who may read them.

    \b
    Examples:
      windlass data ls --on narval
      windlass data ls --json
    """
    from windlass.app.data.sets import list_sets
    from windlass.cli.data_words import SETS_HEAD, make_set_row

    with open_session(output) as session:
        listed = list_sets(session, session.site(read_site_name(site_name)))
        now = session.clock()
    if output.as_json:
        output.show_json({"site": listed.site, "folder": listed.folder, "sets": listed.sets})
        return
    if not listed.sets:
        output.tell(f"{listed.site} has no data sets yet; next: windlass data send FOLDER --on {listed.site}")
        return
    output.show_table(SETS_HEAD, [make_set_row(one, now) for one in listed.sets])
    for one in listed.sets:
        if one.set.problem:
            output.tell(f"{one.name} cannot be used: {one.set.problem}")


@click.command("info")
@click.argument("what", metavar="NAME|PATH")
@_ON
@click.option("--classes", "with_classes", is_flag=True, help="All classes with their numbers.")
@click.pass_obj
def info(output: Output, /, what: str, site_name: str | None, with_classes: bool) -> None:
    """Tell all about one data set, here or at a site.

    \b
    Examples:
      windlass data info packed/imagenet
      windlass data info imagenet --on narval
    """
    from windlass.app.data.info import fetch_info, is_here, load_info
    from windlass.cli.data_words import show_info

    if site_name is None and is_here(what):
        found = load_info(Path(what).expanduser())
    else:
        with open_session(output) as session:
            found = fetch_info(session, session.site(read_site_name(site_name)), what)
    if output.as_json:
        output.show_json({"set": found})
        return
    show_info(output, found, with_classes=with_classes)


@click.command("register")
@click.argument("name")
@click.argument("path")
@_ON
@click.option("--description", help="What it is, in words.")
@click.option("--replace", is_flag=True, help="Where the name points elsewhere today.")
@click.pass_obj
def register(
    output: Output, /, name: str, path: str, site_name: str | None, description: str | None, replace: bool
) -> None:
    """Give a name to what lies elsewhere at the site.

    A packed data set, a folder or a file. Nothing is moved.

    \b
    Examples:
      windlass data register imagenet /project/shared/imagenet-packed --on narval
      windlass data register raw '$SCRATCH/raw' --description "as downloaded in May" --on narval
    """
    from windlass.app.data.sets import register_set
    from windlass.core.toml.writing import format_key

    with open_session(output) as session:
        site = session.site(read_site_name(site_name))
        known = register_set(session, site, name, path, description=description, replace=replace)
    if output.as_json:
        output.show_json({"set": known})
    output.tell(f"{name} is {known.set.path} at {site.name}; in windlass.toml: [{format_key(('data', name))}]")


@click.command("unregister")
@click.argument("name")
@_ON
@click.pass_obj
def unregister(output: Output, /, name: str, site_name: str | None) -> None:
    """Forget a name that `register` gave. What it names stays where it is."""
    from windlass.app.data.sets import unregister_set

    with open_session(output) as session:
        site = session.site(read_site_name(site_name))
        path = unregister_set(session, site, name)
    if output.as_json:
        output.show_json({"name": name, "path": path})
    output.tell(f"{name} is no name any more; {path} is as it was")


@click.command("rm")
@click.argument("names", nargs=-1, required=True)
@_ON
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def remove(output: Output, /, names: tuple[str, ...], site_name: str | None, yes: bool) -> None:
    """Remove data sets at a site. One that a waiting or running run reads is refused.

    Of a name that `register` gave only the name goes.
    Other files that lie in its folder are named, and stay.

    \b
    Examples:
      windlass data rm old-set --on narval
      windlass data rm old-set --on narval --yes
    """
    from windlass.app.data.sets import look_before_removing, remove_set

    with open_session(output) as session:
        site = session.site(read_site_name(site_name))
        found = [look_before_removing(session, site, name) for name in names]
        if not yes:
            _ask(found, site.name)
        for one in found:
            remove_set(session, site, one)
            output.tell(f"{one.name}: {_say_gone(one)}")
    if output.as_json:
        output.show_json({"removed": found})


def _ask(found: "list[Removed]", site: str) -> None:
    from windlass.cli.data_words import format_removal
    from windlass.cli.removal_question import confirm_removal

    confirm_removal((format_removal(one) for one in found), site)


def _say_gone(one: "Removed") -> str:
    from windlass.cli.data_words import format_kept

    if one.only_the_name:
        return f"no name any more; {one.path} is as it was"
    return f"the data set in {one.path} is gone{format_kept(one)}" if one.kept else f"{one.path} is gone"


@click.command("share")
@click.argument("name")
@_ON
@click.option("--group", metavar="GROUP", help="The Unix group that may read it; `id` at the site lists yours.")
@click.option("--all", "with_all", is_flag=True, help="Everybody at the site may read it.")
@click.option("--undo", is_flag=True, help="Back to the modes and groups from before.")
@click.option("--dry-run", is_flag=True, help="Only show each change.")
@click.pass_obj
def share(
    output: Output, /, name: str, site_name: str | None, group: str | None, with_all: bool, undo: bool, dry_run: bool
) -> None:
    """Let a group, or everybody at the site, read a data set.

    By group, modes and the setgid bit. What is sent or packed into it later is shared too.
    Folders above it, up to the site's root, are opened for passing through only.

    \b
    Examples:
      windlass data share imagenet --group def-prof --dry-run --on narval
      windlass data share imagenet --group def-prof --on narval
      windlass data share imagenet --undo --on narval
    """
    from windlass.app.data.sets import Sharing, share_set
    from windlass.cli.data_words import show_sharing

    if sum((group is not None, with_all, undo)) != 1:
        raise UsageError("give one of --group, --all and --undo", hint=f"windlass data share {name} --group GROUP")
    sharing = Sharing(group=group, with_all=with_all, undo=undo, apply=not dry_run)
    with open_session(output) as session:
        site = session.site(read_site_name(site_name))
        shared = share_set(session, site, name, sharing)
    if output.as_json:
        output.show_json({"shared": shared})
        return
    show_sharing(output, shared, sharing)


@click.command("advise")
@click.argument("what", metavar="PATH|NAME")
@_ON
@click.option("--memory", metavar="SIZE", help="What a job will have on a node, such as 64G; default: a node's.")
@click.option("--nodes", default=1, show_default=True, type=click.IntRange(1), help="Nodes that read it at once.")
@click.pass_obj
def advise(output: Output, /, what: str, site_name: str | None, memory: str | None, nodes: int) -> None:
    """Say where jobs should read it, and what the quota says.

    Of how it lies now, and of how it would lie packed.
    Up to 10 GB fit into memory and up to 100 GB onto a node's own disk, where the site has no rules of its own.

    \b
    Examples:
      windlass data advise ~/imagenet --on narval
      windlass data advise imagenet --memory 64G --on narval
    """
    from windlass.app.data.advice import advise as advise_on
    from windlass.cli.data_words import read_size_mb, show_advice

    with open_session(output) as session:
        site = session.site(read_site_name(site_name))
        if output.is_terminal:
            output.tell(f"counting the files of {what}")
        found = advise_on(session, site, what, memory_mb=read_size_mb(memory), nodes=nodes)
    if output.as_json:
        output.show_json({"advice": found})
        return
    show_advice(output, found)


COMMANDS = (list_, info, advise, share, register, unregister, remove)
