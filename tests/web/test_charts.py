"""Charts, chains and comparisons over http: series, pictures, tables and files; nothing needs a script."""

import json
import time
import xml.etree.ElementTree as ET
from dataclasses import replace
from urllib.parse import quote

import pytest

from tests.builders import PLAN
from tests.web.house import House, make_events, make_run
from windlass.core.codec import to_json
from windlass.core.record import RunState
from windlass.core.size import Size

EVIL = '"><script>alert(1)</script>'


def make_metrics(count: int, name: str = "loss", start: float = 1000.0) -> bytes:
    rows = ({"step": at, "t": start + 10 * at, name: 5 - at / count} for at in range(count))
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def make_gauges(count: int, gpus: int = 2, start: float = 1000.0) -> bytes:
    columns = ["t", "memory_mb", *(f"gpu{number}.use" for number in range(gpus))]
    head = {"gauges": 2, "columns": columns, "gpus": [{"uuid": f"GPU-{number}"} for number in range(gpus)]}
    rows = ([start + 10 * at, 100, *(90 + number for number in range(gpus))] for at in range(count))
    return "".join(json.dumps(row) + "\n" for row in (head, *rows)).encode()


@pytest.fixture
def charted(guest: House) -> House:
    guest.add(make_run("one", state=RunState.DONE, created=0.0, ended=9000.0))
    guest.put("one", {"metrics/1.0.jsonl": make_metrics(500), "gauges/n1.jsonl": make_gauges(300)})
    return guest


def test_a_run_has_a_chart_of_each_metric_and_of_its_gpus(charted: House) -> None:
    text = charted.get("/runs/one").text

    assert "loss fell from 5 at step 0" in text
    assert "2 GPUs: 90.5 % on average" in text
    assert "/runs/one/metrics.json?x=time" in text  # over the time of the GPUs
    assert "/runs/one/metrics.json?x=step" in charted.get("/runs/one?x=step").text
    assert "/runs/one/metric.svg?name=loss" in text
    assert '<th scope="row" class="number">499</th>' in text  # the newest row of the table
    assert "all 500 rows" in text
    assert " style=" not in text
    assert "<style" not in text


def test_waits_for_data_and_rates_of_disks_have_charts_too(charted: House) -> None:
    columns = ["t", "memory_mb", "read_mb_s", "write_mb_s", "shared_read_mb_s", "shared_write_mb_s"]
    head = {"gauges": 2, "columns": columns, "shared": "lustre"}
    rows = "".join(json.dumps(row) + "\n" for row in (head, *([1000 + 10 * at, 100, 8, 2, 40, 4] for at in range(30))))
    first = "".join(json.dumps({"t": 1000 + 10 * at, "wait_share": 0.25}) + "\n" for at in range(10))
    second = "".join(json.dumps({"t": 1100 + 10 * at, "wait_share": 0.5}) + "\n" for at in range(10))
    files = {"gauges/n1.jsonl": rows, "gauges/data.1.0.jsonl": first, "gauges/data.2.0.jsonl": second}
    charted.put("one", {name: text.encode() for name, text in files.items()})

    text = charted.get("/runs/one").text

    assert "Waited for data (%)" in text
    assert "rank 0: " in text
    for title, rate in (("Read from disk", 8), ("Written to disk", 2), ("Read from shared storage by the node", 40)):
        assert f"{title} (MB/s)" in text
        assert f"n1: {rate} MB/s on average" in text
    assert json.loads(charted.get("/runs/one/gauges.json?what=waits").text)["series"]["rank 0"]["y"][::19] == [25, 50]
    assert charted.get("/runs/one/gauges.svg?what=disk-read").status == 200


def test_rates_that_were_never_more_than_nothing_have_no_chart(charted: House) -> None:
    head = {"gauges": 2, "columns": ["t", "memory_mb", "read_mb_s", "cpu_cores"]}
    rows = "".join(json.dumps(row) + "\n" for row in (head, [1000, 100, 0, 0], [1010, 100, 0, 0]))
    charted.put("one", {"gauges/n1.jsonl": rows.encode()})

    text = charted.get("/runs/one").text

    assert "Read from disk" not in text
    assert "Busy CPU cores" in text


def test_the_page_of_a_run_is_ready_for_its_first_chart(guest: House) -> None:
    guest.add(make_run("bare", state=RunState.RUNNING))

    assert "charts.js" in guest.get("/runs/bare").text


def test_charts_are_not_loaded_where_there_are_none(guest: House) -> None:
    guest.add(make_run("bare", state=RunState.RUNNING))

    for path in ("/", "/runs", "/runs/bare/log"):
        assert "uPlot" not in guest.get(path).text
        assert "charts.js" not in guest.get(path).text


@pytest.mark.parametrize(
    "path", ["metric.svg?name=loss", "metric.svg?name=loss&x=time&theme=dark", "gauges.svg?what=use"]
)
def test_a_picture_needs_no_script(charted: House, path: str) -> None:
    answer = charted.get(f"/runs/one/{path}")

    root = ET.fromstring(answer.text)
    assert answer.headers["content-type"] == "image/svg+xml"
    assert root[0].tag.endswith("title")
    assert any(one.tag.endswith("path") and "L" in one.get("d", "") for one in root.iter())


def test_gauges_come_thinned_a_line_a_gpu(charted: House) -> None:
    charted.put("one", {"gauges/n1.jsonl": make_gauges(5000)})

    told = json.loads(charted.get("/runs/one/gauges.json?what=use").text)

    assert list(told["series"]) == ["n1 GPU 0", "n1 GPU 1"]
    assert 500 < len(told["series"]["n1 GPU 0"]["x"]) <= 1600
    assert told["series"]["n1 GPU 0"]["x"] == told["series"]["n1 GPU 1"]["x"]
    assert set(told["series"]["n1 GPU 1"]["y"]) == {91}


def test_all_numbers_are_a_table_and_a_file(charted: House) -> None:
    last = charted.get("/runs/one/points?name=loss&page=5").text
    file = charted.get("/runs/one/points.csv?name=loss")
    gauges = charted.get("/runs/one/points.csv?what=use").text.splitlines()

    assert "500 rows, newest first, page 5 of 5" in last
    assert '<th scope="row" class="number">0</th>' in last
    assert file.text.splitlines()[0] == "time,step,loss"
    assert file.text.splitlines()[1].endswith(",0,5.0")
    assert len(file.text.splitlines()) == 501
    assert "attachment" in file.headers["content-disposition"]
    assert gauges[0] == "time,n1 GPU 0 (%),n1 GPU 1 (%)"
    assert gauges[1].endswith(",90.0,91.0")
    assert "n1 GPU 1 (%)" in charted.get("/runs/one/points?what=use").text


@pytest.mark.parametrize(
    "path",
    [
        "metric.svg?name=no",
        "points?name=",
        "points.csv?what=no",
        "gauges.json",
        "gauges.svg?what=power",
        "points?what=memory",
    ],
)
def test_what_is_not_there_is_told(charted: House, path: str) -> None:
    assert charted.get(f"/runs/one/{path}").status == 404


def test_odd_names_times_and_values_do_no_harm(guest: House) -> None:
    rows = [{"step": 1e300, "t": 1e300, EVIL: 1e308, "=1+1": 1, "-1+1": 1}, {"step": -1e300, "t": -1e300, EVIL: "-inf"}]
    guest.add(make_run("odd", state=RunState.DONE))
    guest.put("odd", {"metrics/1.0.jsonl": "".join(json.dumps(row) + "\n" for row in rows).encode()})

    for name in (quote(EVIL), quote("=1+1")):
        for path in (f"metric.svg?name={name}", f"metric.svg?name={name}&x=time", f"points?name={name}", "?x=time"):
            answer = guest.get(f"/runs/odd/{path}".replace("/?", "?"))
            assert answer.status == 200, path
            assert "<script>alert" not in answer.text, path
    assert guest.get("/runs/odd/metrics.json?x=time").status == 200
    assert guest.get(f"/runs/odd/points.csv?name={quote('=1+1')}").text.startswith("time,step,'=1+1")
    for name in ("=1+1", "-1+1"):
        assert ",'" + name in guest.get(f"/runs/odd/points.csv?name={quote(name)}").text
        assert ",'" + name in guest.get(f"/compare.csv?run=odd&metric={quote(name)}").text


def test_a_chain_is_drawn_told_and_can_be_read_as_a_table(guest: House) -> None:
    guest.add(make_run("one", state=RunState.FAILED, created=0.0, ended=9000.0))
    events = make_events(
        (100, "link_started", {}),
        (200, "command_started", {}),
        (900, "saved", {"step": 5, "at": 900}),
        (1500, "link_ended", {"outcome": "cut"}),
        (5000, "link_started", {}),
        (5100, "command_started", {}),
        (8000, "link_ended", {"outcome": "failed"}),
    )
    guest.put("one", {"events.jsonl": events})

    page, run = guest.get("/runs/one/chain").text, guest.get("/runs/one").text

    for text in (page, run):
        assert 'class="phase-lost"' in text
        assert "checkpoint of step 5" in text
        assert "ended: its time was nearly up" in text
        assert '<td class="words">the command failed</td>' in text


def test_runs_are_compared_by_a_plain_form(guest: House) -> None:
    for name, rate in (("one", "0.1"), ("two", "0.3")):
        guest.add(make_run(name, state=RunState.DONE, created=0.0, ended=9000.0))
        plan = replace(
            PLAN, run_id=name, command=f"python train.py --lr {rate} --token hunter2hunter2{name}", gpus_per_node=4
        )
        events = make_events(
            (100, "link_started", {}), (100, "command_started", {}), (3700, "link_ended", {"outcome": "done"})
        )
        guest.put(name, {"metrics/1.0.jsonl": make_metrics(100), "plan.json": to_json(plan), "events.jsonl": events})

    text = guest.get("/compare?run=one&run=two&run=nobody&x=time").text

    assert 'name="run" value="one"' in guest.get("/runs").text
    assert 'action="/compare"' in guest.get("/runs").text
    assert "--lr" in text
    assert "0.3" in text
    assert "hunter2" not in text
    assert "There is no run nobody" in text
    assert "loss of 2 runs: the least is 4.01" in text
    series = json.loads(guest.get("/compare.json?run=one&run=two&x=time").text)["series"]
    assert series["two"]["x"][:2] == pytest.approx([0, 10 / 3600])
    assert ET.fromstring(guest.get("/compare.svg?run=one&run=two").text) is not None
    assert guest.get("/compare.csv?run=one&run=two").text.splitlines()[101].startswith("two,0,")
    assert "tells no <code>samples</code>" in guest.get("/compare?run=one&x=samples").text
    assert "GPU-hours until then" in text
    assert "Core-hours" not in text


def test_what_a_result_costs_is_told_in_core_hours_where_there_are_no_gpus(guest: House) -> None:
    size = Size(nodes=2, cores=64, gpus=0)
    guest.add(make_run("cpu", state=RunState.DONE, created=0.0, ended=9000.0, size=size))
    ended: dict[str, object] = {"outcome": "done"}
    events = make_events((100, "link_started", {}), (100, "command_started", {}), (3700, "link_ended", ended))
    plan = to_json(replace(PLAN, run_id="cpu", gpus_per_node=0))
    guest.put("cpu", {"metrics/1.0.jsonl": make_metrics(100), "plan.json": plan, "events.jsonl": events})

    text = guest.get("/compare?run=cpu").text

    assert "GPU-hours" not in text
    assert "Core-hours in all" in text
    assert '<td class="number">64</td>' in text


@pytest.mark.parametrize("query", ["", "run=nobody", "run=bare", "run=bare&x=nonsense&best=x&metric=%00"])
def test_odd_comparisons_get_an_answer(guest: House, query: str) -> None:
    guest.add(make_run("bare", state=RunState.RUNNING, created=time.time()))

    assert guest.get(f"/compare?{query}").status == 200
    assert guest.get(f"/compare.json?{query}").status == 200
    assert guest.get(f"/compare.svg?{query}").status == 200


def test_gpus_that_stopped_after_hours_of_work_ring_although_their_mean_is_high(guest: House) -> None:
    now = time.time()
    busy = make_gauges(1000, gpus=1, start=now - 11_000)
    idle = "".join(json.dumps([now - 1000 + 10 * at, 100, 0]) + "\n" for at in range(100)).encode()
    guest.add(make_run("hung", state=RunState.RUNNING, started=now - 11_000))
    guest.put("hung", {"gauges/n1.jsonl": busy + idle, "logs/1.out": b"step 1\n"})

    assert "its 1 GPU is 0 % busy" in guest.get("/").text
