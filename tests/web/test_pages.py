"""Pages: what they show, whatever stands in names and logs, and how fast with many runs."""

import gzip
import json
import time
from dataclasses import replace

import pytest

from tests.builders import PLAN
from tests.web.house import SITE, House, make_events, make_lazy_gauges, make_plan_file, make_run
from windlass.app.budgets.spending import Budgets
from windlass.core.codec import to_json
from windlass.core.record import RunState
from windlass.core.spending.uses import Spending
from windlass.core.watching.looks import Look

EVIL = '<script>alert("x")</script>'


def test_today_has_running_waiting_and_ended_runs(guest: House) -> None:
    now = time.time()
    guest.add(
        make_run(
            "one", state=RunState.RUNNING, started=now - 60, progress_done=3, progress_of=9, progress_unit="epoch"
        ),
        make_run("two", state=RunState.WAITING, reason="Priority", created=now - 7200),
        make_run("three", state=RunState.FAILED, reason="out of memory", ended=now - 60, created=now - 999),
    )
    guest.set_look(Look(seen=now - 5))

    text = guest.get("/").text

    assert "epoch 3 of 9" in text
    assert "Priority" in text
    assert "out of memory" in text
    assert text.index("Running") < text.index("one") < text.index("Waiting") < text.index("two") < text.index("three")


def test_alarms_come_first_and_say_what_to_do(guest: House) -> None:
    now = time.time()
    guest.add(make_run("sick", state=RunState.RUNNING, started=now - 60))
    guest.put("sick", {"metrics/1.0.jsonl": b'{"step":1,"t":1,"loss":"nan"}\n', "logs/45_1.out": b"x\n"}, asked=now)

    text = guest.get("/").text

    assert "loss is nan: the training has broken down" in text
    assert "windlass cancel sick" in text
    assert text.index("Needs you") < text.index("Running")


def test_a_site_that_does_not_answer_is_a_banner(guest: House) -> None:
    now = time.time()
    guest.add(make_run("one", state=RunState.RUNNING))
    guest.set_look(Look(seen=now - 600, problem="the login node is away", failing_since=now - 300, hint="ssh alpha"))

    text = guest.get("/").text

    assert "does not answer" in text
    assert "the login node is away" in text
    assert "10 min ago" in text


@pytest.mark.parametrize("path", ["/", "/runs"])
def test_rows_of_a_site_that_was_not_seen_lately_say_when(guest: House, path: str) -> None:
    now = time.time()
    guest.add(make_run("one", state=RunState.RUNNING), make_run("over", state=RunState.DONE, ended=now - 9))

    guest.set_look(Look(seen=now - 7200))
    assert guest.get(path).text.count('<span class="quiet">seen <time') == 1
    guest.set_look(Look(seen=now - 20))
    assert '<span class="quiet">seen <time' not in guest.get(path).text


def test_a_run_shows_chain_metrics_log_and_what_was_submitted(guest: House) -> None:
    guest.add(
        make_run("one", state=RunState.FAILED, reason="the command ended with exit code 1", ended=400.0, created=0.0)
    )
    events = make_events(
        (100, "link_started", {}),
        (110, "command_started", {}),
        (200, "saved", {"step": 5, "at": 200}),
        (300, "link_ended", {"outcome": "failed"}),
    )
    guest.put(
        "one",
        {
            "events.jsonl": events,
            "metrics/1.0.jsonl": b'{"step":0,"t":120,"loss":2.5}\n{"step":1,"t":130,"loss":1.25}\n',
            "logs/45_1.out": b"hello\n\x1b[31mred\x1b[0m\n",
            "plan.json": make_plan_file("one"),
            "job-1.sh": b"#!/bin/bash\nexport API_TOKEN=verysecretvalue\nsrun python train.py\n",
        },
    )

    text = guest.get("/runs/one").text

    assert "the command ended with exit code 1" in text
    assert "1.25" in text
    assert "1 min 40 s" in text  # lost after the last checkpoint
    assert '<span class="ansi-red">red</span>' in text
    assert "the command failed" in text
    script = guest.get("/runs/one/papers/job-1.sh").text
    assert "srun python train.py" in script
    assert "verysecretvalue" not in script
    assert guest.get("/runs/one/metrics.json?name=loss").text.replace(" ", "") == (
        '{"x":"step","series":{"loss":{"x":[0.0,1.0],"y":[2.5,1.25]}}}'
    )


@pytest.mark.parametrize("path", ["secrets.env", "..%2f..%2fwindlass.db", "logs%2f45_1.out", "nothing"])
def test_only_papers_are_shown(guest: House, path: str) -> None:
    guest.add(make_run("one"))

    assert guest.get(f"/runs/one/papers/{path}").status == 404


def test_markup_in_names_and_logs_is_text(guest: House) -> None:
    now = time.time()
    record = make_run(
        "evil", name=EVIL, command=EVIL, site=EVIL, reason=EVIL, state=RunState.RUNNING, started=now, nodes=EVIL
    )
    guest.add(record)
    lines = f"{EVIL}\n\x1b[31m{EVIL}\x1b]8;;javascript:alert(1)\x07x\n".encode() + b"\xff\xfe\x00\n"
    guest.put("evil", {"logs/45_1.out": lines, "metrics/1.0.jsonl": b'{"step":1,"t":1,"<script>":1}\n'}, asked=now)

    for path in (
        "/",
        "/runs",
        "/runs/evil",
        "/runs/evil/log",
        "/runs/evil/log?q=<script>",
        f"/runs?q={EVIL}",
        f"/runs/{EVIL}",
    ):
        answer = guest.get(path.replace("<", "%3C").replace(">", "%3E").replace('"', "%22"))
        assert answer.status in (200, 404), path
        assert "<script>alert" not in answer.text, path
        assert "javascript:" not in answer.text, path
        assert "\x1b" not in answer.text, path


def test_secrets_in_a_log_are_not_shown(guest: House) -> None:
    guest.add(make_run("one", state=RunState.RUNNING))
    token = b"hf_" + b"abcdefghijklmnopqrstuvwxyz012345"
    log = b"using %s\n\x1b[31m%s\x1b[0m\nWANDB_API_KEY=0123456789abcdef0123\n" % (token, token)
    guest.put("one", {"logs/45_1.out": log})

    text = guest.get("/runs/one/log").text + guest.get("/runs/one").text + guest.get("/runs/one/log?q=using").text

    assert "***" in text
    assert "abcdefghijklmnop" not in text
    assert "0123456789abcdef" not in text


def test_a_log_is_searched_with_context_and_linked_by_line(guest: House) -> None:
    guest.add(make_run("one", state=RunState.DONE))
    log = b"".join(b"line %d\n" % at for at in range(1, 1001)) + b"Traceback (most recent call last):\nBoom\n"
    guest.put("one", {"logs/45_1.out": log})

    found = guest.get("/runs/one/log?q=line+500").text
    end = guest.get("/runs/one/log").text

    assert all(f">line {at}<" in found for at in (498, 499, 500, 501, 502))
    assert ">line 503<" not in found
    assert "1 line with" in found
    at = log.index(b"Traceback")
    assert f"at={at}#b{at}" in end
    assert f'id="b{at}"' in end
    assert ">line 1000<" in end
    assert "earlier lines" in end
    before = guest.get(f"/runs/one/log?before={log.index(b'line 900')}").text
    assert ">line 899<" in before
    assert ">line 900<" not in before


def test_a_line_of_a_hundred_megabytes_does_no_harm(guest: House) -> None:
    guest.add(make_run("one", state=RunState.RUNNING))
    guest.put("one", {"logs/45_1.out": b"\xfe" * 100_000_000 + b" end\n"})

    page, found = guest.get("/runs/one/log"), guest.get("/runs/one/log?q=end")

    assert len(page.body) < 5_000_000
    assert (page.status, found.status) == (200, 200)


@pytest.mark.parametrize(
    "query", ["at=99999999999", "before=0", "at=x", "rank=-1", "rank=3", "file=nothing", "q=%00", "fold=0"]
)
def test_odd_questions_to_a_log_get_an_answer(guest: House, query: str) -> None:
    guest.add(make_run("one", state=RunState.RUNNING))
    guest.put("one", {"logs/45_1.out": b"[rank3]: hello\n"})

    answer = guest.get(f"/runs/one/log?{query}")

    assert answer.status == (404 if query == "file=nothing" else 200)


def test_unknown_runs_and_pages_are_told(guest: House) -> None:
    assert guest.get("/runs/nobody").status == 404
    assert guest.get("/nowhere").status == 404
    assert "there is no run" in guest.get("/runs/nobody").text


def test_ten_thousand_runs_are_shown_page_by_page(guest: House) -> None:
    now = time.time()
    states = [RunState.DONE] * 97 + [RunState.RUNNING, RunState.WAITING, RunState.FAILED]
    guest.add(
        *(make_run(f"run-{at:05}", state=states[at % 100], created=now - at, ended=now - at) for at in range(10_000))
    )
    guest.get("/")

    for path in ("/", "/runs", "/runs?page=100", "/runs?q=run-09&state=done"):
        answer = guest.get(path, accept_encoding="gzip")
        assert answer.status == 200
        assert len(answer.body) < 30_000, path
        assert "run-0" in gzip.decompress(answer.body).decode()
    assert "10,000 runs, page 100 of 100" in guest.get("/runs?page=100").text


def test_the_first_page_is_light(guest: House) -> None:
    """All that it needs, packed as it travels: at most 100 KB."""
    from windlass.web.vendor import VENDOR

    guest.add(*(make_run(f"run-{at}", state=RunState.RUNNING) for at in range(50)))
    if not VENDOR.exists():
        pytest.skip("run tools/assets.sh")

    paths = [
        "/",
        "/static/windlass.css",
        "/static/windlass.js",
        "/static/vendor/htmx.min.js",
        "/static/vendor/sse.min.js",
    ]
    total = sum(len(guest.get(path, accept_encoding="gzip").body) for path in paths)

    assert total <= 100_000


def test_no_page_names_another_server(guest: House) -> None:
    import re

    guest.add(make_run("one", state=RunState.RUNNING))
    guest.put("one", {"logs/45_1.out": b"x\n"})

    for path in ("/", "/runs", "/runs/one", "/runs/one/log", "/static/windlass.css", "/static/windlass.js"):
        assert not re.search(r"""(?:src|href|action|url)\s*[=(]\s*["']?(?:https?:)?//""", guest.get(path).text), path


def test_the_theme_is_kept(guest: House) -> None:
    answer = guest.post("/theme", {"theme": "dark", "back": "/runs?page=2", "form_key": guest.find_form_key("/")})

    assert answer.headers["location"] == "/runs?page=2"
    name, _, rest = answer.headers["set-cookie"].partition("=")
    guest.cookies[name] = rest.partition(";")[0]
    assert 'data-theme="dark"' in guest.get("/").text


def test_an_action_names_the_run_before_it_is_done(guest: House) -> None:
    guest.add(make_run("live", state=RunState.RUNNING), make_run("over", state=RunState.DONE))

    assert "Cancel live?" in guest.get("/runs/live/cancel").text
    assert "makes no sense now" in guest.get("/runs/over/cancel").text
    assert guest.get("/runs/live/nonsense").status == 404


def test_an_action_that_fails_says_why(guest: House) -> None:
    guest.add(make_run("live", state=RunState.RUNNING))  # at a site that no file describes
    form = {"form_key": guest.find_form_key("/runs/live/cancel")}

    answer = guest.post("/runs/live/cancel", form)

    deadline = time.monotonic() + 30
    while "Under way" in (text := guest.get(answer.headers["location"]).text) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert answer.status == 303
    assert "alpha" in text
    assert "Under way" not in text


def test_a_note_is_kept_shown_as_text_and_wants_the_word_of_the_page(guest: House) -> None:
    guest.add(make_run("one", state=RunState.DONE))  # at a site that no file describes: it is kept here
    form = {"form_key": guest.find_form_key("/runs/one"), "text": f"lr too high\n{EVIL}\x1b[31m"}

    assert guest.post("/runs/one/note", {**form, "form_key": "another"}).status == 403
    assert guest.post("/runs/one/note", {**form, "text": " "}).status == 400
    answer = guest.post("/runs/one/note", form)

    text = guest.get("/runs/one").text
    assert (answer.status, answer.headers["location"]) == (303, "/runs/one#notes")
    assert "lr too high\n&lt;script&gt;" in text
    assert "<script>alert" not in text
    assert "\x1b" not in text


def test_budget_shows_hours_and_a_button_for_each_site(guest: House) -> None:
    now = time.time()
    guest.add(make_run("one", state=RunState.DONE))
    told = {"site": SITE, "unit": "GPU-hours", "is_charged": True, "since": 0.0, "now": now, "days": 7.0}
    hours = {"used": 12.0, "gpu_hours": 12.0, "core_hours": 96.0, "still": 0.0, "burn_per_day": 1.5}
    spending = Spending(**told, **hours)  # type: ignore[arg-type]
    guest.session.store.keep(f"asked:budget:{SITE}", Look(tried=now, ended=now, seen=now - 600))
    guest.session.store.keep(f"budget:{SITE}", Budgets(spending=spending))

    page = guest.get("/budget").text

    assert "12 GPU-h" in page
    assert "10 min ago" in page
    assert f"Ask {SITE} now" in page


def test_only_cancel_looks_dangerous(guest: House) -> None:
    guest.add(make_run("live", state=RunState.RUNNING), make_run("broken", state=RunState.FAILED))

    assert 'class="act danger"' in guest.get("/runs/live/cancel").text
    assert 'class="act"' in guest.get("/runs/broken/resume").text
    assert 'class="act"' in guest.get("/runs/broken/fetch").text


def test_the_first_visit_is_not_compared_with_one_before(guest: House) -> None:
    page = guest.get("/").text

    assert "Ended in the last day" in page
    assert "last looked" not in page


def test_a_metric_with_an_endless_name_or_none_has_a_title(guest: House) -> None:
    name = "x" * 5000
    guest.add(make_run("one", state=RunState.RUNNING))
    guest.put("one", {"metrics/1.0.jsonl": json.dumps({"t": 1.0, "step": 1, name: 1.0, "": 2.0}).encode() + b"\n"})

    page = guest.get("/runs/one").text

    assert f'<th scope="row" title="{name}">{"x" * 44}…{"x" * 15}</th>' in page
    assert f"{name} " not in page
    assert "(without a name)" in page


def test_a_run_shows_what_it_did_not_use_and_the_line_to_change(guest: House) -> None:
    guest.add(make_run("lazy", state=RunState.DONE, created=900.0, started=1000.0, ended=4600.0))
    plan = replace(PLAN, run_id="lazy", cpus_per_task=12, gpus_per_node=1, command="python train.py --num-workers 1")
    guest.put("lazy", {"plan.json": to_json(plan), **make_lazy_gauges()})

    text = guest.get("/runs/lazy").text

    assert "the GPUs were 7 % busy while 1.0 of 12 CPU cores were" in text
    assert "A203" in text
    assert "[run]\ncommand = &#34;python train.py --num-workers 8&#34;" in text
    assert "windlass report lazy" in text


def test_a_run_of_which_nothing_is_known_gets_no_advice(guest: House) -> None:
    guest.add(make_run("waits", state=RunState.WAITING), make_run("silent", state=RunState.DONE))

    for run in ("waits", "silent"):
        assert 'id="advice"' not in guest.get(f"/runs/{run}").text


def test_a_run_shows_its_environment(guest: House) -> None:
    guest.add(make_run("one", state=RunState.RUNNING))
    plan = replace(PLAN, run_id="one", environment="conda-3f2a9c1b7d", packed="/r/envs/conda-3f2a9c1b7d/env.tar")
    guest.put("one", {"plan.json": to_json(plan)})

    text = guest.get("/runs/one").text

    assert "<code>conda-3f2a9c1b7d</code> (conda), unpacked by every node for itself" in text
    assert "windlass env show conda-3f2a9c1b7d" in text
