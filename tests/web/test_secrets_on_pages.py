"""Passwords, keys and tokens that somebody wrote into a command, or a program into its last words, are on no page."""

from dataclasses import replace
from urllib.parse import quote

import pytest

from tests.builders import PLAN
from tests.web.browser.sample import SWEEP, make_sweep
from tests.web.house import House, make_lazy_gauges, make_run
from windlass.core.codec import to_json
from windlass.core.notes import Note
from windlass.core.record import RunState
from windlass.core.sweep.seen import SweepSeen
from windlass.core.sweep.trials import Trial, TrialState
from windlass.core.sweep.values import Value
from windlass.edges.sweep_files import save_seen

HF = "hf_" + "aB3" * 8
WANDB = "0123456789abcdef" * 2 + "01234567"
PLAIN = "hunter2xyz"
SECRETS = (HF, WANDB, PLAIN)
COMMAND = f"WANDB_API_KEY={WANDB} python train.py --hub {HF} --api-key '{PLAIN}' --password {PLAIN}"
RUNS = ("running-a", "waiting-b", "failed-c")
PAGES = (
    "/",
    "/runs",
    "/sweeps",
    *(f"/runs/{run}{page}" for run in RUNS for page in ("", "/log", "/chain", "/why", "/cancel")),
    "/compare?run=running-a&run=failed-c",
    f"/sweeps/{SWEEP}",
    f"/sweeps/{SWEEP}/trials.csv",
    f"/sweeps/{SWEEP}/trials.svg",
    f"/sweeps/{SWEEP}/history.svg",
)


@pytest.fixture
def careless(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> House:
    monkeypatch.setenv("SITE_PASSWORD", "correct horse")
    guest: House = request.getfixturevalue("guest")
    now, said = guest.session.clock(), f"it ended with: {COMMAND}"
    states = (RunState.RUNNING, RunState.WAITING, RunState.FAILED)
    for run, state in zip(RUNS, states, strict=True):
        note = Note(time=now, text=said)
        guest.add(
            make_run(run, state=state, reason=said, interrupted=said, command=COMMAND, created=now, notes=(note,))
        )
    guest.put("failed-c", {"logs/45_1.out": f"{said}\n".encode()})
    save_seen(guest.session.folders, _make_sweep(now))
    return guest


def _make_sweep(now: float) -> SweepSeen:
    seen = make_sweep(now)
    values: dict[str, Value] = {"lr": 0.1, "depth": 2, "optimizer": "adam", "api_key": PLAIN}
    failed = Trial(number=98, values=values, state=TrialState.FAILED, code=1, last_line=COMMAND)
    best = Trial(number=99, values=values, state=TrialState.DONE, metric=-1.0)
    wish = replace(seen.sweep, command=f"{COMMAND} --lr {{lr}}", space={**seen.sweep.space, "api_key": PLAIN})
    return replace(seen, sweep=wish, trials=(failed, best))


@pytest.mark.parametrize("path", PAGES)
def test_a_secret_is_on_no_page(careless: House, path: str) -> None:
    answer = careless.get(path)

    assert answer.status == 200
    assert [one for one in SECRETS if one in answer.text] == []


@pytest.mark.parametrize(
    "path",
    [
        "/runs/failed-c/points.csv?name={name}",
        "/runs/failed-c/metric.svg?name={name}",
        "/compare.csv?run=failed-c&metric={name}",
        "/compare.svg?run=failed-c&metric={name}",
    ],
)
def test_a_name_that_a_training_gave_is_in_no_file_with_one(careless: House, path: str) -> None:
    name = f"loss of {HF}"
    careless.put("failed-c", {"metrics/1.0.jsonl": b'{"step": 1, "t": 1.0, "%s": 2.5}\n' % name.encode()})

    answer = careless.get(path.format(name=quote(name)))

    assert answer.status == 200
    assert HF not in answer.text
    assert "loss of ***" in answer.text


def test_the_rest_of_the_words_is(careless: House) -> None:
    for path in ("/", "/runs", "/runs/failed-c", "/runs/failed-c/why", f"/sweeps/{SWEEP}"):
        assert "--api-key &#39;***&#39;" in careless.get(path).text
    assert "--api-key '***'" in careless.get(f"/sweeps/{SWEEP}/trials.csv").text


def test_a_line_to_paste_is_shown_without_them(careless: House) -> None:
    plan = replace(PLAN, run_id="failed-c", cpus_per_task=12, gpus_per_node=1, command=f"{COMMAND} --num-workers 1")
    careless.put("failed-c", {"plan.json": to_json(plan), **make_lazy_gauges()})

    text = careless.get("/runs/failed-c").text

    assert "--num-workers" in text
    assert [one for one in SECRETS if one in text] == []


def test_values_of_this_machines_own_secrets_are_on_no_page(careless: House) -> None:
    careless.add(make_run("failed-c", state=RunState.FAILED, reason="no user correct horse", created=1.0))

    assert "correct horse" not in careless.get("/runs").text


def test_the_word_of_a_form_is_never_taken_for_a_secret(careless: House) -> None:
    """Its letters come by chance, and may look like one."""
    key = careless.keys.form

    assert f'name="form_key" value="{key}"' in careless.get("/runs/running-a/cancel").text
