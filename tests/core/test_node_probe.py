"""What a probe's answer means for a site: one that is as its file says, and each way in which it is not."""

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import GPU_NODE, SITE
from windlass.core.seen.node_probe import NodeSeen, judge_probe, learn_from, read_node
from windlass.core.site import GpuKind, Rules, Site, Software

TOLD: dict[str, Any] = {
    "host": "n1",
    "architecture": "x86_64",
    "cpus": 16,
    "glibc": "2.28",
    "python": "3.6.8",
    "cuda": "13.0",
    "gpus": [{"name": "NVIDIA H200", "driver": "580.159.04", "memory_mb": "143771", "capability": "9.0"}],
    "internet": {"reached": [], "tried": ["pypi.org"], "proxy": None},
    "shared_memory": {"path": "/dev/shm", "size_mb": 64_000, "free_mb": 64_000},
    "local_disk": {"path": "/tmp/1", "variable": "TMPDIR", "kind": "xfs", "size_mb": 800_000, "free_mb": 700_000},
    "home": {"path": "/home/alice", "is_there": True, "is_writable": True},
    "folders": {"/scratch": {"path": "/scratch", "is_there": True, "is_writable": False}},
    "locked_memory_kb": None,
    "time": 1000.0,
}
OFFLINE = replace(SITE, gpus=(GpuKind(name="h200", capability="9.0"),), rules=Rules(compute_internet=False))


def bad(
    told: dict[str, Any], site: Site = OFFLINE, *, asked_at: float = 990.0, got_at: float = 1010.0
) -> dict[str, str]:
    remarks = judge_probe(told, site, asked_at=asked_at, got_at=got_at)
    return {one.what: one.words for one in remarks if not one.is_good}


def test_a_node_as_the_file_says() -> None:
    remarks = {one.what: one.words for one in judge_probe(TOLD, OFFLINE, asked_at=990, got_at=1010)}

    assert bad(TOLD) == {}
    assert remarks["gpu"] == ("1 x NVIDIA H200, 143.8 GB, driver 580.159.04, CUDA up to 13.0, compute capability 9.0")
    assert remarks["internet"] == "none: tried pypi.org"


@pytest.mark.parametrize(
    ("change", "what", "words"),
    [
        ({"architecture": "ppc64le"}, "node", "the file knows x86_64"),
        ({"gpus": None}, "gpu", "none was seen"),
        ({"gpus": [{"name": "Tesla K40m", "capability": "3.5"}]}, "gpu", "compute capability 3.5, the file knows 9.0"),
        ({"internet": {"reached": ["pypi.org"], "tried": []}}, "internet", "reached pypi.org"),
        ({"shared_memory": None}, "/dev/shm", "not there"),
        ({"shared_memory": {"size_mb": 64}}, "/dev/shm", "0.1 GB"),
        ({"home": {"is_there": False}}, "home", "home cannot be written to in jobs"),
        ({"folders": {"/nearline": {"path": "/nearline", "is_there": False}}}, "folders", "/nearline is not there"),
        ({"locked_memory_kb": 64}, "limits", "only 64 kB may be locked"),
        ({"time": 1075.0}, "clock", "+65 s"),
        ({"time": 900.0}, "clock", "-90 s"),
    ],
)
def test_each_way_in_which_it_is_not(change: dict[str, Any], what: str, words: str) -> None:
    found = bad({**TOLD, **change})

    assert list(found) == [what]
    assert words in found[what]


def test_a_local_disk_much_smaller_than_written() -> None:
    site = replace(OFFLINE, node_types=(replace(GPU_NODE, local_disk_gb=3000),))

    assert "the file says 3000 GB" in bad(TOLD, site)["local disk"]
    assert bad(TOLD, replace(OFFLINE, node_types=(replace(GPU_NODE, local_disk_gb=840),))) == {}


@pytest.mark.parametrize("told", [{}, {"gpus": "x", "internet": 3, "shared_memory": [], "folders": None, "home": None}])
def test_an_answer_of_another_shape_is_no_accident(told: dict[str, Any]) -> None:
    judge_probe(told, OFFLINE, asked_at=0, got_at=1)


def test_what_a_probe_saw_fills_in_what_the_file_leaves_open() -> None:
    node = read_node(TOLD, 5.0)
    silent = replace(SITE, rules=Rules(compute_internet=None))

    assert node == NodeSeen(internet=False, driver="580.159.04", cuda="13.0", taken_at=5.0)
    learned = learn_from(silent, node)
    assert (learned.rules.compute_internet, learned.software.driver) == (False, "580.159.04")
    assert learn_from(silent, None) == silent


def test_what_the_file_says_stands() -> None:
    written = replace(SITE, rules=Rules(compute_internet=True), software=Software(driver="515.48.07", cuda="11.7"))

    assert learn_from(written, read_node(TOLD, 5.0)) == written


def test_a_probe_that_saw_nothing_teaches_nothing() -> None:
    assert read_node({"gpus": ["x"], "internet": 3}, 0.0) == NodeSeen()
