"""New gauges of runs, brought along with a look at their site that is taken anyway: no round trip of their own."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from windlass.app.session import Session
from windlass.app.watching.mirroring import make_question, open_mirror, take
from windlass.core.record import RunRecord
from windlass.edges.host import Reply, Request
from windlass.edges.mirror import Change
from windlass.edges.run_lock import HeldAlready
from windlass_job import wire

_MOST_AT_ONCE = 4 << 20  # of all runs; what is left of a long one comes with the next look


class GaugesAlong:
    """`requests` go with the look, and `take` gets their answers."""

    def __init__(self, runs: Sequence[tuple[RunRecord, Change]]) -> None:
        self._runs = runs

    @property
    def requests(self) -> list[Request]:
        if not self._runs:
            return []
        runs = [{**make_question(record, change.index), "only": [wire.GAUGES]} for record, change in self._runs]
        arguments = {"runs": runs, "limit": _MOST_AT_ONCE}
        return [Request(operation="read_new", arguments=arguments, idempotent=True)]

    def take(self, replies: Sequence[Reply]) -> None:
        """An answer that is not good is as none: the look itself tells what is wrong."""
        for reply in replies:
            at = 0
            for (_, change), told in zip(self._runs, reply.values["runs"] if reply.ok else (), strict=False):
                at = take(change, told, reply, at)


@contextmanager
def bring_gauges_along(session: Session, records: Sequence[RunRecord]) -> Iterator[GaugesAlong]:
    """Runs whose files another process brings at this moment are passed over: it brings their gauges too."""
    mirror = open_mirror(session)
    with ExitStack() as stack:
        runs = []
        for record in records:
            try:
                runs.append((record, stack.enter_context(mirror.change(record.run_id))))
            except HeldAlready:
                continue
        yield GaugesAlong(runs)
