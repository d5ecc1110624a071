"""Tables that grow: whoever dies, and however many add at once, each task is there once, with its row."""

import multiprocessing
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from windlass_job import disk
from windlass_job.farming import adding, ledger, reading, records, table
from windlass_job.farming.entries import Ledger
from windlass_job.farming.packing import pack, unpack
from windlass_job.farming.table import COMMANDS, Segment

CARD = {"name": "x", "retries": 0}


@pytest.fixture
def farm(tmp_path: Path) -> bytes:
    folder = os.fsencode(tmp_path / "farm")
    adding.lay(folder, CARD, make_rows("first", 3), COMMANDS)
    return folder


def make_rows(name: str, count: int) -> Iterator[bytes]:
    return (table.make_row({"command": f"{name} {number}"}) for number in range(count))


def list_commands(farm: bytes) -> list[str]:
    total = adding.open_ledger(farm).load().total
    return [row.decode() for row in reading.read_rows(farm, 0, total)]


def test_a_new_farm_has_its_tasks_in_the_ledger(farm: bytes) -> None:
    assert len(list_commands(farm)) == 3


def test_a_farm_may_begin_without_tasks(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path / "empty")
    adding.lay(folder, CARD, [], COMMANDS)

    assert adding.add(folder, "a", make_rows("a", 2), COMMANDS) == (0, 2)
    assert len(list_commands(folder)) == 2


def test_an_addition_that_is_asked_for_twice_is_made_once(farm: bytes) -> None:
    first = adding.add(farm, "a", make_rows("a", 5), COMMANDS)

    again = adding.add(farm, "a", make_rows("a", 5), COMMANDS)

    assert first == again == (3, 5)
    assert len(list_commands(farm)) == 8


def test_an_addition_for_a_number_that_another_has_is_not_made(farm: bytes) -> None:
    assert adding.add(farm, "a", make_rows("a", 2), COMMANDS, 3) == (3, 2)

    assert adding.add(farm, "b", make_rows("b", 2), COMMANDS, 3) == (5, 0)
    assert adding.add(farm, "a", make_rows("a", 2), COMMANDS, 3) == (3, 2)  # asked for again: it is done
    assert len(list_commands(farm)) == 5


def test_of_many_who_add_at_the_same_number_one_does(farm: bytes) -> None:
    begin = multiprocessing.get_context("fork").Barrier(6)

    def act(name: str) -> None:
        begin.wait()
        adding.add(farm, name, make_rows(name, 10), COMMANDS, 3)

    workers = [multiprocessing.get_context("fork").Process(target=act, args=(f"add-{one}",)) for one in range(6)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()

    assert len({line.split()[0] for line in list_commands(farm)[3:]}) == 1
    assert len(list_commands(farm)) == 13
    assert len(list(Path(os.fsdecode(farm), "tasks").iterdir())) == 6


def test_who_died_before_the_file_was_made_has_added_nothing(farm: bytes) -> None:
    table.write_rows(farm + b"/tasks", 0, make_rows("dead", 4), "dead")

    assert adding.add(farm, "b", make_rows("b", 2), COMMANDS) == (3, 2)
    assert adding.add(farm, "dead", make_rows("dead", 4), COMMANDS) == (5, 4)


def test_who_died_before_the_ledger_knew_is_finished_by_the_next(farm: bytes) -> None:
    tasks = farm + b"/tasks"
    table.write_rows(tasks, 0, make_rows("dead", 4), "dead")
    table.publish(tasks, Segment(3, 4, COMMANDS, "dead"))

    assert adding.open_ledger(farm).load().total == 3
    assert adding.add(farm, "b", make_rows("b", 2), COMMANDS) == (7, 2)
    assert adding.add(farm, "dead", make_rows("dead", 4), COMMANDS) == (3, 4)
    assert len(list_commands(farm)) == 9


def test_a_look_finishes_it_too(farm: bytes) -> None:
    tasks = farm + b"/tasks"
    table.write_rows(tasks, 0, make_rows("dead", 4), "dead")
    table.publish(tasks, Segment(3, 4, COMMANDS, "dead"))

    assert reading.look(farm, adding.open_ledger(farm))["total"] == 7


def _add_many(farm: bytes, names: list[str]) -> None:
    for name in names:
        adding.add(farm, name, make_rows(name, 10), COMMANDS)


def test_many_who_add_at_once_and_are_killed_lose_and_repeat_nothing(farm: bytes) -> None:
    chance = random.Random(7)
    names = [f"add-{number}" for number in range(120)]
    parts = [names[start::4] for start in range(4)]

    for _ in range(12):  # each time somebody is killed, and all begin anew with the same names, as laptops do
        workers = [multiprocessing.get_context("fork").Process(target=_add_many, args=(farm, part)) for part in parts]
        for one in workers:
            one.start()
        time.sleep(chance.uniform(0.005, 0.06))
        for one in chance.sample(workers, 2):
            one.kill()
        for one in workers:
            one.join()
    for part in parts:
        _add_many(farm, part)

    commands = list_commands(farm)
    assert len(commands) == len(set(commands)) == 3 + 120 * 10
    grown = [entry for entry in Ledger.load_entries(adding.open_ledger(farm)) if entry.kind == ledger.GROW]
    assert sum(entry.ranges[0][1] - entry.ranges[0][0] for entry in grown) == 1203


def test_a_failed_task_is_given_back_once_however_many_ask(farm: bytes) -> None:
    fail(farm, "w.001.0001.01.0000", 1)

    assert adding.retry(farm, None, 0) == [1]
    assert adding.retry(farm, None, 0) == []
    assert adding.retry(farm, {1}, 0) == []


def test_a_task_that_runs_again_is_not_given_back_for_its_old_failure(farm: bytes) -> None:
    fail(farm, "w.001.0001.01.0000", 1)
    adding.retry(farm, None, 0)
    claim(farm, "w.001.0001.01.0000")

    assert adding.retry(farm, None, 0) == []

    fail(farm, "w.001.0001.01.0000", 1, is_claimed=True)
    assert adding.retry(farm, None, 0) == [1]


def claim(farm: bytes, who: str) -> int:
    def change(state: ledger.State) -> tuple[ledger.State, bytes]:
        made, taken = ledger.claim(state, 100)
        return made, ledger.format_entry(ledger.CLAIM, who, made, moved=taken)

    made = adding.open_ledger(farm).append(change)
    assert made is not None
    return made.number


def fail(farm: bytes, who: str, task: int, *, is_claimed: bool = False) -> None:
    number = adding.open_ledger(farm).load().number if is_claimed else claim(farm, who)
    with open(farm + b"/pilots/" + disk.as_path(who) + b".rec", "a") as file:
        file.write(records.format_claim(number))
        file.write(records.format_start(task, 1, 1.0))
        file.write(records.format_end(records.Ended(task, 1, 3, 1.0, 1.0, 0.0, 0.0, "no")))


def test_rows_of_any_bytes_travel_in_pieces() -> None:
    rows = [os.urandom(size) for size in (0, 1, 10, 5 << 20, 4 << 20, 3)]

    pieces = list(pack(rows))

    assert len(pieces) == 2
    assert [row for piece in pieces for row in unpack(piece)] == rows


def test_a_piece_that_is_cut_short_is_refused() -> None:
    (piece,) = pack([b"a", b"b"])

    with pytest.raises(ValueError, match="no piece of a table"):
        unpack(piece[:-3])
