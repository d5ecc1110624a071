"""`windlass queues` on the screen: names whole, tables that fit, JSON, a note when offline."""

import json
from pathlib import Path

from tests.cli.conftest import Windlass

SITE = """
[login]
host = "login.nowhere.invalid"
[gpu.v100]
[node.gpu]
cores = 48
memory_gb = 384
gpu = "v100"
gpus = 4
[partition.a_queue_with_a_very_long_name]
nodes = ["gpu"]
max_time = "4d"
is_default = true
[node.thin]
count = 90
cores = 16
[partition.both]
nodes = ["gpu", "thin"]
max_nodes = 4
[partition.closed]
forbidden = "it is being taken down"
"""


def test_names_are_whole_and_marks_are_explained(windlass: Windlass, tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text(SITE)
    windlass("site", "add", "nowhere", "--file", str(tmp_path / "site.toml"))

    done = windlass("queues", "--on", "nowhere")

    assert done.returncode == 0
    assert "a_queue_with_a_very_long_name  *  4 d" in done.stdout
    assert "4 x v100" in done.stdout
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("both")]
    assert rows == [["both", "4", "48", "384", "GB", "4", "x", "v100"], ["both", "4", "of", "90", "16"]]
    assert "4 of 90 means" in done.stderr
    assert "closed: it is being taken down" in done.stdout
    assert "*  jobs that name none go there" in done.stderr
    assert "x  not for your jobs now" in done.stderr
    assert "from the site file alone" in done.stderr


def test_this_machine_fits_a_narrow_terminal_and_gives_json(windlass: Windlass) -> None:
    shown = windlass("queues")
    document = json.loads(windlass("queues", "--json").stdout)

    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert "FREE NOW" in shown.stdout
    (queue,) = document["queues"]["queues"]
    assert queue["name"] == "pocket"
    assert queue["free"]["nodes_idle"] + queue["free"]["nodes_mixed"] == 1
    assert document["queues"]["asked"] is not None


def test_plain_output_has_one_fact_a_line(windlass: Windlass) -> None:
    done = windlass("--plain", "queues")

    assert "partition: pocket" in done.stdout.splitlines()
    assert any(line.startswith("free cores: ") for line in done.stdout.splitlines())


def test_a_plan_tells_when_it_would_start_unless_it_shall_not(windlass: Windlass) -> None:
    words = ("plan", "--command", "true", "--time", "10m")

    assert "expected to start at once (asked just now; no past estimates yet)" in windlass(*words).stderr
    assert "expected" not in windlass(*words, "--no-estimate").stderr
    assert json.loads(windlass(*words, "--json").stdout)["estimates"]["chosen"]["what"] == "as planned"
