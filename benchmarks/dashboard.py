"""Is the dashboard light and quick? Pages with 10,000 runs, a search in a million lines, 138,000 points, idle CPU."""

import http.client
import json
import math
import os
import resource
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchmarks.report import Row, show, skip, time_ms
from benchmarks.startup import make_record
from windlass.app.session import Session
from windlass.core.record import RunState
from windlass.edges.extras import make_extra_hint
from windlass.edges.folders import find_folders

TITLE = "windlass dash"
RUNS, LINES, RANKS = 10_000, 1_000_000, 64
OF_RANK = "/runs/charted/log?q=loss&rank=3"
GPUS, EVERY_S, HOURS = 16, 10, 24
HEAD_EVERY = 100  # rows, as the sampler does
WIDE = 64  # nodes of the largest run
IDLE_S = 20.0
FIRST_PAGE = (
    "/",
    "/static/windlass.css",
    "/static/windlass.js",
    "/static/vendor/htmx.min.js",
    "/static/vendor/sse.min.js",
)
CHROMIUM = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
TURNS = 5
# charts.js looks for uPlot when it draws: this one also notes how long that took, with what, until the canvas is done.
WATCH_DRAWING = """() => {
  const Plot = window.uPlot;
  window.drawn = [];
  window.uPlot = function (options, data, room) {
    const begin = performance.now(), plot = new Plot(options, data, room);
    Promise.resolve().then(() => {
      plot.ctx.getImageData(10, 10, 1, 1);  // which waits for the canvas
      const points = data.slice(1).reduce((sum, line) => sum + line.length, 0);
      window.drawn.push({lines: data.length - 1, points, spent: performance.now() - begin});
    });
    return plot;
  };
  Object.assign(window.uPlot, Plot);
}"""

WAIT_FOR_DRAWING = """async () => {
  const count = document.querySelectorAll(".plot").length;
  while (window.drawn.length < count) await new Promise((done) => requestAnimationFrame(done));
  return window.drawn;
}"""


def main() -> None:
    try:
        import starlette  # noqa: F401
    except ImportError:
        skip(TITLE, f"it needs: {make_extra_hint('dash')}")
        return
    with tempfile.TemporaryDirectory(prefix="wb-") as home:
        env = {**os.environ, "WINDLASS_STATE_DIR": home, "WINDLASS_CONFIG_DIR": home}
        with Session(folders=find_folders(env), environ=env) as session:
            show(TITLE, _measure(session))


def _measure(session: Session) -> list[Row]:
    from tests.web.house import open_house

    now = time.time()
    session.store.save_many(replace(make_record(at), created=now - at) for at in range(RUNS))
    live = replace(make_record(RUNS), run_id="charted", state=RunState.DONE, created=now)
    session.store.save_many([live])
    house, thread = open_house(session)
    house.enter()
    house.put("charted", {"logs/45_1.out": _make_log(), "metrics/1.0.jsonl": _make_metrics(), **_make_gauges()})
    rows = [*_measure_pages(house), *_measure_search(house), *_measure_charts(house)]
    rows += [_measure_wide(house, live), _measure_idle(house)]
    house.server.should_exit = True
    house.watch.close()
    thread.join(5)
    return rows


def _measure_pages(house: Any) -> list[Row]:
    packed = sum(len(house.get(path, accept_encoding="gzip").body) for path in FIRST_PAGE) / 1000
    pages = {
        "Today": "/",
        "the list of runs": "/runs",
        "its last page": "/runs?page=100",
        "a search": "/runs?q=bench-09",
    }
    rows = [Row(what="first page with all it needs, packed", value=packed, unit="KB", budget=100.0)]
    for what, path in pages.items():
        spent = time_ms(lambda path=path: house.get(path), repeats=5)  # type: ignore[misc]
        rows.append(Row(what=f"{what}, {RUNS:,} runs", value=spent, budget=1000.0))
    return rows


def _measure_wide(house: Any, record: Any) -> Row:
    """Today looks for idle GPUs at every word that comes."""
    wide = replace(record, run_id="wide", site="alpha", state=RunState.RUNNING, started=time.time() - 3600)
    house.session.store.save(wide)  # at a site that is in no file: nobody judges that it is lost
    gauges, spent = _make_gauges(nodes=WIDE), []
    for turn in range(TURNS):
        row = b"[%d, 1000%s]\n" % (time.time() + turn, b", 90, 60000, 400" * 4)
        gauges = {path: content + row for path, content in gauges.items()}
        house.put("wide", gauges)
        begin = time.perf_counter()
        house.get("/")
        spent.append(1000 * (time.perf_counter() - begin))
    what = f"Today, when each of {WIDE} nodes of a run that goes on told something new"
    return Row(what=what, value=sorted(spent)[TURNS // 2], budget=1000.0)


def _measure_search(house: Any) -> list[Row]:
    found = house.get("/runs/charted/log?q=step+999999").text
    assert "1 line with" in found, "the search found nothing"
    spent = time_ms(lambda: house.get("/runs/charted/log?q=step+999999"), repeats=5)
    assert "more than 10,000 lines with" in house.get(OF_RANK).text, "the search found too little"
    rank = time_ms(lambda: house.get(OF_RANK), repeats=5)
    last = time_ms(lambda: house.get("/runs/charted/log?rank=3"), repeats=5)
    return [
        Row(what=f"a word searched in {LINES:,} lines, the page", value=spent, budget=1000.0),
        Row(what=f"a word of all of them, searched for one rank of {RANKS}", value=rank, budget=1000.0),
        Row(what=f"the last lines of one rank of {RANKS}", value=last, budget=1000.0),
    ]


def _measure_charts(house: Any) -> list[Row]:
    count = HOURS * 3600 // EVERY_S
    source = "/runs/charted/gauges.json?what=use"
    begin = time.perf_counter()
    size = len(house.get(source, accept_encoding="gzip").body)
    first = 1000 * (time.perf_counter() - begin)
    again = time_ms(lambda: house.get(source), repeats=3)
    rows = [
        Row(
            what=f"gauges of {GPUS} GPUs, {HOURS} h, read and thinned", value=first, note=f"{size / 1000:.0f} KB packed"
        ),
        Row(what="the same again", value=again),
    ]
    return [*rows, *_measure_drawing(house, GPUS * count)]


def _measure_drawing(house: Any, count: int) -> list[Row]:
    """What the user has: the run's own page and its charts.js, with the points as the server thins them."""
    what = f"{count:,} points: the chart of {GPUS} GPUs drawn by the page"
    program = next((one for one in CHROMIUM if Path(one).exists()), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return [Row(what=what, value=math.nan, note="skipped: pip install playwright")]
    if program is None:
        return [Row(what=what, value=math.nan, note="skipped: no Chromium here")]
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        opened = _open_page(house, page)
        drawn = _draw_anew(page)
        browser.close()
    note = f"in headless Chromium; {drawn['points']:,} of them after thinning"
    return [
        Row(what="the page of that run, opened until all its charts are drawn", value=opened, budget=3000.0),
        Row(what=what, value=drawn["spent"], budget=100.0, note=note),
    ]


def _open_page(house: Any, page: Any) -> float:
    """The second time, when scripts and styles are in the browser's cache."""
    page.goto(f"http://127.0.0.1:{house.port}/enter?token={house.keys.token}&to={quote('/runs/charted', safe='')}")
    page.wait_for_selector("html[data-drawn]")
    begin = time.perf_counter()
    page.goto(f"http://127.0.0.1:{house.port}/runs/charted")
    page.wait_for_selector("html[data-drawn]")
    return 1000 * (time.perf_counter() - begin)


def _draw_anew(page: Any) -> dict[str, Any]:
    """charts.js draws all charts anew when the colours of the machine change: the slowest chart, in the middle turn."""
    page.evaluate(WATCH_DRAWING)
    turns = []
    for turn in range(TURNS):
        page.evaluate("window.drawn = []")
        page.emulate_media(color_scheme="light" if turn % 2 else "dark")
        turns.append(max(page.evaluate(WAIT_FOR_DRAWING), key=lambda one: one["spent"]))
    return dict(sorted(turns, key=lambda one: one["spent"])[TURNS // 2])


def _measure_idle(house: Any) -> Row:
    """A page is open and nothing happens."""
    connection = http.client.HTTPConnection("127.0.0.1", house.port, timeout=60)
    cookie = "; ".join(f"{name}={value}" for name, value in house.cookies.items())
    connection.request("GET", "/news", headers={"cookie": cookie})
    connection.getresponse().read(16)
    before, begin = _count_cpu_s(), time.monotonic()
    time.sleep(IDLE_S)
    share = 100 * (_count_cpu_s() - before) / (time.monotonic() - begin)
    connection.close()
    return Row(what="CPU while a page is open and nothing is new", value=share, unit="%", budget=1.0)


def _count_cpu_s() -> float:
    spent = resource.getrusage(resource.RUSAGE_SELF)
    return spent.ru_utime + spent.ru_stime


def _make_log() -> bytes:
    words = b"[rank%d]: epoch 3 step %d loss 0.4321 lr 0.1 812.4 img/s\n"
    return b"".join(words % (at % RANKS, at) for at in range(LINES))


def _make_metrics() -> bytes:
    begin = time.time() - HOURS * 3600
    rows = ({"step": at, "t": begin + at * 8.64, "loss": 5 * math.exp(-at / 3000)} for at in range(10_000))
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _make_gauges(nodes: int = GPUS // 4) -> dict[str, bytes]:
    per_node, begin = 4, time.time() - HOURS * 3600
    names = [f"gpu{number}.{what}" for number in range(per_node) for what in ("use", "memory_mb", "power_w")]
    files = {}
    for node in range(nodes):
        cards = [{"uuid": f"GPU-{node}-{number}", "memory_mb": 80_000} for number in range(per_node)]
        head, lines = json.dumps({"gauges": 2, "columns": ["t", "memory_mb", *names], "gpus": cards}), []
        for at in range(HOURS * 3600 // EVERY_S):
            lines += [head] if at % HEAD_EVERY == 0 else []
            lines.append(json.dumps([round(begin + at * EVERY_S, 1), 1000, *([90 + at % 9, 60_000, 400] * per_node)]))
        files[f"gauges/n{node}.jsonl"] = ("\n".join(lines) + "\n").encode()
    return files


if __name__ == "__main__":
    main()
