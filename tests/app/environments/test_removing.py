"""What failed builds and sendings leave at a site: it is told apart from environments, and the same verb removes it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.environments.builds import GOOD, ID, work
from tests.conftest import Places
from windlass import api
from windlass.app.environments.registry import (
    find_environment,
    find_removable,
    look_at_environments,
    remove_environments,
)
from windlass.app.session import Session
from windlass.app.storage.quota import Wanted, look_at_quotas, walk_storage
from windlass.core.environment import Remains
from windlass.core.record import RunRecord
from windlass.edges.folders import find_folders
from windlass.edges.site_files import add_site
from windlass.errors import EnvironmentInUse, EnvironmentNotFound
from windlass_job import wire

FAILED, SENT = "venv-ffffffffff", "venv-5555555555"


@pytest.fixture
def root(places: Places, tmp_path: Path) -> Path:
    """One environment with its wheels, a build that failed, and wheels of one that no login node builds."""
    add_site("lab", f'root = "{tmp_path}/root"\n[software]\nslurm_path = "@pocket"\n', find_folders(os.environ))
    root = tmp_path / "root"
    assert work(root, GOOD)[0] == 0
    assert work(root, "exit 1\n", id=FAILED)[0] != 0
    for env_id in (ID, SENT):
        put(root / wire.WHEELS / env_id / "net-1.0-py3-none-any.whl")
    return root


def put(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * 10_000)


@pytest.fixture
def session(root: Path) -> Iterator[Session]:
    with Session(folders=find_folders(os.environ), environ=os.environ) as opened:
        yield opened


def test_they_are_no_environments_and_are_removed_by_the_beginning_of_their_names(session: Session, root: Path) -> None:
    site = session.site("lab")
    seen = look_at_environments(session, site)
    found = [find_removable(session, site, name[:8]) for name in (FAILED, SENT)]

    with pytest.raises(EnvironmentNotFound, match="was not built to its end") as told:
        find_environment(session, site, FAILED)
    removed = remove_environments(session, site, found)

    assert [one.id for one in seen.environments] == [ID]
    assert {(one.id, one.has_build) for one in seen.remains} == {(FAILED, True), (SENT, False)}
    assert all(isinstance(one, Remains) for one in found)
    assert f"windlass env show {FAILED} --log --on lab" in str(told.value.hint)
    assert [one.files for one in removed] == [1, 1]  # the log; the wheel
    assert sorted(one.name for one in (root / wire.ENVS).iterdir() if one.name[0] != ".") == [ID]
    assert [one.name for one in (root / wire.WHEELS).iterdir()] == [ID]


def test_an_environment_takes_its_wheels_along_or_gives_up_only_them(session: Session, root: Path) -> None:
    site = session.site("lab")

    wheels = remove_environments(session, site, [find_environment(session, site, ID)], only_wheels=True)
    is_kept = find_environment(session, site, ID).id == ID
    put(root / wire.WHEELS / ID / "net-1.0-py3-none-any.whl")
    remove_environments(session, site, [find_environment(session, site, ID)])

    assert ([one.bytes for one in wheels], is_kept) == ([10_000], True)
    assert not (root / wire.WHEELS / ID).exists()
    assert not (root / wire.ENVS / ID).exists()


def test_wheels_that_nodes_of_a_run_will_need_stay(session: Session, root: Path) -> None:
    """Its nodes make the environment of them, so nothing was built whose name the plan could hold."""
    run = root / wire.RUNS / "digits-k3f9w"
    run.mkdir(parents=True)
    lines = [f"printf '%s\\n' 'export WINDLASS_WHEELS={root}/{wire.WHEELS}/{SENT}' > build.sh"]
    (run / wire.PLAN_JSON).write_text(json.dumps({"environment": None, "activate": lines}))
    (run / wire.STATUS).write_text(json.dumps({"state": wire.RUNNING}))

    with pytest.raises(EnvironmentInUse, match="digits-k3f9w"):
        remove_environments(session, session.site("lab"), [find_removable(session, session.site("lab"), SENT)])

    assert (root / wire.WHEELS / SENT).is_dir()


def test_what_a_waiting_run_of_another_laptop_needs_stays(session: Session, root: Path, tmp_path: Path) -> None:
    """No agent says anything yet, and this laptop has never heard of it: the run folder and Slurm know."""
    site = session.site("lab")
    (tmp_path / "project").mkdir()
    elsewhere = {**os.environ, "WINDLASS_STATE_DIR": str(tmp_path / "another-laptop")}
    with Session(folders=find_folders(elsewhere), environ=elsewhere) as other:
        first = run_sleep(other, tmp_path / "project")
        waiting = run_sleep(other, tmp_path / "project", dependency=f"afterok:{first.job_id}")
        use_environment(root, waiting.run_id)

        with pytest.raises(EnvironmentInUse, match=waiting.run_id):
            remove_environments(session, site, [find_environment(session, site, ID)])
        for one in (waiting, first):
            api.cancel(one, session=other)
        removed = remove_environments(session, site, [find_environment(session, site, ID)])

    assert [one.id for one in removed] == [ID]


def run_sleep(session: Session, project: Path, **settings: str) -> RunRecord:
    return api.run(project, on="lab", command="sleep 60", time="2m", session=session, **settings)


def use_environment(root: Path, run_id: str) -> None:
    """As a plan that enters it."""
    path = root / wire.RUNS / run_id / wire.PLAN_JSON
    path.write_text(json.dumps({**json.loads(path.read_text()), "environment": ID}))


def test_quota_tells_them_apart_with_what_removes_each(session: Session, root: Path) -> None:
    walk_storage(session, "lab", Wanted())

    held = {(one.words, one.name): one.remove for one in look_at_quotas(session, "lab").holdings}

    assert {pair: remove for pair, remove in held.items() if pair[1]} == {
        ("environment", ID): f"windlass env rm {ID} --on lab",
        ("remains of the build of", FAILED): f"windlass env rm {FAILED} --on lab",
        ("wheels sent for", ID): f"windlass env rm {ID} --wheels --on lab",
        ("wheels sent for", SENT): f"windlass env rm {SENT} --wheels --on lab",
    }


def test_the_command_lists_them_and_asks_in_their_words(root: Path) -> None:
    listed, as_json = run_cli("list", root), run_cli("list", root, "--json")
    asked, removed = run_cli("rm", root, SENT, "--wheels"), run_cli("rm", root, SENT, "--wheels", "--yes")
    again = run_cli("rm", root, ID, "--wheels", "--yes"), run_cli("rm", root, ID, "--wheels", "--yes")

    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["ID", ID]
    assert f"{FAILED} was not built to its end, or is being built\n  windlass env rm {FAILED}" in listed.stderr
    assert {one["id"] for one in json.loads(as_json.stdout)["remains"]} == {FAILED, SENT}
    assert (asked.returncode, removed.returncode) == (2, 0), asked.stderr + removed.stderr
    assert f"the wheels sent for {SENT}" in asked.stderr
    assert [one.returncode for one in again] == [0, 1]
    assert f"there are no wheels of {ID}" in again[1].stderr


def run_cli(verb: str, root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "windlass", "env", verb, *words, "--on", "lab"]
    return subprocess.run(argv, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
