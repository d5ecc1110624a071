"""The rest of a run submitted again from its own job: papers as the laptop writes them, and sent exactly once."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.builders import PLAN
from windlass.core.chain import list_submissions
from windlass.core.codec import from_json, to_json
from windlass.core.job import make_script
from windlass.core.plan import Plan
from windlass.core.site import ChainStyle
from windlass.errors import WindlassError
from windlass_job import wire
from windlass_job.network import successor

CHANGE: dict[str, Any] = {"number": 2, "replaces": 1, "first_link": 2, "links": 4, "exclude": "node3", "chain": "array"}
WIDE = replace(PLAN, nodes=4, network_test=True, replace_nodes=True)
CHAIN = replace(WIDE, links=5)

OLD_AND_REST: dict[str, tuple[Plan, dict[str, Any]]] = {
    "one job": (WIDE, {"first_link": 1, "links": 1}),
    "an array": (CHAIN, {"first_link": 2, "links": 4}),
    "the last link of an array": (CHAIN, {"first_link": 5, "links": 1}),
    "a resumed array": (replace(CHAIN, number=3, first_link=6), {"number": 4, "first_link": 7, "links": 4}),
    "a job that is queued again": (
        replace(CHAIN, chain=ChainStyle.REQUEUE),
        {"first_link": 2, "links": 4, "chain": "requeue"},
    ),
    "one that others exclude nodes from already": (replace(WIDE, exclude="node[7-9]"), {"exclude": "node[7-9],node3"}),
    "one that waited for another": (replace(WIDE, dependency="afterok:12"), {}),
    "one with much around it": (
        replace(
            WIDE,
            account="def-prof",
            partition="gpu",
            qos="high",
            constraint="a100",
            modules=("python/3.11",),
            checkpoint_folder="saves",
            env={"NOTE": "WINDLASS_TOKEN=no $HOME 'x'"},
        ),
        {},
    ),
}


def make_change(plan: Plan, **changes: Any) -> dict[str, Any]:
    change = {**CHANGE, "first_link": 1, "links": 1, **changes}
    return {**change, "token": wire.TOKEN.format(run_id=plan.run_id, number=change["number"])}


def change_plan(plan: Plan, change: dict[str, Any]) -> Plan:
    names = ("number", "first_link", "links", "exclude")
    return replace(plan, chain=ChainStyle(change["chain"]), dependency=None, **{name: change[name] for name in names})


@pytest.mark.parametrize("name", OLD_AND_REST)
def test_the_script_is_what_the_laptop_would_have_written(name: str) -> None:
    plan, changes = OLD_AND_REST[name]
    change = make_change(plan, **changes)

    script = successor.rewrite_script(make_script(plan), change)

    assert script == make_script(change_plan(plan, change))


@pytest.mark.parametrize("link", [1, 2, 5])
def test_links_by_dependency_become_one_array(link: int) -> None:
    plan = replace(CHAIN, chain=ChainStyle.DEPENDENCY)
    own = list_submissions(plan)[link - 1]
    change = make_change(plan, number=6, first_link=link, links=6 - link)

    script = successor.rewrite_script(make_script(own), change)

    assert script == make_script(change_plan(plan, change))


def test_a_script_that_somebody_changed_is_left_alone() -> None:
    script = make_script(WIDE).replace(f"export {wire.ENV_NUMBER}=1", "")

    with pytest.raises(successor.NotMoved, match="not as Windlass wrote it"):
        successor.rewrite_script(script, make_change(WIDE))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "run"
    place.mkdir()
    plan = replace(CHAIN, folder=str(place))
    (place / "job-1.sh").write_text(make_script(plan))
    (place / "plan.json").write_bytes(to_json(plan))
    (place / "submissions" / "1").mkdir(parents=True)
    return place


@pytest.fixture
def env(folder: Path) -> dict[str, str]:
    names = {wire.ENV_RUN_ID: PLAN.run_id, wire.ENV_RUN_DIR: str(folder), wire.ENV_CHAIN: "array"}
    return {**names, wire.ENV_NUMBER: "1", wire.ENV_LINK: "2", wire.ENV_LINKS: "5"}


def add_sbatch(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """In front of the PATH, as a centre's own wrapper is."""
    program = folder.parent / "bin" / "sbatch"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/bash\necho "$@" >> {folder.parent}/calls\n{script}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")


def test_the_rest_goes_as_one_more_submission(
    folder: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    add_sbatch(folder, monkeypatch, "echo 77")

    made = successor.submit_rest(str(folder), env, ["node3"], "node3 is mute")

    token = wire.TOKEN.format(run_id=PLAN.run_id, number=2)
    assert made == {
        "number": 2,
        "token": token,
        "job_id": "77",
        "first_link": 2,
        "links": 4,
        "replaces": 1,
        "exclude": "node3",
    }
    assert successor.list_successors(str(folder)) == [made]
    plan = from_json((folder / "plan.json").read_bytes(), Plan, error=WindlassError, what="plan.json")
    expected = replace(CHAIN, folder=str(folder), number=2, first_link=2, links=4, exclude="node3")
    assert plan == expected
    assert (folder / "job-2.sh").read_text() == make_script(expected)
    assert (folder.parent / "calls").read_text() == f"--parsable {folder}/job-2.sh\n"
    assert json.loads((folder / "submissions" / "2" / "intent.json").read_text())["about"]["why"] == "node3 is mute"


def test_the_next_one_excludes_both_and_after_three_it_ends(
    folder: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    add_sbatch(folder, monkeypatch, "echo 77")
    for number, node in enumerate(["node3", "node4", "node5"], 1):
        made = successor.submit_rest(str(folder), {**env, wire.ENV_NUMBER: str(number)}, [node], "mute")

    assert (made["exclude"], made["replaces"], made["number"]) == ("node3,node4,node5", 3, 4)
    with pytest.raises(successor.NotMoved, match="3 times already"):
        successor.submit_rest(str(folder), {**env, wire.ENV_NUMBER: "4"}, ["node6"], "mute")


def test_a_refusal_leaves_the_number_to_the_next_resume(
    folder: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "sbatch: error: Batch job submission failed: Requested node configuration is not available"
    add_sbatch(folder, monkeypatch, f"echo {words!r} >&2; exit 1")

    with pytest.raises(successor.NotMoved, match=r"Slurm refused it: .*Requested node configuration is"):
        successor.submit_rest(str(folder), env, ["node3"], "mute")

    assert not (folder / "submissions" / "2" / "intent.json").exists()
    assert successor.list_successors(str(folder)) == []
    assert json.loads((folder / "plan.json").read_text())["number"] == 1


def test_where_the_controller_does_not_answer_the_laptop_is_to_find_out(
    folder: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)"
    add_sbatch(folder, monkeypatch, f"echo {words!r} >&2; exit 1")

    made = successor.submit_rest(str(folder), env, ["node3"], "mute")

    assert (made["number"], made["job_id"]) == (2, None)
    assert successor.list_successors(str(folder)) == [made]
