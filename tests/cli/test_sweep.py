"""`windlass sweep` as it is typed: the command or the values first, `show` in all its forms, mistakes in words."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Places

WINDLASS = Path(sys.executable).parent / "windlass"
TOML = '[run]\nname = "tune"\ncommand = "true"\n[resources]\ncpus = 1\n'
COMMAND = "echo loss={x}{kind}"


@pytest.fixture
def project(tmp_path: Path, places: Places) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "windlass.toml").write_text(TOML)
    (places.pocket / "pocket.toml").write_text("idle_s = 1\nkill_wait_s = 2\ncpus = 4\nmemory_mb = 4000\n")
    return folder


def run(folder: Path, *words: str, code: int = 0) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run([WINDLASS, *words], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_a_sweep_from_its_first_word_to_its_pictures(project: Path) -> None:
    done = run(project, "sweep", COMMAND, "x=2,1,3", 'kind="",e1', "--pattern", "loss=(.*)", code=2)
    assert "empty value" in done.stderr

    done = run(project, "sweep", COMMAND, "x=2,1,3", "kind=e0,e1", "--pattern", "loss=(.*)")
    assert "trial 2: least loss, 1" in done.stdout
    assert "command    echo loss=1e0" in done.stdout

    shown = json.loads(run(project, "sweep", "show", "last", "--json").stdout)["sweep"]
    assert shown["best"]["trial"]["number"] == 2
    assert [one["metric"] for one in shown["trials"]] == [1, 2, 3, 10, 20, 30]
    rows = list(csv.DictReader(io.StringIO(run(project, "sweep", "show", "last", "--csv").stdout)))
    assert [row["trial"] for row in rows] == ["2", "0", "4", "3", "1", "5"]
    run(project, "sweep", "show", "last", "--picture", "p.svg", "--history", "h.svg")
    assert (project / "p.svg").read_text().startswith("<svg")
    assert (project / "h.svg").read_text().startswith("<svg")
    name = shown["id"]
    run(project, "run", "--detach")
    assert json.loads(run(project, "sweep", "show", "--json").stdout)["sweep"]["id"] == name
    assert run(project, "explain", name).stdout.endswith(f"windlass sweep show {name}\n")
    assert "no name of a picture" in run(project, "sweep", "show", "last", "--picture", "p.gif", code=2).stderr


def test_a_sweep_of_nothing_says_how_one_is_written(tmp_path: Path, places: Places) -> None:
    (tmp_path / "empty").mkdir()

    told = run(tmp_path / "empty", "sweep", code=2).stderr

    assert "there is nothing to try" in told
    assert 'windlass sweep "python train.py --lr {lr}" lr=0.1,0.01' in told
    assert "windlass init" not in told


def test_a_plan_says_how_many_trials_there_are_and_sends_nothing(project: Path) -> None:
    told = run(project, "sweep", COMMAND, "x=2,1,3", "kind=e0", "--pattern", "loss=(.*)", "--plan").stderr

    assert "tasks      3, the first: echo loss=2e0" in told
    assert "nothing was sent" in told
    assert json.loads(run(project, "ps", "--json", "--cached").stdout)["runs"] == []


def test_who_leaves_a_sweep_alone_is_told_that_nothing_is_stopped_meanwhile(project: Path) -> None:
    words = ("x=1,2", "--pattern", "loss=(.*)", "--prune", "median", "-d")
    name = run(project, "sweep", "echo loss={x}", *words)

    assert f"windlass sweep resume {name.stdout.strip()}" in name.stderr
    assert "only while a windlass follows" in name.stderr
    run(project, "wait", "last")
    assert "best       trial" in run(project, "sweep", "show").stdout


def test_the_run_file_is_enough_and_flags_win(project: Path) -> None:
    sweep = '[sweep]\ncommand = "echo loss={x}"\npattern = "loss=(.*)"\n[sweep.space]\nx = [1, 2]\n'
    (project / "windlass.toml").write_text(TOML + sweep)

    done = run(project, "sweep", "x=5,7", "--goal", "max")

    assert "most loss, 7" in done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("echo {lr}", "x=1"), "{lr}"),
        (("echo {x}", "x=1..0"), "empty range"),
        (("echo {x}", "extra", "x=1"), "neither a command nor NAME=VALUES"),
        (("echo {x}", "x=0..1"), "how many trials"),
        (("echo {x}", "x=0..1", "--method", "optuna", "--trials", "3", "-d"), "must stay"),
        (("echo {x}", "x=1,2", "--set", "resources.nodes=2"), "one node"),
        ((), "no values to try"),
    ],
)
def test_mistakes_are_told_and_nothing_is_sent(project: Path, words: tuple[str, ...], told: str) -> None:
    done = run(project, "sweep", *words, code=2)

    assert told in done.stderr
    assert json.loads(run(project, "ps", "--json", "--cached").stdout)["runs"] == []


@pytest.mark.parametrize("verb", ["show", "resume"])
def test_a_run_that_is_no_sweep_says_so(project: Path, verb: str) -> None:
    run(project, "run", "--detach")

    told = run(project, "sweep", verb, "last", code=2).stderr

    assert "is no sweep" in told
    assert "try: windlass sweep " in told


def test_the_help_says_where_all_options_are(project: Path) -> None:
    assert "windlass sweep run --help" in run(project, "sweep", "--help").stdout


def test_a_search_is_not_resumed_and_left_alone(project: Path) -> None:
    search = ("--method", "optuna", "--trials", "1", "--pattern", "loss=(.*)")
    run(project, "sweep", "echo loss={x}", "x=0..1", *search)

    assert "must stay" in run(project, "sweep", "resume", "last", "--trials", "1", "-d", code=2).stderr

    assert json.loads(run(project, "sweep", "show", "last", "--json").stdout)["sweep"]["wanted"]["trials"] == 1


def test_following_ends_when_the_sweep_is_cancelled(project: Path) -> None:
    words = [str(WINDLASS), "sweep", "sleep 300; echo loss={x}", "x=1,2,3", "--pattern", "loss=(.*)"]
    with subprocess.Popen(words, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as following:
        assert following.stderr is not None
        line = next(line for line in following.stderr if line.startswith("submitted"))
        name = line.split()[2].rstrip(",")

        run(project, "farm", "cancel", name)

        assert following.wait(60) == 7
        assert f"windlass sweep resume {name}" in following.stderr.read()


def test_a_farm_that_is_no_sweep_says_so(project: Path) -> None:
    run(project, "farm", "run", "echo {}", ":::", "1")

    assert "is a farm and no sweep" in run(project, "sweep", "show", "last", code=2).stderr
