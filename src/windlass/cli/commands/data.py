"""`windlass data`: pack, send, look at and share data sets."""

import click

from windlass.cli.commands import data_moving, data_reading, data_registry
from windlass.cli.groups import InOrder


@click.group("data", cls=InOrder)
def command() -> None:
    """Pack many files into few, bring them to a site, and look after them there.

    \b
    A packed data set is a folder: dataset.json, and large tar archives with an index each.
    Runs name it in windlass.toml:   [data.imagenet]   (source = "set:imagenet")

    \b
    Examples:
      windlass data send ~/imagenet --name imagenet --on narval    pack it on the way
      windlass data ls --on narval
      windlass data advise ~/imagenet --on narval
      windlass data pack ~/imagenet packed/imagenet                only pack it, here
    """


for one in (*data_moving.COMMANDS, *data_registry.COMMANDS, *data_reading.COMMANDS):
    command.add_command(one)
