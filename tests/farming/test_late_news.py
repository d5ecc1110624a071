"""What a file server's client remembers not to be there may be there: nobody leaves before he has looked anew."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from tests.farming.world import MemoryRoll, MemoryStore, Worker, World, grow
from tests.waiting import wait_until
from windlass_job.farming import ledger, table
from windlass_job.farming.clerk import NOT_BEGUN, Clerk
from windlass_job.farming.entries import DiskStore, Ledger
from windlass_job.farming.journal import Journal
from windlass_job.farming.ledger import Told
from windlass_job.farming.member import Member
from windlass_job.farming.roll import Timing


@dataclass
class LateStore(MemoryStore):
    """As NFS: an entry that was not there is not looked for again, until its folder is opened."""

    missing: set[int] = field(default_factory=set)

    def exists(self, number: int) -> bool:
        if number not in self.entries:
            self.missing.add(number)
        return number not in self.missing

    def publish(self, number: int, content: bytes) -> bool:
        self.missing.clear()
        return super().publish(number, content)

    def refresh(self, number: int) -> None:
        self.missing.clear()


def test_a_beat_hears_of_what_was_added() -> None:
    world = World(1, store=LateStore())
    worker = Worker(world, "w000")
    assert worker.member.state.total == 1

    grow(Ledger(MemoryStore(world.store.entries)), 5)  # type: ignore[arg-type]  # as another host sees it
    worker.member.beat()

    assert worker.member.state.total == 6


def test_a_pilot_looks_anew_before_it_leaves(tmp_path: Path) -> None:
    store, tasks = LateStore(), os.fsencode(tmp_path)
    other = Ledger(MemoryStore(store.entries))  # type: ignore[arg-type]
    grow(other, 1)
    other.append(lambda state: (made := ledger.tell(ledger.claim(state, 1)[0], Told(1, 0, 0)), format_claim(made)))
    for first, count in ((0, 1), (1, 2)):
        table.write_rows(tasks, first, [table.make_row({"command": "true"})] * count)
        table.publish(tasks, table.Segment(first, count, table.COMMANDS))
    timing = Timing(60.0, 540.0)
    member = Member("w000", Ledger(store), MemoryRoll(), timing=timing)  # type: ignore[arg-type]
    member.join()
    store.exists(3)
    grow(other, 2)
    clerk = make_clerk(member, tasks, timing)

    clerk.begin()

    wait_until(lambda: clerk.is_over or len(clerk.ready) == 2, "an end, or tasks")
    assert not clerk.is_over
    clerk.end()


def format_claim(state: ledger.State) -> bytes:
    return ledger.format_entry(ledger.CLAIM, "w001", state, moved=[(0, 1, 0)], told=Told(1, 0, 0))


def make_clerk(member: Member, tasks: bytes, timing: Timing) -> Clerk:
    return Clerk(
        member,
        table.Table(tasks),
        Journal(tasks + b"/w000.rec", print),
        slots=2,
        timing=timing,
        linger_s=0.0,
        left_s=lambda: None,
        standing=lambda: NOT_BEGUN,
        wake=lambda: None,
        stops=set,
        beats=[],
    )


def test_a_folder_that_is_not_there_yet_is_no_trouble(tmp_path: Path) -> None:
    DiskStore(os.fsencode(tmp_path / "log")).refresh(1)
