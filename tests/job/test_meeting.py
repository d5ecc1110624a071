"""Nodes that meet before the training starts: real sockets on addresses of this machine."""

import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from windlass_job.starting import ports
from windlass_job.starting.meeting import Patience, meet

IMPATIENT = Patience(silent_s=0.2, unreachable_s=0.5, late_s=2.0)
PATIENT = Patience(silent_s=20.0, unreachable_s=20.0, late_s=60.0)


def never() -> bool:
    return False


@pytest.fixture
def block() -> int:
    """The first of some ports of which the one that is used is free."""
    with socket.socket() as found:
        found.bind(("", 0))
        port: int = found.getsockname()[1]
    return port - ports.MEETING_PLACE


def make_env(block: int, node: int, *, hosts: str = "localhost,localhost,localhost", local: int = 0) -> dict[str, str]:
    return {
        "SLURM_JOB_ID": "45",
        "SLURM_STEP_ID": "0",
        "SLURM_NODEID": str(node),
        "SLURM_LOCALID": str(local),
        "SLURM_STEP_NODELIST": hosts,
        "SLURM_STEP_TASKS_PER_NODE": "2(x3)",
        "WINDLASS_PORT_BLOCK": str(block),
    }


def meet_at_once(*calls: Callable[[], str | None]) -> list[str | None]:
    told: list[Any] = [NotImplemented] * len(calls)

    def call(at: int) -> None:
        told[at] = calls[at]()

    threads = [threading.Thread(target=call, args=(at,)) for at in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return told


def test_all_go_when_the_last_has_come(block: int) -> None:
    calls = [lambda node=node: meet(make_env(block, node), never, PATIENT) for node in range(3)]

    assert meet_at_once(*calls) == [None, None, None]


def test_the_first_node_names_those_that_did_not_come(block: int) -> None:
    env = make_env(block, 0, hosts="n1,n2,n3")

    assert meet(env, never, IMPATIENT) == "n2, n3 did not come within 2 s"


def test_a_node_whose_way_is_barred_says_so(block: int) -> None:
    env = make_env(block, 2, hosts="no-such-host.invalid,n2,n3")

    told = meet(env, never, IMPATIENT)

    assert told is not None
    assert told.startswith("n3 cannot reach no-such-host.invalid, where all nodes meet: ")


def test_a_first_node_that_is_only_late_is_waited_for(block: int) -> None:
    late = threading.Event()
    threading.Timer(0.7, late.set).start()

    def come_late() -> str | None:
        late.wait(10)
        return meet(make_env(block, 0), never, PATIENT)

    calls = [lambda node=node: meet(make_env(block, node), never, PATIENT) for node in (1, 2)]

    assert meet_at_once(come_late, *calls) == [None, None, None]


def test_others_at_the_door_do_not_count(block: int) -> None:
    """A scanner, or a task of another job: neither ends the waiting."""
    stranger = {**make_env(block, 1), "SLURM_JOB_ID": "46"}

    told = meet_at_once(
        lambda: meet(make_env(block, 0, hosts="localhost,n2,n3"), never, IMPATIENT),
        lambda: meet(stranger, never, IMPATIENT),
    )

    assert told[0] == "n2, n3 did not come within 2 s"


def test_who_is_told_to_stop_does_not_wait(block: int) -> None:
    assert meet(make_env(block, 0), lambda: True, PATIENT) is None
    assert meet(make_env(block, 1), lambda: True, PATIENT) is None


@pytest.mark.parametrize(
    "change",
    [
        {"SLURM_STEP_TASKS_PER_NODE": "8", "SLURM_STEP_NODELIST": "n1"},
        {"SLURM_LOCALID": "1"},
        {"WINDLASS_PORT_BLOCK": ""},
    ],
    ids=["one node", "not the first of its node", "no ports"],
)
def test_nobody_waits_without_need(block: int, change: dict[str, str]) -> None:
    assert meet({**make_env(block, 0, hosts="n1,n2,n3"), **change}, never, IMPATIENT) is None


def test_a_door_that_is_taken_is_no_reason_to_die(block: int, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("", block + ports.MEETING_PLACE))
        taken.listen()

        assert meet(make_env(block, 0), never, IMPATIENT) is None

    assert "the nodes do not meet before the start" in capfd.readouterr().err
