"""The nodes' part of the network test: real processes, each on a loopback address of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.job.harness import OLDEST_AND_NEWEST
from tests.waiting import wait_until
from windlass.edges.job_zip import make_job_zip
from windlass_job.network.judgement import judge

HOSTS = [f"node{number}" for number in range(1, 5)]
WORD = "ab" * 32


def find_address(host: str) -> str:
    return f"127.0.0.{1 + int(host.removeprefix('node'))}"


class Nodes:
    """Each has a process of its own; `silent` ones never start."""

    def __init__(self, folder: Path, block: int, python: str = sys.executable) -> None:
        self.folder, self.block = folder, block
        self._zip = folder / "windlass_job.pyz"
        self._zip.write_bytes(make_job_zip())
        self._python = python
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, *names: str, hosts: list[str] = HOSTS, **changes: Any) -> None:
        plan: dict[str, Any] = {"hosts": hosts, "suffix": "", "block": self.block, "rendezvous": self.block + 1}
        plan |= {"word": WORD, "addresses": None if "addresses" in changes else [find_address(host) for host in hosts]}
        (self.folder / "test.json").write_text(json.dumps({**plan, **changes}))
        for name in names:
            argv = [self._python, "-I", str(self._zip), "network-task", str(self.folder)]
            env = {**os.environ, "SLURMD_NODENAME": name}
            self._running.append(subprocess.Popen(argv, env=env, stderr=subprocess.DEVNULL))

    def gather(self) -> dict[str, dict[str, Any]]:
        for process in self._running:
            process.wait(40)
        files = [path for path in self.folder.glob("*.json") if path.name != "test.json"]
        return {path.name.removesuffix(".json"): json.loads(path.read_text()) for path in files}

    def end(self) -> None:
        for process in self._running:
            process.kill()
            process.wait()


@pytest.fixture
def block() -> int:
    """Ports that nobody has now, by the number of this process."""
    return 20000 + 16 * (os.getpid() % 700)


@pytest.fixture
def nodes(tmp_path: Path, block: int) -> Iterator[Nodes]:
    made = Nodes(tmp_path, block)
    yield made
    made.end()


@pytest.mark.parametrize("python", list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def test_healthy_nodes_reach_each_other_and_sum_right(tmp_path: Path, block: int, python: str) -> None:
    nodes = Nodes(tmp_path, block, python)
    nodes.start(*HOSTS)

    reports = nodes.gather()

    verdict = judge(HOSTS, reports, {})
    assert verdict.is_well, verdict
    assert all(report["sum"] == "right" for report in reports.values())
    assert {host: set(report["reached"]) for host, report in reports.items()} == {h: {*HOSTS} - {h} for h in HOSTS}
    # The first node is called where the training will call it, the others on a spare port of the job.
    assert reports[HOSTS[1]]["reached"][HOSTS[0]]["at"] == f"127.0.0.2:{block + 1}"
    assert reports[HOSTS[0]]["reached"][HOSTS[1]]["at"] == f"127.0.0.3:{block + 15}"
    assert "4 nodes talk to each other, all-reduce of 4 MB" in verdict.sentence


def test_two_nodes_are_a_ring_too(nodes: Nodes) -> None:
    nodes.start(*HOSTS[:2], hosts=HOSTS[:2])

    assert [report["sum"] for report in nodes.gather().values()] == ["right", "right"]


def test_twenty_nodes_need_not_all_call_each_other(nodes: Nodes) -> None:
    hosts = [f"node{number}" for number in range(1, 21)]
    nodes.start(*hosts, hosts=hosts)

    reports = nodes.gather()

    assert judge(hosts, reports, {}).is_well
    assert max(len(report["reached"]) for report in reports.values()) <= 6


@pytest.mark.slow
def test_a_node_that_never_comes_is_named_by_all_others(nodes: Nodes) -> None:
    nodes.start(HOSTS[0], HOSTS[1], HOSTS[3])

    reports = nodes.gather()

    verdict = judge(HOSTS, reports, {HOSTS[2]: "it left no report"})
    assert verdict.sick == (HOSTS[2],)
    assert all(report["failed"][HOSTS[2]]["error"] == "connection refused" for report in reports.values())
    assert all(report["took_s"] < 25 for report in reports.values())


def test_a_task_that_starts_late_is_waited_for(nodes: Nodes) -> None:
    nodes.start(*HOSTS[:3])
    time.sleep(2)
    nodes.start(HOSTS[3])

    assert judge(HOSTS, nodes.gather(), {}).is_well


@pytest.mark.slow
def test_a_name_that_is_not_known_is_told(nodes: Nodes) -> None:
    hosts = ["localhost", "no-such-node.invalid"]
    nodes.start("localhost", hosts=hosts, addresses=None)

    (report,) = nodes.gather().values()

    assert report["failed"]["no-such-node.invalid"]["kind"] == "name"
    assert report["failed"]["no-such-node.invalid"]["error"]


def test_a_port_that_somebody_else_has_is_gone_around(nodes: Nodes, block: int) -> None:
    with socket.create_server(("127.0.0.3", block + 15)):
        nodes.start(*HOSTS)

        reports = nodes.gather()

    assert judge(HOSTS, reports, {}).is_well
    assert reports[HOSTS[0]]["reached"]["node2"]["at"] == f"127.0.0.3:{block + 14}"


def test_who_does_not_know_the_word_is_not_heard(nodes: Nodes, block: int) -> None:
    nodes.start(HOSTS[0], hosts=HOSTS[:2])
    wait_until(lambda: _is_listening("127.0.0.2", block + 1), "the first node listens")
    with socket.create_connection(("127.0.0.2", block + 1)) as calling:
        calling.sendall(b'{"name": "node2", "nonce": "00"}\n')
        answer = json.loads(calling.makefile("rb").readline())
        calling.sendall(b'{"use": "greeting", "proof": "guessed"}\n')
        with suppress(ConnectionResetError):
            assert calling.recv(1) == b""  # hung up
    nodes.start(HOSTS[1], hosts=HOSTS[:2])

    reports = nodes.gather()

    assert set(answer) == {"name", "proof", "nonce", "address"}
    assert reports[HOSTS[0]]["sum"] == "right"


def test_nobody_listens_when_the_test_is_over(nodes: Nodes, block: int) -> None:
    nodes.start(*HOSTS)
    nodes.gather()

    # Bound without SO_REUSEADDR, as some trainings do: no connection lingers on the rendezvous port.
    with socket.socket() as training:
        training.bind(("127.0.0.2", block + 1))


def test_a_task_that_slurm_ends_leaves_its_report(nodes: Nodes) -> None:
    nodes.start(HOSTS[0])
    report = nodes.folder / f"{HOSTS[0]}.json"
    wait_until(report.exists, "it has begun")
    time.sleep(0.3)
    nodes._running[0].send_signal(signal.SIGTERM)

    reports = nodes.gather()

    assert reports[HOSTS[0]]["problems"] == ["stopped by Slurm before the end of the test"]


def _is_listening(host: str, port: int) -> bool:
    with socket.socket() as calling:
        return calling.connect_ex((host, port)) == 0
