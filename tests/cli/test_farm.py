"""`windlass farm` as a user runs it."""

import csv
import io
import json
import shutil
from datetime import datetime
from pathlib import Path

import pytest

from tests.cli.conftest import Windlass

WORK = """
import sys
seed = int(sys.argv[1])
print("seed", seed, flush=True)
sys.exit(f"seed {seed} is bad" if seed % 5 == 0 else 0)
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_TEST_BEAT_S", "1")


@pytest.fixture(autouse=True)
def work(project: Path) -> None:
    (project / "work.py").write_text(WORK)


def test_a_story_of_a_farm(windlass: Windlass, project: Path) -> None:
    ran = windlass("farm", "run", "python3 work.py {}", ":::", *map(str, range(1, 13)))

    assert ran.returncode == 1, ran.stderr
    assert "10 of 12 tasks done, 2 failed" in ran.stderr
    assert "2 tasks, code 1: seed 5 is bad" in ran.stderr
    shown = windlass("farm", "status")
    assert "10 of 12 tasks done, 2 failed" in shown.stdout
    assert windlass("logs", "last", "--task", "4").stdout == "seed 5\nseed 5 is bad\n"
    assert json.loads(windlass("logs", "last", "--task", "0", "--json").stdout)["log"] == "seed 1\n"
    rows = list(csv.DictReader(io.StringIO(windlass("farm", "results").stdout)))
    assert [one["value"] for one in rows] == [str(number) for number in range(1, 13)]
    assert {one["value"] for one in rows if one["state"] == "failed"} == {"5", "10"}
    assert rows[4]["last_line"] == "seed 5 is bad"
    assert datetime.fromisoformat(rows[0]["start"]).tzinfo is not None
    assert "AT ONCE" not in shown.stdout
    assert "TRIES FAILED" in shown.stdout
    name = json.loads(windlass("ps", "--json").stdout)["runs"][0]["run_id"]
    explained = windlass("explain").stdout
    assert "2 of 12 tasks failed:" in explained
    assert "2 tasks, code 1: seed 5 is bad" in explained
    assert f"windlass farm results {name} --failed" in explained
    assert f"windlass farm retry {name}" in explained

    again = windlass("farm", "retry", "--tasks", "4")
    assert "1 of farm" in again.stderr
    assert "submitted  pilot" in again.stderr
    assert f"next: windlass wait {name}" in again.stderr
    followed = windlass("farm", "resume")
    assert "10 of 12 tasks done, 2 failed" in followed.stderr
    listed = windlass("ps").stdout.splitlines()
    assert len(listed) == 2, listed
    assert "2 of 12 tasks failed" in listed[1]
    assert len(json.loads(windlass("ps", "--json", "-n", "1").stdout)["runs"]) == 1
    unknown = windlass("logs", "last", "--task", "12"), windlass("farm", "retry", "--tasks", "12")
    assert {one.returncode for one in unknown} == {2}
    assert all("has no task 12: its tasks are 0 to 11" in one.stderr for one in unknown)
    removed = windlass("rm", "last", "--yes")
    assert removed.stderr.count("is gone") == 2
    assert windlass("ps").stdout == ""


def test_a_farm_in_the_background_is_waited_for(windlass: Windlass) -> None:
    good = windlass("farm", "run", "-d", "sleep 1; python3 work.py {}", ":::", "1", "2")
    bad = windlass("farm", "run", "-d", "python3 work.py {}", ":::", "5", "6")

    waited = windlass("wait", good.stdout.strip())
    both = windlass("wait", "--json", good.stdout.strip(), bad.stdout.strip())

    assert waited.returncode == 0, waited.stderr
    assert "2 of 2 tasks done" in waited.stderr
    assert both.returncode == 1
    assert "1 of 2 tasks done, 1 failed" in both.stderr
    assert [one["progress_done"] for one in json.loads(both.stdout)["runs"]] == [2, 2]


def test_to_a_farm_that_was_cancelled_nothing_is_added_in_silence(windlass: Windlass) -> None:
    windlass("farm", "run", "-d", "sleep {}", ":::", "60")
    windlass("cancel", "last")

    refused = windlass("farm", "add", "last", "echo {}", ":::", "1")

    assert refused.returncode == 2
    assert "is closed: it was cancelled" in refused.stderr
    assert "windlass farm resume" in refused.stderr
    explained = windlass("explain", "last")
    assert "D103" in explained.stdout
    assert "windlass farm resume" in explained.stdout
    assert "windlass resume" not in explained.stdout


def test_a_farm_whose_folder_is_gone_is_cancelled_all_the_same(windlass: Windlass) -> None:
    started = windlass("farm", "run", "-d", "--json", "sleep {}", ":::", "600")
    shutil.rmtree(json.loads(started.stdout)["run"]["folder"])

    told = windlass("farm", "cancel", "last")

    assert told.returncode == 0, told.stderr
    assert "its jobs are cancelled all the same" in told.stderr
    assert windlass("ps", "--live").stdout == ""
    assert windlass("rm", "last", "--yes").returncode == 0


def test_commands_of_a_file_and_more_of_them_later(windlass: Windlass, project: Path) -> None:
    (project / "tasks.txt").write_text("echo größe > a.txt\nsleep 0 && echo two\n")
    (project / "table.csv").write_text("seed,name\n1,one\n2,t w o\n")

    ran = windlass("farm", "run", "tasks.txt")
    added = windlass("farm", "add", "last", "--table", "table.csv", "python3 work.py {seed} {name}")
    ended = windlass("farm", "resume")

    assert ran.returncode == 0, ran.stderr
    assert "tasks 2 to 3 were added" in added.stderr
    assert ended.returncode == 0, ended.stderr
    rows = [json.loads(line) for line in windlass("farm", "results", "--format", "jsonl").stdout.splitlines()]
    assert rows[3]["command"] == "python3 work.py 2 't w o'"
    assert rows[3]["values"] == {"seed": "2", "name": "t w o"}
    fetched = windlass("fetch", "last", "--json")
    assert json.loads(fetched.stdout)["fetched"]["results"] == 1, fetched.stderr
    assert next(project.glob("windlass-results/*/a.txt")).read_text() == "größe\n"


def test_an_array_script_runs_as_a_farm(windlass: Windlass, project: Path) -> None:
    (project / "old.sbatch").write_text(
        "#!/bin/bash\n#SBATCH --array=2-6:2\n#SBATCH --time=5\n#SBATCH --output=o-%a\n"
        'echo "index $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT"\n'
    )

    ran = windlass("farm", "run", "--array", "old.sbatch")

    assert ran.returncode == 0, ran.stderr
    assert "--output: what a task prints is shown by" in ran.stderr
    assert windlass("logs", "last", "--task", "2").stdout == "index 6 of 3\n"


def test_a_cancelled_farm_goes_on_with_what_is_left(windlass: Windlass, project: Path) -> None:
    (project / "tasks.txt").write_text("true\ntest -e ../go || sleep 300\n")
    started = windlass("farm", "run", "tasks.txt", "-d")
    assert started.returncode == 0, started.stderr
    farm = started.stdout.strip()

    refused = windlass("rm", farm, "--yes")
    cancelled = windlass("cancel", farm)
    folder = json.loads(windlass("ps", "--json").stdout)["runs"][0]["folder"]
    Path(folder, "go").touch()
    went_on = windlass("farm", "resume", farm)

    assert f"pilots of farm {farm} are at work" in refused.stderr
    assert f"windlass farm resume {farm}" in cancelled.stderr
    assert went_on.returncode == 0, went_on.stderr
    assert "2 of 2 tasks done" in went_on.stderr
    assert "works on a farm" in windlass("resume", farm).stderr


def test_the_plan_is_shown_and_nothing_is_sent(windlass: Windlass, project: Path) -> None:
    (project / "windlass.toml").write_text('[run]\ncommand = "true"\n[farm]\ncpus = 2\ntime = "20m"\n')

    shown = windlass("farm", "run", "--plan", "python3 work.py {}", ":::", "1", "2", "3")

    assert shown.returncode == 0, shown.stderr
    assert "tasks at once = 2: 3 tasks; each takes 2 CPUs, so 2 fit on a node of 4 CPUs" in shown.stderr
    assert "pilots = 1: one machine" in shown.stderr
    assert "2 rounds of 20 min and a quarter more" in shown.stderr
    assert windlass("ps").stdout == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing.txt",), "there is no file nothing.txt"),
        ((), "which tasks?"),
        (("python3 work.py {lr}", ":::", "1"), "asks for {lr}"),
        (("python3 work.py '{}", ":::", "1"), "is never closed"),
        (("python3 work.py {}", ":::"), "there is no value"),
        (("--array", "work.py"), "sbatch refuses it"),
        (("--retries", "x", "a {}", ":::", "1"), "farm.retries"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_sent(windlass: Windlass, words: tuple[str, ...], said: str) -> None:
    told = windlass("farm", "run", *words)

    assert told.returncode == 2, told.stderr
    assert said in told.stderr
    assert windlass("ps").stdout == ""
