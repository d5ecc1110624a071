"""How many pilots, how large and how long."""

from dataclasses import replace
from datetime import timedelta

import pytest

from windlass.core.farm.sizing import Asked, PilotSize, Room, There, choose_more, choose_size
from windlass.core.farm.values import FarmNeeds
from windlass.errors import PlanError

ROOM = Room(cpus=64, gpus=0, memory_mb=256_000, nodes=100, longest=timedelta(hours=24))
ASKED = Asked()
HOUR = timedelta(hours=1)
PLAIN = FarmNeeds()


def size(tasks: int, needs: FarmNeeds = PLAIN, room: Room = ROOM, asked: Asked = ASKED) -> PilotSize:
    return choose_size(tasks, needs, room, asked)


def reason(made: PilotSize, field: str) -> str:
    return next(one.why for one in made.reasons if one.field == field)


def test_few_tasks_are_one_pilot_of_their_size() -> None:
    made = size(10, FarmNeeds(cpus=2))

    assert (made.pilots, made.slots, made.cpus) == (1, 10, 20)


def test_many_long_tasks_are_several_whole_nodes() -> None:
    made = size(640, FarmNeeds(task_time=HOUR))

    assert (made.pilots, made.slots, made.cpus, made.at_once) == (10, 64, 64, 640)
    assert made.time == timedelta(hours=1, minutes=30)


def test_a_search_has_pilots_for_what_runs_at_once_and_time_for_all_of_it() -> None:
    made = size(60, FarmNeeds(task_time=HOUR / 2), asked=replace(ASKED, at_once=8))
    on_whole_nodes = size(60, FarmNeeds(task_time=HOUR / 2), replace(ROOM, whole_nodes=True), replace(ASKED, at_once=8))

    assert (made.pilots, made.slots) == (1, 8)
    assert made.time == timedelta(hours=5, minutes=15)  # eight rounds, a quarter more, and the start
    assert "8 rounds of 30 min" in reason(made, "pilot's time")
    assert (on_whole_nodes.slots, on_whole_nodes.time) == (64, made.time)


def test_a_pilot_that_is_shorter_than_a_task_is_refused() -> None:
    with pytest.raises(PlanError, match="a task of 2 min does not fit into a pilot of 1 min") as refused:
        size(1, FarmNeeds(task_time=HOUR / 30), replace(ROOM, is_one_machine=True), Asked(time=HOUR / 60))

    assert refused.value.hint == "--pilot-time 8m, or without it"


def test_short_tasks_do_not_get_a_place_each() -> None:
    made = size(6000, FarmNeeds(task_time=timedelta(seconds=1)))

    assert (made.pilots, made.slots) == (1, 10)
    assert "10 min of work for each place" in reason(made, "tasks at once")


@pytest.mark.parametrize(
    ("needs", "slots"),
    [
        (FarmNeeds(gpus=1), 4),
        (FarmNeeds(gpus=2), 2),
        (FarmNeeds(gpus=1, share=3), 12),
        (FarmNeeds(gpus=1, cpus=32), 2),
        (FarmNeeds(gpus=1, memory_mb=100_000), 2),
    ],
)
def test_as_many_at_once_as_gpus_cores_and_memory_allow(needs: FarmNeeds, slots: int) -> None:
    made = size(1000, needs, replace(ROOM, gpus=4))

    assert made.slots == slots


def test_a_pilot_asks_for_no_more_gpus_than_its_tasks_use() -> None:
    made = size(3, FarmNeeds(gpus=1, share=2, memory_mb=10_000), replace(ROOM, gpus=4))

    assert (made.slots, made.gpus, made.memory_mb) == (3, 2, 30_000)


def test_whole_nodes_are_taken_where_the_site_gives_no_less() -> None:
    made = size(10, FarmNeeds(), replace(ROOM, whole_nodes=True))

    assert (made.cpus, made.slots) == (64, 64)


@pytest.mark.parametrize(
    ("room", "pilots", "why"),
    [
        (replace(ROOM, jobs=((4, "QOS x lets 4 of your jobs run at once"),)), 4, "QOS x"),
        (replace(ROOM, caps=(("cpu", 200, "account y has at most 200 cpu at once"),)), 3, "account y"),
        (replace(ROOM, nodes=2), 2, "there are 2 such nodes"),
        (ROOM, 16, "--pilots says more"),
        (replace(ROOM, is_one_machine=True), 1, "one machine"),
    ],
)
def test_limits_of_the_site_cut_the_number_of_pilots_and_say_so(room: Room, pilots: int, why: str) -> None:
    made = size(10_000, FarmNeeds(task_time=HOUR), room)

    assert made.pilots == pilots
    assert why in reason(made, "pilots")


def test_on_ones_own_machine_a_task_gets_what_there_is_and_that_is_told() -> None:
    made = size(3, FarmNeeds(cpus=64), replace(ROOM, is_one_machine=True, cpus=2, gpus=0))

    assert made.slots == 1
    assert made.shortage == "a task asks for 64 CPUs, and this machine has 2"
    assert size(3, FarmNeeds(cpus=2), replace(ROOM, is_one_machine=True, cpus=2)).shortage == ""


def test_the_user_may_say_more_but_not_more_than_the_site() -> None:
    room = replace(ROOM, jobs=((50, "QOS x lets 50 of your jobs run at once"),))

    assert size(10_000, room=room, asked=Asked(pilots=40)).pilots == 40
    assert size(10_000, room=room, asked=Asked(pilots=400)).pilots == 50


@pytest.mark.parametrize(
    "needs",
    [FarmNeeds(cpus=65), FarmNeeds(gpus=1), FarmNeeds(memory_mb=300_000), FarmNeeds(task_time=timedelta(hours=24))],
)
def test_a_task_that_fits_nowhere_is_refused(needs: FarmNeeds) -> None:
    with pytest.raises(PlanError):
        size(10, needs)


def test_what_nobody_knows_is_not_refused() -> None:
    made = size(100, FarmNeeds(cpus=4), Room())

    assert (made.slots, made.cpus) == (1, 4)


def more(tasks: int, there: There, needs: FarmNeeds = PLAIN, asked: Asked = ASKED, room: Room = ROOM) -> PilotSize:
    made = choose_more(tasks, needs, room, asked, there)
    assert made is not None
    return made


def test_a_farm_that_grew_gets_pilots_for_what_it_has_no_place_for() -> None:
    made = more(40, There(pilots=1, places=1))

    assert (made.pilots, made.slots, made.cpus) == (1, 39, 39)


def test_pilots_are_sized_by_what_is_left_and_by_the_time_that_takes() -> None:
    hour = FarmNeeds(task_time=HOUR)

    few, many = more(2, There(), hour), more(640, There(), hour)

    assert (few.pilots, few.slots, few.time) == (1, 2, timedelta(hours=1, minutes=30))
    assert (many.pilots, many.slots, many.time) == (10, 64, timedelta(hours=1, minutes=30))


def test_where_there_are_places_for_all_nothing_more_is_sent() -> None:
    assert choose_more(40, PLAIN, ROOM, ASKED, There(pilots=1, places=40)) is None
    assert choose_more(0, PLAIN, ROOM, ASKED, There()) is None


def test_as_many_pilots_as_the_user_said_and_no_more() -> None:
    asked = replace(ASKED, pilots=3)

    assert more(500, There(pilots=1, places=64), asked=asked).pilots == 2
    assert choose_more(500, PLAIN, ROOM, asked, There(pilots=3, places=3)) is None


def test_limits_of_the_site_hold_for_what_is_added() -> None:
    room = replace(ROOM, jobs=((2, "QOS small lets 2 of your jobs run at once"),))

    made = more(500, There(pilots=1, places=64), room=room)

    assert (made.pilots, made.slots) == (1, 64)


def test_one_machine_is_filled_up() -> None:
    machine = replace(ROOM, cpus=4, is_one_machine=True)

    made = more(41, There(pilots=1, places=1), room=machine)

    assert (made.pilots, made.slots) == (1, 3)
