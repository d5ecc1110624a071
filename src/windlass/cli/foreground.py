"""Commands that stay in the foreground, such as tunnels: however they are ended, they clean up behind them."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from windlass.app.following import Update
from windlass.cli.following import format_state
from windlass.cli.output import Output


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """A closed terminal or a `kill` ends them as Ctrl-C does."""
    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, _interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


class States:
    """What becomes of a run, told as it changes."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._told = ""

    def tell(self, update: Update) -> None:
        if update.problem:
            self._output.tell(self._output.paint(update.problem, "yellow"))
        if update.record is None or update.record.state.is_final:
            return
        words = format_state(update.record)
        if words != self._told:
            self._told = words
            self._output.tell(self._output.paint(words, "grey"))
