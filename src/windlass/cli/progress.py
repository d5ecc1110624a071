"""A progress bar for long work: on a terminal only, and quiet for what takes less than a second."""

import time
from types import TracebackType
from typing import TYPE_CHECKING

from windlass.cli.output import Output

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

_QUIET_S = 1.0


class Progress:
    """`update(done, total)` in bytes; rich is loaded only when there is something to show."""

    def __init__(self, output: Output, what: str) -> None:
        self._output = output
        self._what = what
        self._since = time.monotonic()
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: int, total: int) -> None:
        if not self._output.is_terminal or time.monotonic() - self._since < _QUIET_S:
            return
        bar = self._bar or self._start(total)
        if self._task is not None:
            bar.update(self._task, completed=done, total=total)

    def _start(self, total: int) -> "Bar":
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        self._bar = Bar(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(self._what, total=total)
        self._bar.start()
        return self._bar
