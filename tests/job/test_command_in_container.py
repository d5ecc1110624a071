"""Whom to ask to stop where a container stands between us and the training."""

from windlass_job.command import find_those_to_ask
from windlass_job.processes import Process


def make(pid: int, parent: int, name: str) -> Process:
    return Process(pid=pid, name=name, state="S", parent=parent, session=10, cpu_ticks=0, resident_pages=1)


def ask(*processes: Process) -> tuple[list[int], list[int]]:
    asked, held = find_those_to_ask(10, {one.pid: one for one in processes})
    return [one.pid for one in asked], [one.pid for one in held]


def test_the_training_is_asked_and_not_what_runs_the_container_nor_what_mounts_it() -> None:
    tree = make(10, 1, "starter"), make(11, 10, "python3"), make(12, 10, "squashfuse_ll"), make(13, 11, "python3")

    assert ask(*tree) == ([11], [])


def test_a_shell_inside_is_held_because_its_end_would_take_the_image_away() -> None:
    tree = make(10, 1, "starter-suid"), make(11, 10, "bash"), make(12, 11, "sh"), make(13, 12, "python3")

    assert ask(*tree) == ([13], [11, 12])


def test_a_shell_outside_is_asked_as_ever() -> None:
    tree = make(10, 1, "bash"), make(11, 10, "starter"), make(12, 11, "bash"), make(13, 12, "python3")

    assert ask(*tree) == ([10, 13], [12])
    assert ask(make(10, 1, "bash"), make(11, 10, "python3")) == ([10, 11], [])


def test_a_container_that_only_starts_is_asked_itself() -> None:
    assert ask(make(10, 1, "apptainer")) == ([10], [])
    assert ask(make(10, 1, "starter"), make(11, 10, "bash")) == ([11], [])
