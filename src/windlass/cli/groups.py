"""Commands of several verbs, such as `windlass farm`."""

import click

_ALL = 1000  # letters: lines are folded, not cut


class InOrder(click.Group):
    """Verbs as they are used and not by the alphabet, each with its whole first sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        shown = [(name, one) for name, one in self.commands.items() if not one.hidden]
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(_ALL)) for name, one in shown])
