"""`windlass completion`: a static completion script, so that Tab never starts Python."""

import click

from windlass.cli.output import Output


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "tcsh"]))
@click.pass_obj
def command(output: Output, /, shell: str) -> None:
    """Print a completion script for SHELL.

    \b
    Example:
      windlass completion bash > ~/.local/share/bash-completion/completions/windlass
    """
    import shtab
    from shtab.click import click2argparse

    from windlass.cli.main import windlass

    output.show(shtab.complete(click2argparse(windlass), shell=shell))
