"""`windlass report` as a user types it: on a real run of pocket, whose gauges are then stretched to three hours."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Windlass
from tests.conftest import Places
from windlass_job.gauging.cores import Cores
from windlass_job.gauging.rows import Sheet, Window
from windlass_job.gauging.samples import Sample

RUN_FILE = """\
[run]
name = "digits"
command = "python3 train.py"

[resources]
time = "24h"
memory = "118G"  # to be safe
cpus = 1
"""
TRAINING = "import time\nhold = bytearray(60_000_000)\ntime.sleep(2.5)\n"
GB = 1024
HOURS_S = 3 * 3600


@pytest.fixture
def run_once(windlass: Windlass, project: Path, places: Places) -> Any:
    (places.pocket / "pocket.toml").write_text("idle_s = 1\nkill_wait_s = 2\ncpus = 4\nmemory_mb = 200000\n")
    (project / "windlass.toml").write_text(RUN_FILE)
    (project / "train.py").write_text(TRAINING)

    def run() -> dict[str, Any]:
        done = windlass("run", "--json")
        assert done.returncode == 0, done.stderr
        record = json.loads(done.stdout)["run"]
        assert isinstance(record, dict)
        return record

    return run


def stretch(record: dict[str, Any], *, peak_mb: int) -> None:
    """As if it had run for three hours and needed so much."""
    folder = Path(record["folder"])
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    (end,) = (event["t"] for event in events if event["kind"] == "link_ended")
    for event in events:
        if event["kind"] == "link_started":
            event["t"] = end - HOURS_S
    (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    (gauges,) = (folder / "gauges").iterdir()
    gauges.write_bytes(write_gauges(end - HOURS_S, peak_mb))


def write_gauges(begin: float, peak_mb: int) -> bytes:
    window, sheet = Window(Cores(1, None)), Sheet({"cores": 1, "memory_limit_mb": 118 * GB}, is_coarse=True)
    lines = []
    for second in range(0, HOURS_S, 60):
        window.add(Sample(begin + second, second, {"memory_mb": peak_mb}, {"cpu_cores": 0.9 * second}, {}))
        lines += sheet.format(window.close())
    return b"".join(lines)


def test_a_short_run_is_told_of_and_not_advised(windlass: Windlass, run_once: Any) -> None:
    record = run_once()

    done = windlass("report")

    assert done.returncode == 0, done.stderr
    assert f"{record['run_id']} is done" in done.stdout
    assert "asked for  1 node, 1 CPU, 120832 MB, 1 d" in done.stdout
    assert "too short for advice" in done.stderr
    document = json.loads(windlass("report", "--json").stdout)
    assert 60 < document["summary"]["memory_mb"] < 1000
    assert document["advice"] == []
    assert windlass("wait").stderr.count("advice:") == 0


def test_advice_is_given_written_and_later_judged(
    windlass: Windlass, run_once: Any, project: Path, tmp_path: Path
) -> None:
    first = run_once()
    stretch(first, peak_mb=9 * GB)

    done = windlass("report", first["run_id"])

    assert "A101  118 GB of memory asked for on each node, at most 9.0 GB needed" in done.stdout
    assert '\n+time = "4h"\n+memory = "12G"  # to be safe\n' in done.stdout
    assert f"to write it: windlass report {first['run_id']} --apply" in done.stderr

    page = tmp_path / "report.html"
    assert windlass("report", first["run_id"], "--html", str(page), "--apply").returncode == 0
    assert "<svg" in page.read_text()
    assert (project / "windlass.toml").read_text() == RUN_FILE.replace("118G", "12G").replace("24h", "4h")
    assert "says so already" in windlass("report", first["run_id"]).stdout

    second = run_once()
    stretch(second, peak_mb=9 * GB)
    document = json.loads(windlass("report", second["run_id"], "--json").stdout)

    told = {one["code"]: one["message"] for one in document["payoffs"]}
    assert told["A101"].startswith("memory 118 GB -> 12 GB: waited ")
    assert told["A101"].endswith("still peaked at 9.0 GB")
    assert told["A102"].startswith("time 1 d -> 4 h: ")
    assert document["advice"] == []


def test_a_run_that_waits_has_nothing_to_report(windlass: Windlass, project: Path, places: Places) -> None:
    (project / "windlass.toml").write_text(RUN_FILE.replace("118G", "100M").replace('"python3 train.py"', '"true"'))
    (places.pocket / "pocket.toml").write_text("idle_s = 1\nkill_wait_s = 2\ncpus = 1\nmemory_mb = 4000\n")
    assert windlass("run", "-d", "--command", "sleep 60").returncode == 0
    assert windlass("run", "-d").returncode == 0

    done = windlass("report")

    assert done.returncode == 2
    assert "has not run yet" in done.stderr
