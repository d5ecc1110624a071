"""A Slurm whose programs hang, fail or never stop talking: told in a sentence, and within the time that was given."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from windlass.core.site import Accounting, CostUnit, Site, Software
from windlass.edges.cluster import Cluster
from windlass.edges.host import make_command, make_commands, read_all_completed, read_completed
from windlass.edges.local_host import LocalHost
from windlass.edges.survey import take_survey
from windlass.errors import ClusterUnavailable
from windlass_job.deputy import Call
from windlass_job.deputy_commands import run_all, run_command

PROGRAMS = ("scontrol", "sinfo", "squeue", "sacctmgr", "sacct", "sshare")
LIMIT_S = 1.0


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def host(told: list[str]) -> Iterator[LocalHost]:
    with closing(LocalHost(tell=told.append)) as host:
        yield host


def make_site(folder: Path, body: str, **others: str) -> Site:
    for name in PROGRAMS:
        path = folder / name
        path.write_text(f"#!/bin/sh\n{others.get(name, body)}\n")
        path.chmod(0o755)
    return Site(
        name="sick", software=Software(slurm_path=str(folder)), accounting=Accounting(unit=CostUnit.NONE), storage=()
    )


def test_programs_that_hang_are_given_up_together(host: LocalHost, told: list[str], tmp_path: Path) -> None:
    site = make_site(tmp_path, "exec sleep 300")
    begun = time.monotonic()

    with pytest.raises(ClusterUnavailable, match="sick: Slurm did not answer in time"):
        take_survey(host, site, 0.0, limit_s=LIMIT_S)

    assert time.monotonic() - begun < 20  # not ten times one limit, nor the programs' 300 s
    assert told == []
    assert host.round_trips == 1


def test_programs_that_fail_leave_nothing_to_plan_with(host: LocalHost, tmp_path: Path) -> None:
    site = make_site(tmp_path, "echo no licence >&2; exit 77")

    with pytest.raises(ClusterUnavailable, match="could not be asked: scontrol ended with exit code 77") as caught:
        take_survey(host, site, 0.0)

    assert caught.value.said == "no licence"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("exec yes PartitionName=x", "scontrol said more than 16 MB, and was ended"),
        ("exec seq 1 300000", "too long to be true"),
    ],
)
def test_answers_without_end_are_none(host: LocalHost, tmp_path: Path, body: str, words: str) -> None:
    with pytest.raises(ClusterUnavailable, match=words):
        take_survey(host, make_site(tmp_path, body), 0.0)


def test_one_program_that_is_sick_leaves_the_others_their_word(host: LocalHost, tmp_path: Path) -> None:
    site = make_site(tmp_path, "exit 0", scontrol="echo PartitionName=gpu State=UP", squeue="exec yes 1")

    facts = take_survey(host, site, 0.0)

    assert [one.name for one in facts.partitions or ()] == ["gpu"]
    assert facts.jobs_in_queue is None


def test_what_could_not_begin_in_time_has_timed_out(host: LocalHost, tmp_path: Path) -> None:
    commands = [make_command(["sleep", "300"])] * 9

    [reply] = host.ask([make_commands(commands, limit_s=0.2)])

    assert [one.timed_out for one in read_all_completed(reply, 9)] == [True] * 9


def test_commands_of_the_cluster_share_one_limit(host: LocalHost, tmp_path: Path) -> None:
    site = make_site(tmp_path, 'echo "$1"')

    assert [one.out for one in Cluster(host, site).run([["sinfo", "a"], ["squeue", "b"]])] == ["a\n", "b\n"]
    assert Cluster(host, site).run([]) == []


def test_an_answer_of_sixteen_megabytes_is_whole_and_a_larger_one_is_none(host: LocalHost) -> None:
    whole, cut = (make_command(["head", "-c", str(size), "/dev/zero"]) for size in (16 << 20, 17 << 20))

    done, failed = (read_completed(reply) for reply in host.ask([whole, cut]))

    assert (done.exit_code, len(done.out)) == (0, 16 << 20)
    assert failed.exit_code != 0
    assert "head said more than 16 MB" in failed.err


@pytest.mark.parametrize("operation", [run_all, run_command])
def test_a_sign_of_life_is_given_while_commands_run(operation: Callable[[Call], object]) -> None:
    """From one thread alone, or the frames would mix."""
    command = {"argv": ["sleep", "0.8"]}
    threads = []

    operation(Call({**command, "commands": [command] * 5}, b"", lambda: threads.append(threading.get_ident())))

    assert set(threads) == {threading.get_ident()}
