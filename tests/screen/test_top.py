"""What the screen shows and what its keys do, on real records in a real store."""

import json
import time

import pytest
from textual.widgets import Input

from tests.screen.stage import Scene, Stage
from tests.web.house import make_run
from windlass.core.record import RunState, Submission
from windlass.core.watching.looks import Look
from windlass_job import wire

EVIL = "[bold red]x[/] \x1b]0;owned\x07\x1b[2J\x1b[31mred\x1b[0m"
SENT = (Submission(number=1, token="t", job_id="45", links=2),)


def test_shows_alarms_running_waiting_and_ended_with_the_queue(stage: Stage) -> None:
    now = time.time()
    stage.add(
        make_run("resnet-1", state=RunState.RUNNING, created=now - 9000, started=now - 7200),
        make_run("digits-2", state=RunState.WAITING, created=now - 600, reason="Priority", expected_start=now + 7200),
        make_run("mnist-3", state=RunState.FAILED, created=now - 900, ended=now - 60, reason="exit code 1"),
    )
    stage.set_look(Look(tried=now - 5, ended=now - 5, seen=now - 5))

    async def play(scene: Scene) -> None:
        text = await scene.wait_for("running (1)", "waiting (1)", "alarms (1)", "mnist-3")
        assert "nothing in its log for 2 h" in text
        assert "starts ~" in text
        assert "Priority" in text
        assert "failed  exit code 1" in text
        assert "seen: alpha" in text

    stage.play(play)


def test_a_lost_site_is_a_line_with_its_age_and_what_to_do(stage: Stage) -> None:
    now = time.time()
    stage.add(make_run("a-1", state=RunState.RUNNING, created=now, started=now))
    lost = Look(tried=now, ended=now, seen=now - 900, problem="no route", failing_since=now - 600, failures=3)
    stage.set_look(Look(**{**vars(lost), "hint": "windlass login alpha"}))

    async def play(scene: Scene) -> None:
        await scene.wait_for("alpha: no answer for 10 min (seen 15 min ago)", "windlass login alpha", "a-1")

    stage.play(play)


def test_the_log_follows_is_searched_and_jumps_to_the_traceback(stage: Stage) -> None:
    now = time.time()
    stage.add(make_run("a-1", state=RunState.RUNNING, created=now, started=now, links=2, link=2, submissions=SENT))
    lines = [f"step {number} fine" for number in range(400)]
    lines[120] = "Traceback (most recent call last)"
    lines[200] = lines[300] = "a Needle here"
    stage.put("a-1", {"logs/45_1.out": b"the first link\n", "logs/45_2.out": "\n".join([*lines, ""]).encode()})

    async def play(scene: Scene) -> None:
        await scene.wait_for("step 399 fine", "following", "45_2.out")
        stage.put("a-1", {"logs/45_1.out": b"the first link\n", "logs/45_2.out": "\n".join([*lines, "news"]).encode()})
        scene.app.post_message(scene.app.News())
        await scene.wait_for("news")
        await scene.press("slash", *"needle", "enter")
        await scene.wait_for("a Needle here", "'needle': 2 of 2", gone="following")
        await scene.press("N")
        await scene.wait_for("'needle': 1 of 2", "step 201 fine")
        await scene.press("n")
        await scene.wait_for("'needle': 2 of 2", "step 301 fine")
        await scene.press("t")
        await scene.wait_for("Traceback (most recent call last)", "from line 121")
        await scene.press("left_square_bracket")
        await scene.wait_for("the first link", "45_1.out")
        await scene.press("right_square_bracket", "G")
        await scene.wait_for("news", "following")
        await scene.press("k", "k")
        await scene.wait_for("step 398 fine", "from line", gone="following")

    stage.play(play)


def test_text_of_others_is_shown_as_it_stands_and_never_obeyed(stage: Stage) -> None:
    now = time.time()
    stage.add(make_run("a-1", state=RunState.FAILED, created=now - 9, ended=now, reason=EVIL, nodes="[link=x]n1[/]"))
    stage.put("a-1", {"logs/45.out": f"[blink]{EVIL}\nMY_TOKEN=\x1b[31mabc\n".encode()})

    async def play(scene: Scene) -> None:
        text = await scene.wait_for("[bold red]x[/] red", "[blink][bold red]x[/] red", "[link=x]n1[/]")
        assert "\x1b" not in text
        assert "owned" not in text

    stage.play(play)


def test_without_unicode_every_letter_is_ascii(stage: Stage) -> None:
    now = time.time()
    stage.add(make_run("a-1", state=RunState.RUNNING, created=now, started=now, progress_done=3.0, progress_of=9.0))
    stage.put("a-1", {"logs/45.out": "café 漢字 ▆\n".encode(), "metrics/1.0.jsonl": _make_metrics(now)})

    async def play(scene: Scene) -> None:
        text = await scene.wait_for("###", "caf? ???? +", "loss")
        assert text.isascii()
        await scene.press("question_mark")
        assert (await scene.wait_for("Keys of windlass top")).isascii()

    stage.play(play, is_unicode=False)


def test_gauges_and_loss_stand_with_their_age(stage: Stage) -> None:
    now = time.time()
    stage.add(make_run("a-1", state=RunState.RUNNING, created=now, started=now))
    columns = [wire.GAUGE_TIME, "memory_mb", "cpu_cores", "gpu0.use"]
    head = {"gauges": wire.GAUGE_FORMAT, "columns": columns, "memory_limit_mb": 18000, "gpus": [{"uuid": "G1"}]}
    rows = [head, *([now - 60 + at, 9000, 2.0, 80] for at in (0, 30, 60))]
    gauges = "".join(json.dumps(row) + "\n" for row in rows)
    stage.put("a-1", {"gauges/n1.jsonl": gauges.encode(), "metrics/1.0.jsonl": _make_metrics(now)})

    async def play(scene: Scene) -> None:
        text = await scene.wait_for("████████░░ 80%", "███░░░ 8.8GB of 18GB", "CPU 2.0", "█▅▁ 0.5")
        assert " s ago)" in text

    stage.play(play)


def _make_gauges(now: float, nodes: int, gpus: int) -> dict[str, bytes]:
    columns = [wire.GAUGE_TIME, "memory_mb"]
    columns += [f"gpu{place}.{name}" for place in range(gpus) for name in ("use", "memory_mb", "power_w")]
    files = {}
    for node in range(1, nodes + 1):
        cards = [{"uuid": f"G{node}-{place}", "memory_mb": 80_000} for place in range(gpus)]
        head = {"gauges": wire.GAUGE_FORMAT, "columns": columns, "gpus": cards}
        row = [900, *(value for place in range(gpus) for value in (90 if place else 0, 40_000, 300))]
        lines = [head, [now - 30, *row], [now, *row]]
        files[f"gauges/n{node}.jsonl"] = "".join(json.dumps(line) + "\n" for line in lines).encode()
    return files


@pytest.mark.parametrize("is_unicode", [True, False])
def test_every_gpu_has_its_bars_and_the_log_its_place(stage: Stage, is_unicode: bool) -> None:
    now = time.time()
    stage.add(make_run("a-1", state=RunState.RUNNING, created=now, started=now))
    stage.put("a-1", {**_make_gauges(now, 1, 4), "logs/45.out": b"step 1\n"})
    bar = "█████████░  90 %" if is_unicode else "#########.  90 %"

    async def play(scene: Scene) -> None:
        text = await scene.wait_for("GPU 0", "  0 % idle", f"GPU 3    {bar}", "39GB of 78GB  300 W", "step 1")
        assert text.isascii() or is_unicode

    stage.play(play, is_unicode=is_unicode)


def test_gpus_of_many_nodes_are_folded(stage: Stage) -> None:
    now = time.time()
    stage.add(make_run("a-1", state=RunState.RUNNING, created=now, started=now))
    stage.put("a-1", {**_make_gauges(now, 16, 8), "logs/45.out": b"step 1\n"})

    async def play(scene: Scene) -> None:
        text = await scene.wait_for("n1       ▁▇▇▇▇▇▇▇", "of 8, 1 idle", "on 13 other nodes, 13 idle", "step 1")
        assert len(text.splitlines()) == 24

    stage.play(play)


def test_cancel_asks_by_name_and_only_y_does_it(stage: Stage) -> None:
    now = time.time()
    stage.add(make_run("a-1", state=RunState.WAITING, created=now))

    async def play(scene: Scene) -> None:
        await scene.wait_for("a-1")
        await scene.press("c")
        await scene.wait_for("Cancel a-1 at alpha?")
        await scene.press("enter", "n")
        await scene.wait_for("q quit", gone="Cancel a-1 at alpha?")
        await scene.press("r")
        await scene.wait_for("there is nothing to resume: a-1 is waiting")
        await scene.press("c", "y")
        await scene.wait_for("there is no site 'alpha'")  # the verb was tried, and its problem is told

    stage.play(play)


def test_the_cursor_stays_on_its_run_while_others_come(stage: Stage) -> None:
    now = time.time()
    stage.add(*(make_run(f"a-{number}", state=RunState.WAITING, created=now + number) for number in range(3)))

    async def play(scene: Scene) -> None:
        await scene.wait_for("a-2")
        await scene.press("down")
        await scene.wait_for(">  a-1")
        stage.add(make_run("b-9", state=RunState.RUNNING, created=now, started=now))
        scene.app.post_message(scene.app.News())
        await scene.wait_for("b-9", ">  a-1")

    stage.play(play)


@pytest.mark.parametrize("size", [(80, 24), (200, 60), (20, 6)])
def test_any_size_is_drawn_and_keys_that_mean_nothing_do_no_harm(stage: Stage, size: tuple[int, int]) -> None:
    async def play(scene: Scene) -> None:
        await scene.wait_for("windl")
        keys = ("enter", "escape", "c", "r", "f", "n", "N", "t", "left_square_bracket", "down", "G", "tab", "pageup")
        await scene.press(*keys, "slash", "escape")
        assert not scene.app.query_one(Input).display or not scene.app.screen.has_class("searching")
        assert scene.app.bug is None

    stage.play(play, size=size)


def _make_metrics(now: float) -> bytes:
    rows = ({"t": now - 30 + step, "step": step, "loss": value} for step, value in enumerate((2.0, 1.3, 0.5)))
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def test_the_list_comes_back_from_a_log_as_it_was(stage: Stage) -> None:
    now = time.time()
    stage.add(*(make_run(f"run-{at:02}", state=RunState.DONE, created=now, ended=now - at) for at in range(30)))

    async def play(scene: Scene) -> None:
        await scene.wait_for("run-00 ")
        await scene.press("down", "down", "down", "enter")
        await scene.wait_for("nothing of its log", gone="run-00 ")
        stage.add(make_run("new", state=RunState.DONE, created=now, ended=now - 40))
        scene.app.post_message(scene.app.News())
        await scene.wait_for("31 ended")
        await scene.press("escape")
        await scene.wait_for("run-00 ", "run-03 ")

    stage.play(play)


def test_the_help_is_whole_in_a_small_terminal(stage: Stage) -> None:
    async def play(scene: Scene) -> None:
        await scene.press("question_mark")
        text = await scene.wait_for("Keys of windlass top", "each age says how old it is.")
        assert "…" not in text

    stage.play(play)
