"""A damaged env.json: it is listed as such with what to do, hides no neighbour, and can be removed or built again."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.app.environments.builds import GOOD, ID, read_thing, work
from tests.conftest import Places
from windlass.app.environments.building import build_environment
from windlass.app.environments.packing import pack_environment
from windlass.app.environments.registry import (
    find_environment,
    find_removable,
    look_at_environments,
    remove_environments,
)
from windlass.app.environments.seen import read_recipe
from windlass.app.planning import Wanted, plan_run
from windlass.app.session import Session
from windlass.core.environment import Built, Damaged
from windlass.core.run import Environment
from windlass.edges.environments import fetch_built
from windlass.edges.folders import find_folders
from windlass.edges.site_files import add_site
from windlass.errors import EnvironmentFailed, EnvironmentNotFound, UsageError
from windlass_job import wire

_HARMS: dict[str, Callable[[Path], object]] = {
    "cut short": lambda card: card.write_bytes(card.read_bytes()[:60]),
    "empty": lambda card: card.write_bytes(b""),
    "no end of line": lambda card: card.write_bytes(card.read_bytes().rstrip()[:-1]),
    "no JSON": lambda card: card.write_text("windlass-card\n}\n{\n"),
    "a list": lambda card: card.write_text("[1, 2]\n"),
    "other types": lambda card: change(card, packages=["numpy"]),
    "no number": lambda card: change(card, bytes="many"),
    "a time that never was": lambda card: change(card, made=1e300),
    "a number of packages": lambda card: change(card, packed=5),
    "of another": lambda card: change(card, id="venv-ffffffffff"),
    "no path": lambda card: change(card, path=None),
    "not text": lambda card: card.write_bytes(b"\xff\xfe{}\n"),
    "gone": Path.unlink,
    "a folder": lambda card: make_folder(card),
    "two lines": lambda card: change(card, python="3.11.0\nvenv-ffffffffff  venv"),
    "steers the terminal": lambda card: change(card, packages={"numpy": "1.0\x1b[2J"}),
    "a bell": lambda card: change(card, modules=["python\x07"]),
}


def make_folder(card: Path) -> None:
    card.unlink()
    card.mkdir()


_OTHERS = ("venv-0000000000", "venv-9999999999")


def change(card: Path, **values: object) -> None:
    card.write_text(json.dumps({**json.loads(card.read_text()), **values}, indent=1) + "\n")


@pytest.fixture
def root(places: Places, tmp_path: Path) -> Path:
    """Three environments, of which the tests harm the middle one."""
    add_site("lab", f'root = "{tmp_path}/root"\n[software]\nslurm_path = "@pocket"\n', find_folders(os.environ))
    root = tmp_path / "root"
    assert work(root, GOOD)[0] == 0
    for env_id in _OTHERS:
        folder = shutil.copytree(root / wire.ENVS / ID, root / wire.ENVS / env_id, symlinks=True)
        card = folder / wire.ENV_CARD
        card.write_text(card.read_text().replace(ID, env_id))
    return root


@pytest.fixture
def session(root: Path) -> Iterator[Session]:
    with Session(folders=find_folders(os.environ), environ=os.environ) as opened:
        yield opened


def test_each_is_told_with_what_to_do_and_hides_no_other(session: Session, root: Path) -> None:
    site, card = session.site("lab"), root / wire.ENVS / ID / wire.ENV_CARD
    whole = card.read_bytes()
    for words, harm in _HARMS.items():
        harm(card)

        seen = look_at_environments(session, site)

        assert {one.id for one in seen.environments} == set(_OTHERS), words
        assert [one.id for one in seen.damaged] == [ID], words
        with pytest.raises(EnvironmentFailed, match=f"{ID} at lab is damaged: ") as told:
            find_environment(session, site, ID[:8])
        assert f"windlass env rm {ID} --on lab" in str(told.value.hint), words
        with pytest.raises(EnvironmentFailed) as told:
            pack_environment(session, site, ID)
        assert told.value.message.isprintable(), words
        if card.is_dir():
            card.rmdir()
        card.write_bytes(whole)


@pytest.mark.parametrize("words", ["cut short", "other types", "a folder"])
def test_it_is_removed_by_its_name(session: Session, root: Path, words: str) -> None:
    _HARMS[words](root / wire.ENVS / ID / wire.ENV_CARD)
    found = find_removable(session, session.site("lab"), ID[:9])

    (removed,) = remove_environments(session, session.site("lab"), [found])

    assert isinstance(found, Damaged)
    assert (removed.id, removed.files > 1) == (ID, True)
    assert sorted(one.name for one in (root / wire.ENVS).glob("venv-*")) == [*_OTHERS]


@pytest.mark.parametrize("words", ["cut short", "a number of packages", "of another", "a folder"])
def test_it_is_built_again_by_the_next_who_wants_it(session: Session, root: Path, words: str) -> None:
    _HARMS[words](root / wire.ENVS / ID / wire.ENV_CARD)

    code, told = work(root, GOOD.replace("made", "anew"))

    assert (code, told["is_new"], read_thing(root)) == (0, True, "anew\n")
    assert find_environment(session, session.site("lab"), ID).id == ID


def test_a_plan_says_why_and_a_build_puts_it_right(session: Session, tmp_path: Path) -> None:
    site, said = session.site("lab"), list[str]()
    session.tell = said.append
    make_apptainer(tmp_path / "bin")
    recipe = read_recipe(Environment(container="docker://net"), site, tmp_path)
    assert recipe is not None
    folder = Path(site.root) / wire.ENVS / recipe.id
    folder.mkdir()
    (folder / wire.ENV_CARD).write_text("{")

    planned = plan_run(session, Wanted(project=make_project(tmp_path), site="lab"))
    built = build_environment(session, site, recipe)

    (finding,) = [one for one in planned.findings if one.code == "C301"]
    assert f"({recipe.id}) is damaged at lab (env.json cannot be read: " in finding.message
    assert planned.errors == ()
    assert f"{recipe.id} at lab is damaged (env.json cannot be read: " in " ".join(said)
    assert find_environment(session, site, recipe.id) == built


@pytest.mark.usefixtures("root")
def test_a_second_build_says_since_when_it_is_there_and_how_to_build_it_anew(tmp_path: Path) -> None:
    make_apptainer(tmp_path / "bin")
    project = make_project(tmp_path)

    first, second, as_job = (run_cli("build", project, *words) for words in ((), (), ("--as-job", "--json")))
    again = run_cli("build", project, "--again")

    assert [one.returncode for one in (first, second, as_job, again)] == [0, 0, 0, 0], second.stderr
    assert "built      container-" in first.stderr
    assert "there      container-" in second.stderr
    assert re.search(r"; built 20\d\d-\d\d-\d\d \d\d:\d\d, \d+ s ago\n", second.stderr)
    assert "--again builds it anew" in second.stderr
    assert "building " not in second.stderr
    assert json.loads(as_job.stdout)["is_new"] is False
    assert "built      container-" in again.stderr


def make_apptainer(folder: Path) -> None:
    """As much of one as makes an image that no node here may run."""
    folder.mkdir()
    script = '#!/bin/sh\ncase $1 in pull) echo image > "$2" ;; inspect) ;; *) exit 1 ;; esac\n'
    (folder / "apptainer").write_text(script)
    (folder / "apptainer").chmod(0o755)
    (Path.home() / ".bash_profile").write_text(f'export PATH="{folder}:$PATH"\n')


def make_project(folder: Path) -> Path:
    (folder / "train.py").write_text("print(1)\n")
    text = '[run]\ncommand = "python train.py"\n[resources]\ntime = "1m"\n[environment]\ncontainer = "docker://net"\n'
    (folder / "windlass.toml").write_text(text)
    return folder


def point(link: Path, to: str, *, is_there: bool = False) -> None:
    link.unlink()
    link.symlink_to(to)
    if is_there:
        link.with_name(to).mkdir()


_LINKS: dict[str, Callable[[Path], object]] = {
    "gone": Path.unlink,
    "to nowhere": lambda link: point(link, "build-99"),
    "to another build": lambda link: point(link, "build-7", is_there=True),
}


@pytest.mark.parametrize("harm", _LINKS)
def test_a_link_that_jobs_cannot_enter_by_is_damage_too(session: Session, root: Path, harm: str) -> None:
    """Else a build says that it is there, and every job that it is not."""
    before = fetch_built(session.host(session.site("lab")), str(root), ID)

    _LINKS[harm](root / wire.ENVS / ID / wire.ENV_CURRENT)
    after = fetch_built(session.host(session.site("lab")), str(root), ID)

    assert isinstance(before, Built)
    assert isinstance(after, Damaged)
    assert "its link current" in after.problem


def test_a_folder_in_the_place_of_the_link_is_no_obstacle(session: Session, root: Path) -> None:
    link = root / wire.ENVS / ID / wire.ENV_CURRENT
    link.unlink()
    link.mkdir()

    code, told = work(root, GOOD.replace("made", "anew"))

    assert (code, told.get("is_new"), read_thing(root)) == (0, True, "anew\n")


def test_the_beginning_of_an_id_is_enough_to_pack_it(session: Session, root: Path) -> None:
    """As for runs; and one of many is asked for more."""
    packed = pack_environment(session, session.site("lab"), ID[:8])

    assert (packed.id, Path(packed.path).is_file()) == (ID, True)
    with pytest.raises(UsageError, match="venv- is the beginning of "):
        pack_environment(session, session.site("lab"), "venv-")


def test_one_that_was_built_on_ones_own_machine_is_built_anew_there(
    session: Session, root: Path, tmp_path: Path
) -> None:
    """And the run does not go on outside of it, as where none was ever built."""
    add_site("mine", f'extends = "here"\nroot = "{root}"\n', find_folders(os.environ))
    make_apptainer(tmp_path / "bin")
    site, project = session.site("mine"), make_project(tmp_path)
    recipe = read_recipe(Environment(container="docker://net"), site, tmp_path)
    assert recipe is not None
    outside = plan_run(session, Wanted(project=project, site="mine"))
    never = outside.environment
    (root / wire.ENVS / recipe.id).mkdir()
    (root / wire.ENVS / recipe.id / wire.ENV_CARD).write_text("{")

    planned = plan_run(session, Wanted(project=project, site="mine"))
    strict = plan_run(session, Wanted(project=project, site="mine", may_build=False))

    assert never is not None
    assert (never.is_left_out, never.is_missing) == (True, False)
    assert (outside.plan.environment, outside.plan.environment_left_out) == (None, recipe.id)
    assert planned.environment is not None
    assert (planned.environment.is_left_out, planned.environment.is_missing) == (False, True)
    assert planned.plan.environment_left_out is None
    assert "C301" in {one.code for one in strict.errors}


def test_no_name_is_the_name_of_none(session: Session, root: Path) -> None:
    for env_id in _OTHERS:
        shutil.rmtree(root / wire.ENVS / env_id)

    with pytest.raises(EnvironmentNotFound):
        find_removable(session, session.site("lab"), "")


def test_the_command_lists_shows_and_removes_them(root: Path) -> None:
    _HARMS["cut short"](root / wire.ENVS / ID / wire.ENV_CARD)

    listed, as_json = run_cli("list", root), run_cli("list", root, "--json")
    shown, removed = run_cli("show", root, ID), run_cli("rm", root, ID, "--yes")

    assert [one.returncode for one in (listed, as_json, shown, removed)] == [0, 0, 1, 0], removed.stderr
    rows = sorted(line.split()[:2] for line in listed.stdout.splitlines()[1:])
    assert rows == [[_OTHERS[0], "venv"], [ID, "damaged"], [_OTHERS[1], "venv"]]
    assert f"windlass env rm {ID} --on lab" in listed.stderr
    document = json.loads(as_json.stdout)
    assert {one["id"] for one in document["environments"]} == set(_OTHERS)
    assert [one["id"] for one in document["damaged"]] == [ID]
    assert f"error[E901]: {ID} at lab is damaged: env.json cannot be read" in shown.stderr
    assert not (root / wire.ENVS / ID).exists()


def run_cli(verb: str, root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "windlass", "env", verb, *words, "--on", "lab"]
    return subprocess.run(argv, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
