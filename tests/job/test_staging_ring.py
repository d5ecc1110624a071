"""Keepers of several nodes pass data around a ring: processes of this machine, each with a disk of its own.

The test is the agent: it gives the orders that srun would hand to all, and reads the answers.
"""

import filecmp
import json
import os
import queue
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.job.harness import OLDEST_AND_NEWEST
from tests.job.packed import make_files, write_packed
from tests.waiting import wait_until
from windlass.edges.job_zip import make_job_zip
from windlass_job.staging.window import SIZE
from windlass_job.working.env_packing import pack
from windlass_job.working.holding import hold_now

WORD = "7" * 64


class Node:
    """A keeper, and the disk of its node."""

    def __init__(self, number: int, scratch: Path, python: str, zip_path: Path) -> None:
        self.number = number
        self.scratch = scratch
        scratch.mkdir(exist_ok=True)
        env = {**os.environ, "SLURM_NODEID": str(number), "SLURMD_NODENAME": f"n{number}", "MY_SCRATCH": str(scratch)}
        env["SLURM_JOB_ID"] = str(os.getpid())
        self.process = subprocess.Popen(
            [python, "-I", str(zip_path), "stage-node"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.answers: list[dict[str, Any]] = []
        self._news: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            answer = json.loads(line)
            self.answers.append(answer)
            self._news.put(answer)

    def order(self, **values: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(values).encode() + b"\n")
        self.process.stdin.flush()

    def wait_for(self, word: str) -> dict[str, Any]:
        deadline = time.monotonic() + 60
        while True:
            answer = self._news.get(timeout=max(0.01, deadline - time.monotonic()))
            if answer["at"] == word:
                return answer
            assert answer["at"] != "failed", self.answers

    @property
    def local(self) -> Path:
        return self.scratch / f"windlass-{os.getuid()}" / "run.1.1-1" / "data" / "set"

    @property
    def notes(self) -> str:
        return "\n".join(answer["text"] for answer in self.answers if answer["at"] == "note")

    def end(self) -> None:
        if self.process.poll() is None:
            self.order(do="end", limit_s=5, is_brought=True)
            self.process.wait(20)


class Nodes(list[Node]):
    def prepare(self) -> list[int]:
        """The ports they listen on."""
        for node in self:
            node.order(
                do="prepare",
                nodes=len(self),
                tag="run.1.1-1",
                run="run",
                scratch="$MY_SCRATCH",
                is_pretended=False,
                word=WORD,
                block=0,
                interface=None,
            )
        return [node.wait_for("prepared")["port"] for node in self]

    def stage(
        self, source: Path, ports: list[int], *, extract: bool = False, more: Sequence[dict[str, Any]] = ()
    ) -> None:
        if source.is_dir():
            one = {"kind": "packed", "card": (source / "dataset.json").read_text(), "bytes": 0}
        else:
            one = {"kind": "file", "card": "", "bytes": source.stat().st_size}
        peers = [["127.0.0.1", port] for port in ports]
        for node in self:
            data = {**one, "name": "set", "source": str(source), "place": "node", "extract": extract}
            node.order(
                do="stage",
                roots={"node": str(node.scratch)},
                sets=[*more, data],
                peers=peers,
                work=str(source.parent),
                bring=[],
            )


@pytest.fixture
def zip_path(tmp_path: Path) -> Path:
    path = tmp_path / "windlass_job.pyz"
    path.write_bytes(make_job_zip())
    return path


@pytest.fixture(params=list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def make_nodes(request: pytest.FixtureRequest, tmp_path: Path, zip_path: Path) -> Iterator[Callable[[int], Nodes]]:
    made = Nodes()

    def make(count: int) -> Nodes:
        made.extend(Node(number, tmp_path / f"disk{number}", request.param, zip_path) for number in range(count))
        return made

    yield make
    for node in made:
        node.end()
        node.process.kill()
        node.process.wait()


def count_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("shard-*"))


def is_whole(node: Node, source: Path) -> bool:
    return all((node.local / path.name).read_bytes() == path.read_bytes() for path in source.glob("shard-*"))


@pytest.mark.parametrize("count", [2, 3, 5])
def test_every_node_gets_all_and_each_byte_is_read_once(
    make_nodes: Callable[[int], Nodes], tmp_path: Path, count: int
) -> None:
    source = tmp_path / "shared"
    write_packed(source, make_files(90, 60_000), shards=7)
    nodes = make_nodes(count)

    nodes.stage(source, nodes.prepare())
    for node in nodes:
        node.wait_for("laid")
    told = [node.wait_for("local") for node in nodes]

    assert all(is_whole(node, source) for node in nodes)
    assert sum(one["read"] for one in told) == count_bytes(source)
    assert sum(one["received"] for one in told) == (count - 1) * count_bytes(source)
    assert [one["failed"] for one in told] == [0] * count
    for node in nodes:
        node.end()
        assert list(node.scratch.iterdir()) == []


def test_a_plain_file_goes_around_too_and_is_awaited(make_nodes: Callable[[int], Nodes], tmp_path: Path) -> None:
    source = tmp_path / "train.h5"
    source.write_bytes(os.urandom(3_000_000))
    nodes = make_nodes(3)

    nodes.stage(source, nodes.prepare())
    for node in nodes:
        node.wait_for("laid")
        assert node.local.read_bytes() == source.read_bytes()

    assert sum(node.wait_for("local")["read"] for node in nodes) == 3_000_000


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, Any]:
    """Larger than what a node holds of it in memory."""
    prefix = tmp_path / "env"
    (prefix / "lib").mkdir(parents=True)
    for number in range(5):
        (prefix / "lib" / f"{number}.so").write_bytes(os.urandom(SIZE // 2))
    target = os.fsencode(tmp_path / "env.tar")
    holding = hold_now(os.fsencode(tmp_path / "held"), "env is packed")
    assert holding is not None
    card = pack(os.fsencode(prefix), target, [os.fsencode(prefix)], {}, holding, lambda *_: None)
    holding.let_go()
    one = {"name": "@environment", "kind": "environment", "place": "node", "extract": False}
    return {**one, "source": os.fsdecode(target), "bytes": card["bytes"], "crc32": card["crc32"]}


def has_environment(node: Node, environment: dict[str, Any]) -> bool:
    source = Path(environment["source"]).with_suffix("")
    names = [path.name for path in (source / "lib").iterdir()]
    return filecmp.cmpfiles(source / "lib", node.local.parents[1] / "env" / "lib", names, shallow=False)[0] == names


def test_an_environment_passes_through_every_node_beside_a_data_set(
    make_nodes: Callable[[int], Nodes], tmp_path: Path, environment: dict[str, Any]
) -> None:
    source = tmp_path / "shared"
    write_packed(source, make_files(40, 60_000), shards=3)
    nodes = make_nodes(3)

    nodes.stage(source, nodes.prepare(), more=[environment])
    for node in nodes:
        node.wait_for("laid")
        assert has_environment(node, environment)
    told = [node.wait_for("local") for node in nodes]

    assert all(is_whole(node, source) for node in nodes)
    assert sum(one["read"] for one in told) == count_bytes(source) + environment["bytes"]
    assert not [path for node in nodes for path in node.scratch.rglob("*env.tar*")]


def test_an_environment_goes_around_a_node_that_dies_in_the_middle(
    make_nodes: Callable[[int], Nodes], tmp_path: Path, environment: dict[str, Any]
) -> None:
    source = tmp_path / "shared"
    write_packed(source, make_files(4, 1_000), shards=1)
    nodes = make_nodes(4)

    nodes.stage(source, nodes.prepare(), more=[environment])
    wait_until(lambda: (nodes[1].local.parents[1] / "env" / "lib" / "1.so").exists(), "a part of it on the second node")
    os.kill(nodes[1].process.pid, signal.SIGKILL)
    nodes[1].process.wait()

    for at in (0, 2, 3):
        nodes[at].wait_for("laid")
        assert has_environment(nodes[at], environment)


def test_where_no_connection_is_possible_each_node_reads_for_itself_and_says_so(
    make_nodes: Callable[[int], Nodes], tmp_path: Path
) -> None:
    source = tmp_path / "shared"
    write_packed(source, make_files(30, 5_000), shards=4)
    nodes = make_nodes(2)
    nodes.prepare()
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))

        nodes.stage(source, [closed.getsockname()[1]] * 2)
        told = [node.wait_for("local") for node in nodes]

    assert all(is_whole(node, source) for node in nodes)
    assert sum(one["read"] for one in told) == 2 * count_bytes(source)
    assert "it reads 2 of 4 files itself" in nodes[0].notes
    wait_until(lambda: "the next node cannot be reached at 127.0.0.1" in nodes[0].notes, "the other half of the story")


def test_a_node_whose_keeper_is_killed_does_not_hold_up_the_others(
    make_nodes: Callable[[int], Nodes], tmp_path: Path
) -> None:
    source = tmp_path / "shared"
    write_packed(source, make_files(200, 400_000), shards=9)
    nodes = make_nodes(3)
    ports = nodes.prepare()

    nodes.stage(source, ports)
    nodes[1].wait_for("laid")
    os.kill(nodes[1].process.pid, signal.SIGKILL)
    nodes[1].process.wait()
    told = [nodes[at].wait_for("local") for at in (0, 2)]

    assert all(is_whole(nodes[at], source) for at in (0, 2))
    assert [one["failed"] for one in told] == [0, 0]


def test_a_stranger_who_does_not_know_the_word_feeds_nothing(
    make_nodes: Callable[[int], Nodes], tmp_path: Path
) -> None:
    source = tmp_path / "shared"
    write_packed(source, make_files(30, 5_000), shards=4)
    nodes = make_nodes(2)
    ports = nodes.prepare()
    strangers = [socket.create_connection(("127.0.0.1", port)) for port in ports]
    for stranger in strangers:
        stranger.sendall(b'{"name": "0", "nonce": "00"}\n{"use": "data", "proof": "00"}\n' + bytes(1000))

    nodes.stage(source, ports)
    told = [node.wait_for("local") for node in nodes]

    assert all(is_whole(node, source) for node in nodes)
    assert sum(one["read"] for one in told) == count_bytes(source)
    for stranger in strangers:
        stranger.close()


def test_a_source_that_vanishes_in_the_middle_leaves_what_came_and_names_the_rest(
    make_nodes: Callable[[int], Nodes], tmp_path: Path
) -> None:
    source = tmp_path / "shared"
    write_packed(source, make_files(30, 5_000), shards=4)
    nodes = make_nodes(2)
    ports = nodes.prepare()
    (source / "shard-00003.tar").unlink()

    nodes.stage(source, ports)
    told = [node.wait_for("local") for node in nodes]

    assert [(one["here"], one["failed"]) for one in told] == [(3, 1), (3, 1)]
    assert not (nodes[0].local / "shard-00003.tar").exists()
    assert not list(nodes[0].local.glob(".*"))
    assert "shard-00003.tar cannot be read" in nodes[0].notes


@pytest.mark.skipif(os.getuid() != 0, reason="only root mounts a small disk")
def test_a_node_whose_disk_is_full_reads_the_rest_where_it_lies_and_the_others_get_all(
    make_nodes: Callable[[int], Nodes], tmp_path: Path
) -> None:
    source = tmp_path / "shared"
    write_packed(source, make_files(40, 100_000), shards=4)
    small = tmp_path / "disk1"
    small.mkdir()
    size = count_bytes(source) // 2
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(small)], check=True)
    try:
        nodes = make_nodes(3)
        nodes.stage(source, nodes.prepare())
        told = [node.wait_for("local") for node in nodes]

        assert [one["failed"] for one in (told[0], told[2])] == [0, 0]
        assert told[1]["failed"] > 0
        assert is_whole(nodes[0], source)
        assert is_whole(nodes[2], source)
        assert "no space left on device" in nodes[1].notes
        for node in nodes:
            node.end()
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_keeper_leaves_and_cleans_up_when_the_agent_is_gone(
    make_nodes: Callable[[int], Nodes], tmp_path: Path
) -> None:
    source = tmp_path / "shared"
    write_packed(source, make_files(30, 5_000), shards=4)
    (node,) = nodes = make_nodes(1)
    nodes.stage(source, nodes.prepare())
    node.wait_for("local")

    assert node.process.stdin is not None
    node.process.stdin.close()

    assert node.process.wait(20) == 0
    assert list(node.scratch.iterdir()) == []


def test_a_keeper_is_not_ended_by_the_signals_that_end_the_command(
    make_nodes: Callable[[int], Nodes], tmp_path: Path
) -> None:
    source = tmp_path / "shared"
    write_packed(source, make_files(30, 5_000), shards=4)
    (node,) = nodes = make_nodes(1)
    nodes.stage(source, nodes.prepare())
    node.wait_for("local")

    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT, signal.SIGHUP):
        os.kill(node.process.pid, number)
    node.order(do="bring", limit_s=5)
    node.order(do="end", limit_s=5, is_brought=True)

    assert node.wait_for("gone")["at"] == "gone"
    wait_until(lambda: node.process.poll() is not None, "it leaves")
