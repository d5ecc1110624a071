"""What `windlass data pack` and `windlass data send` ask alike: how files become a data set."""

from collections.abc import Callable
from typing import Any

import click

_KINDS = click.Choice(["auto", "folder", "list", "table", "tar", "zip"])
_OPTIONS = (
    click.option(
        "--nodes", default=1, show_default=True, type=click.IntRange(1), help="Nodes that will read it at once."
    ),
    click.option("--shard-size", metavar="SIZE", help="Such as 512M; default: by the data, --nodes and the site."),
    click.option("--source-kind", "kind", type=_KINDS, default="auto", show_default=True, help="What SOURCE is."),
    click.option("--labels", metavar="TABLE", help="A CSV of paths and labels about the files of the folder SOURCE."),
    click.option("--compress", is_flag=True, help="Where a trial shows that it pays."),
    click.option("--follow-links", is_flag=True, help="Also into folders that links lead to."),
    click.option("--outside", is_flag=True, help="Also files that a list or a table names outside of its folder."),
    click.option("--licence", help="For the card."),
    click.option("--description", help="For the card."),
)


def packing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_packing(values: dict[str, Any]) -> dict[str, Any]:
    """As PackOptions and SendOptions name them."""
    from windlass.cli.data_words import read_size_bytes

    return {
        "kind": str(values["kind"]),
        "labels": str(values["labels"]) if values["labels"] else None,
        "shard_bytes": read_size_bytes(values["shard_size"]),
        "nodes": int(values["nodes"]),
        "compress": bool(values["compress"]),
        "follow_links": bool(values["follow_links"]),
        "outside": bool(values["outside"]),
        "about": {name: str(values[name]) for name in ("licence", "description") if values[name]},
    }
