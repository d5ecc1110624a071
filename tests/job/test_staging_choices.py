"""Several data sets of one job share the room of a node, and the packed environment shares it with them."""

import pytest

from windlass_job.staging.choosing import CannotExtract, Choice, Room, Want, choose_all, find_room
from windlass_job.staging.environment import Packed, choose_place
from windlass_job.staging.sources import NotThere, Source

GB = 10**9
LIMITS = (10.0 * GB, 100.0 * GB)
BESIDE_60 = "60.0 GB of them for other data: it is read where it lies"


def make_room(*, disk_gb: int = 100, memory_gb: int = 100, shm_gb: int = 500) -> Room:
    disk = {"path": "/scratch", "free": disk_gb * GB, "is_memory": False}
    shm = {"path": "/dev/shm", "free": shm_gb * GB, "is_memory": True}
    return find_room([{"roots": [disk], "shm": shm, "memory_left": memory_gb * GB}])


def choose(room: Room, *wants: Want, gigabytes: int) -> tuple[list[Choice], Room]:
    sources = {want.name: Source("packed", "/x", gigabytes * GB, 10, "", None) for want in wants}
    choices, left = choose_all(list(wants), sources, room, LIMITS)
    return [choice for _, choice in choices], left


def test_two_that_fit_one_at_a_time_do_not_both_go_into_memory() -> None:
    (first, second), _ = choose(make_room(), Want("a", "memory", False), Want("b", "memory", False), gigabytes=60)

    assert first == Choice("memory", None)
    needs = "data.b: a data set of 60.0 GB needs 60.0 GB, and of the job's memory 100.0 GB are left"
    assert second == Choice("shared", f"{needs}, {BESIDE_60}")


def test_the_sum_leaves_the_training_its_share_of_memory() -> None:
    wants = [Want(str(number), "memory", False) for number in range(10)]

    choices, _ = choose(make_room(), *wants, gigabytes=10)

    assert [choice.place for choice in choices] == ["memory"] * 8 + ["shared"] * 2


def test_two_that_fit_one_at_a_time_do_not_both_fit_into_dev_shm() -> None:
    wants = (Want("a", "memory", False), Want("b", "memory", False))

    (_, second), _ = choose(make_room(memory_gb=1000, shm_gb=100), *wants, gigabytes=60)

    assert second.note is not None
    assert f"/dev/shm has 100.0 GB free, {BESIDE_60}" in second.note


def test_two_that_fit_one_at_a_time_do_not_both_go_onto_the_disk() -> None:
    (first, second), _ = choose(make_room(), Want("a", "node", False), Want("b", "node", False), gigabytes=60)

    assert first == Choice("node", None)
    needs = "data.b: a data set of 60.0 GB needs 60.0 GB, and /scratch has 100.0 GB free"
    assert second == Choice("shared", f"{needs}, {BESIDE_60}")


def test_those_left_to_us_fill_a_quarter_of_the_memory_then_the_disk() -> None:
    wants = [Want(str(number), "auto", False) for number in range(5)]

    choices, _ = choose(make_room(disk_gb=22), *wants, gigabytes=10)

    assert [choice.place for choice in choices] == ["memory", "memory", "node", "node", "shared"]


def test_the_word_of_the_user_comes_before_what_is_left_to_us() -> None:
    wants = (Want("a", "auto", False), Want("b", "node", False))

    (first, second), _ = choose(make_room(), *wants, gigabytes=60)

    assert (first.place, second.place) == ("shared", "node")


def test_what_must_be_extracted_comes_first_because_the_job_ends_without_it() -> None:
    wants = (Want("a", "node", False), Want("b", "node", True))

    (first, second), _ = choose(make_room(), *wants, gigabytes=40)

    assert (first.place, second.place) == ("shared", "node")


def test_two_that_cannot_both_be_extracted_end_the_job_before_anything_is_copied() -> None:
    wants = (Want("a", "auto", True), Want("b", "auto", True))

    with pytest.raises(CannotExtract, match=r"data\.b cannot be .* 100\.0 GB free, 88\.0 GB of them for other data"):
        choose(make_room(memory_gb=1), *wants, gigabytes=40)


def test_a_packed_environment_takes_what_the_data_has_left() -> None:
    packed = Packed("/env.tar", {"unpacked": 30 * GB})

    _, beside_60 = choose(make_room(), Want("a", "node", False), gigabytes=60)
    _, beside_70 = choose(make_room(memory_gb=1000), Want("a", "node", False), gigabytes=70)
    _, with_both = choose(make_room(memory_gb=300, disk_gb=10), Want("a", "memory", False), gigabytes=60)

    assert choose_place(packed, beside_60) == "node"
    assert choose_place(packed, beside_70) == "memory"
    with pytest.raises(NotThere, match=r"of the job's memory 300\.0 GB are left, 60\.0 GB of them for other data"):
        choose_place(packed, with_both)
