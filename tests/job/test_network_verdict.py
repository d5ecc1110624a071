"""Who is to blame when nodes cannot talk: what the reports say, and the verdict in words."""

from typing import Any

import pytest

from windlass_job.network.judgement import Verdict, find_launch_failure, judge, list_peers

NODES = ["node1", "node2", "node3", "node4"]
TIMED_OUT = "connection timed out"


def make_reports(hosts: list[str], broken: dict[tuple[str, str], str], **changes: Any) -> dict[str, dict[str, Any]]:
    """Everybody well, but for these calls: (caller, called) -> the error."""
    reports: dict[str, dict[str, Any]] = {}
    for index, host in enumerate(hosts):
        called = [hosts[peer] for peer in list_peers(index, len(hosts))]
        failed = {peer: _fail(peer, broken[host, peer]) for peer in called if (host, peer) in broken}
        reached: dict[str, Any] = {peer: {"ms": 0.2} for peer in called if peer not in failed}
        after = hosts[(index + 1) % len(hosts)]
        if after in reached:
            reached[after]["mb_s"] = changes.get("mb_s", {}).get((host, after), 1000.0)
        ring = {"sum": "right", "sum_s": 0.02, "sum_mb": 4} if not broken else {"sum": "a neighbour is missing"}
        reports[host] = {"reached": reached, "failed": failed, "problems": [], "clock_s": 0.0, **ring}
    return reports


def cut(hosts: list[str], *sick: str, how: str = TIMED_OUT) -> dict[tuple[str, str], str]:
    """Calls to and from these fail."""
    return {(a, b): how for a in hosts for b in hosts if a != b and (a in sick or b in sick)}


def _fail(peer: str, how: str) -> dict[str, Any]:
    if how.startswith("Name"):
        return {"error": how, "kind": "name", "host": f"{peer}i"}
    return {"error": how, "kind": "time", "at": f"10.0.0.{peer[-1]}:15234"}


SIDES = {(a, b): TIMED_OUT for a in NODES for b in NODES if (a in NODES[:2]) != (b in NODES[:2])}
CASES = {
    "one that nobody reaches": (
        cut(NODES, "node3"),
        ("node3",),
        "node3 cannot be reached by the 3 others: connection timed out (10.0.0.3:15234)",
    ),
    "two of four": (
        cut(NODES, "node2", "node4"),
        ("node2", "node4"),
        "node2 cannot be reached by the 3 others: connection timed out (10.0.0.2:15234); "
        "node4 cannot be reached by the 3 others: connection timed out (10.0.0.4:15234)",
    ),
    "the first, where all meet": (
        cut(NODES, "node1"),
        ("node1",),
        "node1 cannot be reached by the 3 others: connection timed out (10.0.0.1:15234)",
    ),
    "a firewall that lets nobody in": (
        {(a, "node2"): "no route to host" for a in NODES if a != "node2"},
        ("node2",),
        "node2 cannot be reached by the 3 others: no route to host (10.0.0.2:15234)",
    ),
    "one that reaches nobody": (
        {("node2", b): "network is unreachable" for b in NODES if b != "node2"},
        ("node2",),
        "node2 cannot reach the 3 others: network is unreachable (10.0.0.1:15234)",
    ),
    "a pair: one of them goes": (
        {("node2", "node3"): TIMED_OUT, ("node3", "node2"): TIMED_OUT},
        ("node3",),
        "node3 cannot be reached by node2: connection timed out (10.0.0.3:15234)",
    ),
    "two halves: those without the first node go": (
        SIDES,
        ("node3", "node4"),
        "node3 cannot be reached by node1 and node2: connection timed out (10.0.0.3:15234); "
        "node4 cannot be reached by node1 and node2: connection timed out (10.0.0.4:15234)",
    ),
    "a name that nobody knows": (
        {(a, "node4"): "Name or service not known" for a in NODES if a != "node4"},
        ("node4",),
        "the name node4i is not known to the 3 others: Name or service not known",
    ),
    "one that knows no names": (
        {("node3", b): "Name or service not known" for b in NODES if b != "node3"},
        ("node3",),
        "node3 cannot reach the 3 others: Name or service not known",
    ),
    "nobody reaches anybody: no node's fault": (
        cut(NODES, *NODES),
        (),
        "the nodes cannot talk to each other: 12 of 12 calls failed: connection timed out (10.0.0.2:15234)",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_node_to_blame_is_named(name: str) -> None:
    broken, sick, sentence = CASES[name]

    verdict = judge(NODES, make_reports(NODES, broken), {})

    assert (verdict.is_well, verdict.sick, verdict.sentence) == (False, sick, sentence)


def test_a_silent_node_is_named_although_others_also_fail_to_reach_it() -> None:
    reports = make_reports(NODES, cut(NODES, "node3"))
    del reports["node3"]

    verdict = judge(NODES, reports, {"node3": "python3: can't open file '/run/windlass_job.pyz'"})

    assert verdict.sick == ("node3",)
    assert verdict.sentence == "node3 did not take part: python3: can't open file '/run/windlass_job.pyz'"


def test_of_two_nodes_nobody_can_tell_which_it_is() -> None:
    pair = NODES[:2]

    verdict = judge(pair, make_reports(pair, cut(pair, "node2")), {})

    assert verdict.sick == ("node1", "node2")
    assert verdict.sentence == "node1 and node2 cannot talk to each other: connection timed out (10.0.0.2:15234)"


def test_names_that_nobody_knows_are_a_wrong_setting_and_no_sick_nodes() -> None:
    for hosts in (NODES, NODES[:2]):
        verdict = judge(hosts, make_reports(hosts, cut(hosts, *hosts, how="Name or service not known")), {})

        assert (verdict.is_well, verdict.sick) == (False, ())


def test_healthy_nodes_with_figures() -> None:
    verdict = judge(NODES, make_reports(NODES, {}, mb_s={("node2", "node3"): 812.4}), {})

    assert verdict == Verdict(
        True,
        "4 nodes talk to each other, all-reduce of 4 MB in 0.020 s, slowest from node2 to node3 with 812 MB/s, "
        "longest answer 0.2 ms",
        figures={
            "nodes": 4,
            "slowest_mb_s": 812.4,
            "median_mb_s": 1000.0,
            "longest_answer_ms": 0.2,
            "sum_s": 0.02,
            "sum_mb": 4,
        },
    )


SLOW = {
    "a slow node": (
        {("node2", "node3"): 11.0, ("node3", "node4"): 12.0},
        ("node3 is slow: 11.0 MB/s, where the median is 506 MB/s",),
    ),
    "a slow way": (
        {("node2", "node3"): 11.0},
        ("the way from node2 to node3 is slow: 11.0 MB/s, where the median is 1000 MB/s",),
    ),
    "not slow enough for a word": ({("node2", "node3"): 101.0}, ()),
}


@pytest.mark.parametrize("name", SLOW)
def test_a_slow_node_is_a_warning(name: str) -> None:
    rates, warnings = SLOW[name]

    verdict = judge(NODES, make_reports(NODES, {}, mb_s=rates), {})

    assert (verdict.is_well, verdict.warnings) == (True, warnings)


def test_a_wrong_sum_is_a_failure_and_a_wrong_clock_a_warning() -> None:
    reports = make_reports(NODES, {})
    reports["node2"]["clock_s"] = -320.0
    assert judge(NODES, reports, {}).warnings == ("the clock of node2 is 320 s behind that of node1",)

    reports["node4"]["sum"] = "wrong"
    assert judge(NODES, reports, {})[:3] == (False, "the sum of an all-reduce came out wrong on node4", ("node4",))


@pytest.mark.parametrize("count", [2, 3, 16, 17, 64, 1000])
def test_everybody_is_called_by_several_and_all_call_the_first(count: int) -> None:
    calls = [list_peers(index, count) for index in range(count)]
    called = [sum(index in peers for peers in calls) for index in range(count)]

    assert all(0 in peers for peers in calls[1:])
    assert all((index + 1) % count in peers for index, peers in enumerate(calls))
    assert min(called) >= min(count - 1, 4)
    assert max(map(len, calls)) <= 15
    assert all(index not in peers for index, peers in enumerate(calls))


@pytest.mark.parametrize("sick", [0, 7, 63])
def test_of_many_nodes_the_one_is_found(sick: int) -> None:
    hosts = [f"n{number}" for number in range(64)]

    verdict = judge(hosts, make_reports(hosts, cut(hosts, hosts[sick])), {})

    assert verdict.sick == (hosts[sick],)


def test_a_whole_fabric_down_is_no_nodes_fault_also_with_many() -> None:
    hosts = [f"n{number}" for number in range(64)]

    assert judge(hosts, make_reports(hosts, cut(hosts, *hosts)), {}).sick == ()


def test_sruns_word_about_a_node() -> None:
    said = (
        "srun: error: Task launch for StepId=17.0 failed on node node3: Communication connection failure\n"
        "srun: error: Application launch failed: Communication connection failure\n"
    )

    assert find_launch_failure(said) == ("node3", "Communication connection failure")
    assert find_launch_failure("srun: error: Node failure on node2\n") == (
        "node2",
        "Slurm says that the node failed",
    )
    assert find_launch_failure("srun: Job step aborted\n") is None
