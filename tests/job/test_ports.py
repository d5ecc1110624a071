"""Two jobs on one node never clash on a port."""

import itertools
import re
import socket
from contextlib import ExitStack
from pathlib import Path

from tests.job.harness import Job
from tests.waiting import wait_until
from windlass_job import wire
from windlass_job.starting.ports import get_first_port, get_master_port, make_variables, take_block

JOB = 987_654


def test_blocks_of_neighbours_do_not_overlap_and_stay_below_what_the_system_gives() -> None:
    starts = sorted(get_first_port(job) for job in range(JOB, JOB + wire.PORT_BLOCKS))

    assert all(second - first == wire.PORT_BLOCK for first, second in itertools.pairwise(starts))
    assert starts[0] >= 1024
    assert starts[-1] + wire.PORT_BLOCK <= 32768


def test_a_taken_block_is_passed_over_and_comes_back() -> None:
    first = take_block(JOB)
    second = take_block(JOB)
    assert first is not None
    assert second is not None

    with socket.socket(socket.AF_INET) as listener:
        listener.bind(("127.0.0.1", first.first + 1))  # the rest of the block is the command's to use

    assert abs(second.first - first.first) >= wire.PORT_BLOCK
    taken = first.first
    first.close()
    again = take_block(JOB)
    assert again is not None
    assert again.first == taken
    second.close()
    again.close()


def test_a_port_held_by_a_stranger_is_passed_over() -> None:
    """On any port of the block, on any address, in IPv4 and IPv6."""
    free = take_block(JOB + 100)
    assert free is not None
    free.close()
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"), (socket.AF_INET, "0.0.0.0")):
        with socket.socket(family) as stranger:
            stranger.bind((address, free.first + 7))
            stranger.listen()
            block = take_block(JOB + 100)
            assert block is not None
            assert block.first != free.first
            block.close()


def test_somebodys_own_port_is_left_alone() -> None:
    reckoned = str(get_master_port(45))

    assert make_variables({"SLURM_JOB_ID": "45", "MASTER_PORT": reckoned}, 12000)["MASTER_PORT"] == "12001"
    assert make_variables({"SLURM_JOB_ID": "45"}, 12000)["MASTER_PORT"] == "12001"
    assert make_variables({"SLURM_JOB_ID": "45", "MASTER_PORT": "29500"}, 12000) == {"WINDLASS_PORT_BLOCK": "12000"}


def test_two_agents_at_once_with_one_job_number_have_ports_of_their_own(tmp_path: Path) -> None:
    """As two jobs whose numbers are 1250 apart on one node."""
    jobs = [Job(tmp_path / name, env={"SLURM_JOB_ID": str(JOB + 200)}) for name in ("one", "two")]
    with ExitStack() as stack:
        for job in jobs:
            job.home.mkdir()
            stack.enter_context(job.start("bash", "-c", "echo $WINDLASS_PORT_BLOCK $MASTER_PORT; sleep 60"))
        wait_until(lambda: all(job.log.endswith("\n") for job in jobs), "both have told their ports")
        told = [[int(word) for word in re.findall(r"\d+", job.log)] for job in jobs]

    assert all(master == block + 1 for block, master in told)
    assert abs(told[0][0] - told[1][0]) >= wire.PORT_BLOCK


def test_the_command_does_not_hold_the_agents_port(tmp_path: Path) -> None:
    job = Job(tmp_path, env={"SLURM_JOB_ID": str(JOB + 300)})
    python = "import os, socket; s = socket.socket(); s.bind(('', int(os.environ['MASTER_PORT']))); s.listen()"

    assert job.run(job.python, "-c", python) == 0
