"""What a caller holds of a call at a site: a future of the standard library's, which can be stopped while it runs."""

from concurrent.futures import Future
from typing import Any, Protocol


class Keeper(Protocol):
    """Who has the calls: the desk."""

    def stop(self, future: "CallFuture") -> None: ...

    def is_running(self, task: int) -> bool: ...

    def load_output(self, task: int) -> bytes: ...


class CallFuture(Future[Any]):
    """`task`: its number in the farm, None until it is there."""

    def __init__(self, keeper: Keeper) -> None:
        super().__init__()
        self.task: int | None = None
        self.is_dropped = False  # as `cancelled`, without a lock
        self._keeper = keeper

    def cancel(self) -> bool:
        """Also of a call that runs: its process is ended. False: it is over."""
        if self.cancelled():
            return True
        if not super().cancel():
            return False
        self.is_dropped = True
        self.set_running_or_notify_cancel()  # whoever waits for it is told now
        self._keeper.stop(self)
        return True

    def running(self) -> bool:
        """As the nodes told last."""
        return not self.done() and self.task is not None and self._keeper.is_running(self.task)

    def output(self) -> bytes:
        """What the call has printed so far."""
        return b"" if self.task is None else self._keeper.load_output(self.task)
