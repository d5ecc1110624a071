"""Each alarm with a case that sets it off and a near miss that does not."""

import math
from dataclasses import replace

import pytest

from tests.builders import RECORD
from windlass.core.facts import SeenQuota
from windlass.core.gauges.series import NodeGauges
from windlass.core.logins import LoginEnd
from windlass.core.record import RunState
from windlass.core.services.shaping import make_jupyter_command
from windlass.core.watching.alarms import ALARMS, Watched, WatchedRun, WatchedSite, find_alarms
from windlass.core.watching.looks import Look

NOW = 100_000.0
RUNNING = replace(RECORD, state=RunState.RUNNING, started=NOW - 7200)
NOTEBOOK = replace(RUNNING, command=make_jupyter_command(idle=None, listen="loopback", folder=None))
BUSY = NodeGauges(node="n1", seconds=900, gpus=4, gpu_utilisation=80.0)
END = LoginEnd(what="certificate", until=NOW + 7200)
OVER = LoginEnd(what="certificate", until=NOW - 1)
FULL = SeenQuota(area="scratch", path="/scratch", used_bytes=95 * 10**9, limit_bytes=100 * 10**9)


def watch(run: WatchedRun | None = None, site: WatchedSite | None = None) -> Watched:
    return Watched(now=NOW, runs=(run,) if run else (), sites=(site,) if site else ())


def run(**values: object) -> Watched:
    return watch(WatchedRun(**{"record": RUNNING, "log_changed": NOW - 10, **values}))  # type: ignore[arg-type]


def site(**values: object) -> Watched:
    return watch(site=WatchedSite(name="alpha", **values))  # type: ignore[arg-type]


EXAMPLES = {
    "idle-gpu": [
        (run(gauges=(replace(BUSY, gpu_utilisation=1.0),)), "its 4 GPUs are 1 % busy in the last 15 min"),
        (run(gauges=(replace(BUSY, idle_gpus=1),)), "1 of its 4 GPUs did nothing in the last 15 min"),
    ],
    "silent-log": [
        (run(log_changed=NOW - 3600), "nothing in its log for 1 h"),
        (run(log_changed=None), "nothing in its log for 2 h"),
    ],
    "left-notebook": [
        (
            run(record=NOTEBOOK, attended=NOW - 720),
            "nobody on this machine has had this notebook open for 12 min, and its job goes on",
        ),
        (
            run(record=NOTEBOOK),
            "nobody on this machine has had this notebook open for 2 h, and its job goes on",
        ),
    ],
    "nan-loss": [(run(metrics={"val/Loss": math.nan}), "val/Loss is nan: the training has broken down")],
    "broken-chain": [
        (run(record=replace(RUNNING, link=2, links=3, links_needed=3)), "it needs 2 more links than were planned"),
        (run(record=replace(RECORD, state=RunState.OUT_OF_TIME)), "its time is used up and it is not finished"),
    ],
    "budget": [
        (
            run(record=replace(RECORD, state=RunState.OUT_OF_BUDGET, reason="its budget is used up")),
            "its budget is used up",
        )
    ],
    "quota": [
        (site(quotas=(FULL,)), "scratch at alpha is nearly full: 95.0 GB of 100 GB"),
        (
            site(quotas=(SeenQuota(area="home", path="/h", used_files=99, limit_files=100),)),
            "home at alpha is nearly full: 99 of 100 files",
        ),
    ],
    "login": [
        (
            site(look=Look(code="E401", problem="log in")),
            "alpha wants a login; its runs go on, but what is shown is old",
        ),
        (
            site(login_end=LoginEnd(what="certificate", until=NOW + 600)),
            "your certificate for alpha ends in 10 min; renew it, then log in",
        ),
    ],
}
NEAR_MISSES = {
    "left-notebook": [
        run(record=NOTEBOOK, attended=NOW - 30),
        run(record=replace(NOTEBOOK, started=NOW - 100)),
        run(record=replace(NOTEBOOK, state=RunState.DONE)),
        run(),
    ],
    "idle-gpu": [
        run(gauges=(BUSY,)),
        run(gauges=(replace(BUSY, gpu_utilisation=1.0, seconds=300),)),
        run(gauges=(replace(BUSY, gpu_utilisation=1.0),), record=replace(RUNNING, state=RunState.DONE)),
        run(gauges=(replace(BUSY, gpus=0, gpu_utilisation=None),)),
    ],
    "silent-log": [
        run(log_changed=NOW - 1700),
        run(log_changed=NOW - 9000, record=RECORD),
        run(log_changed=NOW - 9000, record=replace(RUNNING, farm="lead")),
        run(log_changed=NOW - 9000, record=NOTEBOOK, attended=NOW),
    ],
    "nan-loss": [run(metrics={"loss": 3.0}), run(metrics={"accuracy": math.nan})],
    "broken-chain": [run(record=replace(RUNNING, link=2, links=3, links_needed=1)), run(record=RECORD)],
    "budget": [run(record=replace(RECORD, state=RunState.OUT_OF_TIME))],
    "quota": [site(quotas=(replace(FULL, used_bytes=10),)), site(quotas=(replace(FULL, is_shared=True),))],
    "login": [site(look=Look(code="E403", problem="no route")), site(login_end=END), site(login_end=OVER)],
}


@pytest.mark.parametrize("kind", ALARMS)
def test_an_alarm_is_raised(kind: str) -> None:
    for watched, message in EXAMPLES[kind]:
        (alarm,) = ALARMS[kind](watched)
        assert (alarm.kind, alarm.message) == (kind, message)
        assert alarm.hint


@pytest.mark.parametrize("kind", ALARMS)
def test_a_near_miss_raises_nothing(kind: str) -> None:
    for watched in NEAR_MISSES[kind]:
        assert list(ALARMS[kind](watched)) == []


@pytest.mark.parametrize("kind", ALARMS)
def test_each_alarm_explains_itself(kind: str) -> None:
    assert ALARMS[kind].__doc__


def test_a_farm_is_warned_of_as_one_run() -> None:
    idle = run(gauges=(replace(BUSY, gpu_utilisation=1.0),), record=replace(RUNNING, farm="lead")).runs
    short = run(record=replace(RECORD, state=RunState.OUT_OF_TIME, farm="lead")).runs

    alarms = find_alarms(Watched(now=NOW, runs=(*idle, *idle, *short)))

    assert [one.hint for one in alarms] == ["windlass farm status lead", "windlass farm resume lead"]


def test_what_burns_hours_comes_first() -> None:
    watched = replace(site(quotas=(FULL,)), runs=run(metrics={"loss": math.inf}).runs)

    assert [alarm.kind for alarm in find_alarms(watched)] == ["nan-loss", "quota"]
