"""Whether advice paid off: told of the next run of the name that has the change, for better or worse."""

from dataclasses import replace

import pytest

from tests.advice.examples import EXAMPLES
from windlass.advice import advise
from windlass.core.efficiency.payoff import find_payoffs
from windlass.core.efficiency.summary import Asked, Given, Kept, Summary, make_kept, make_summary
from windlass.core.record import RunState

GB = 1024
BEFORE = Summary(
    run_id="digits-k3f9w",
    name="digits",
    site="alpha",
    state=RunState.DONE,
    created=1000.0,
    asked=Asked(nodes=1, gpus=2, cpus=12, memory_mb=118 * GB, time_s=86_400),
    waited_s=8000.0,
    ran_s=10_800,
    memory_mb=9 * GB,
    gpu_use=7.0,
    wait_share=0.4,
)
AFTER = replace(BEFORE, run_id="digits-p2q8z", created=90_000.0)


def tell(given: Given, after: Summary, before: Summary = BEFORE) -> list[str]:
    return [one.message for one in find_payoffs(after, [Kept(summary=before, given=(given,))])]


MEMORY = Given(code="A101", settings=(("resources.memory", '"12G"'),))
TIME = Given(code="A102", settings=(("resources.time", '"4h"'),))


def test_less_memory_that_was_enough() -> None:
    after = replace(AFTER, asked=replace(AFTER.asked, memory_mb=12 * GB), waited_s=200.0)

    assert tell(MEMORY, after) == ["memory 118 GB -> 12 GB: waited 2 h 10 min less, still peaked at 9.0 GB"]


def test_less_memory_that_was_not_enough() -> None:
    after = replace(
        AFTER,
        asked=replace(AFTER.asked, memory_mb=12 * GB),
        waited_s=9000.0,
        state=RunState.FAILED,
        was_out_of_memory=True,
    )

    assert tell(MEMORY, after) == ["memory 118 GB -> 12 GB: waited 16 min 40 s more, and ran out of memory: take more"]


def test_less_time() -> None:
    after = replace(AFTER, asked=replace(AFTER.asked, time_s=4 * 3600), ran_s=11_000, waited_s=8010.0)

    assert tell(TIME, after) == ["time 1 d -> 4 h: waited as long, took 3 h 3 min"]
    cut = replace(after, state=RunState.OUT_OF_TIME)
    assert tell(TIME, cut) == ["time 1 d -> 4 h: waited as long, and was cut off: take more"]


@pytest.mark.parametrize(
    "after",
    [
        AFTER,  # nothing was changed
        replace(AFTER, asked=replace(AFTER.asked, memory_mb=60 * GB)),  # not what was advised
        replace(AFTER, asked=replace(AFTER.asked, memory_mb=12 * GB), created=10.0),  # it came before
        replace(AFTER, asked=Asked()),
    ],
)
def test_what_was_not_followed_is_not_told(after: Summary) -> None:
    assert tell(MEMORY, after) == []


def test_more_workers_are_seen_by_what_came_of_them() -> None:
    given = Given(code="A203")

    assert tell(given, replace(AFTER, gpu_use=63.0, ran_s=3600)) == [
        "GPUs 7 % -> 63 % busy, took 1 h, before 3 h",
    ]
    assert tell(given, replace(AFTER, gpu_use=9.0)) == []


def test_data_that_comes_in_time_now() -> None:
    assert tell(Given(code="A301"), replace(AFTER, wait_share=0.02)) == ["waited for data 40 % -> 2 % of the time"]


def test_a_wait_at_another_site_is_not_compared() -> None:
    after = replace(AFTER, asked=replace(AFTER.asked, memory_mb=12 * GB), waited_s=200.0, site="beta")

    assert tell(MEMORY, after) == ["memory 118 GB -> 12 GB: still peaked at 9.0 GB"]


def test_the_last_run_that_was_advised_counts() -> None:
    older = Kept(summary=replace(BEFORE, run_id="digits-old", created=500.0, waited_s=99_999.0), given=(MEMORY,))
    newer = Kept(summary=BEFORE, given=(MEMORY,))
    after = replace(AFTER, asked=replace(AFTER.asked, memory_mb=12 * GB))

    assert [one.run_id for one in find_payoffs(after, [older, newer])] == ["digits-k3f9w"]


@pytest.mark.parametrize("code", EXAMPLES)
def test_what_is_kept_is_what_was_advised(code: str) -> None:
    usage = EXAMPLES[code].trips

    kept = make_kept(make_summary(usage), advise(usage))

    assert [(one.code, one.settings) for one in kept.given] == [(code, EXAMPLES[code].sets)]
    assert kept.summary.ran_s == usage.ran_s
