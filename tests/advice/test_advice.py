"""Every advice: a run that gets it, and one that does not; none on little evidence, none that breaks a run."""

from dataclasses import replace

import pytest

from tests.advice.examples import EXAMPLES, MUCH_MEMORY, SILENT, STARVED, WAITS, WORKERS
from tests.advice.runs import ASKED, BEGIN, GB, NODE, RUNNING, after, flat, gpu
from windlass.advice import ADVICE, advise
from windlass.core.efficiency.usage import Span, Usage, find_spans
from windlass.core.ending.symptoms import JobFacts
from windlass.core.events import Event
from windlass.core.finding import Advice
from windlass.core.gauges.series import RunGauges
from windlass.core.toml.patching import apply_settings


def codes(usage: Usage) -> list[str]:
    return [one.code for one in advise(usage)]


def find(code: str, usage: Usage) -> Advice:
    return next(one for one in advise(usage) if one.code == code)


def test_every_advice_has_its_examples() -> None:
    assert list(EXAMPLES) == list(ADVICE)


@pytest.mark.parametrize("code", EXAMPLES)
def test_it_is_given_alone(code: str) -> None:
    (found,) = advise(EXAMPLES[code].trips)

    assert (found.code, found.message) == (code, EXAMPLES[code].says)
    assert tuple((one.key, one.value) for one in found.patch) == EXAMPLES[code].sets
    assert found.saves
    assert found.hint or found.patch


@pytest.mark.parametrize("code", EXAMPLES)
def test_a_near_miss_gets_none(code: str) -> None:
    assert code not in codes(EXAMPLES[code].passes)


@pytest.mark.parametrize("usage", SILENT.values(), ids=SILENT)
def test_nothing_is_said_of(usage: Usage) -> None:
    assert codes(usage) == []


@pytest.mark.parametrize("code", EXAMPLES)
def test_a_short_look_is_no_evidence(code: str) -> None:
    usage = EXAMPLES[code].trips
    short = replace(usage, spans=(Span(begin=BEGIN, end=BEGIN + 500),))

    assert codes(short) == []


@pytest.mark.parametrize("code", EXAMPLES)
def test_each_line_can_be_written(code: str) -> None:
    for one in advise(EXAMPLES[code].trips):
        assert not one.patch or apply_settings('[run]\ncommand = "x"\n', one.patch)


def test_what_accounting_saw_counts_too() -> None:
    usage = replace(EXAMPLES["A101"].trips, job=JobFacts(used_memory_mb=20 * GB))

    found = find("A101", usage)

    assert [one.value for one in found.patch] == ['"25G"']
    assert any("Slurm's accounting: at most 20 GB in one task" in line for line in found.evidence)


def test_large_caches_are_told() -> None:
    node = replace(NODE, memory_mb=flat(9 * GB), memory_peak_mb=flat(100 * GB))

    found = find("A101", after(node, plan=MUCH_MEMORY))

    assert "with caches of files it was up to 100 GB" in found.evidence[-1]


def test_of_a_run_that_runs_it_is_so_up_to_now() -> None:
    usage = replace(EXAMPLES["A201"].trips, record=RUNNING)

    (found,) = advise(usage)

    assert found.is_early
    assert codes(replace(usage, spans=(Span(begin=BEGIN, end=BEGIN + 1200),))) == []  # it may still prepare its data


@pytest.mark.parametrize(
    ("command", "cores", "sets"),
    [
        ("python train.py", 12, ()),
        ("python train.py --num-workers=2", 4, (("run.command", '"python train.py --num-workers=3"'),)),
        ("python train.py --workers 9", 12, ()),
        ("python train.py", 2, (("resources.cpus", "9"),)),
        ("python train.py --num-workers 0", 2, (("resources.cpus", "9"),)),
    ],
)
def test_no_more_workers_than_cores(command: str, cores: int, sets: tuple[tuple[str, str], ...]) -> None:
    found = find("A203", after(replace(STARVED, cores=cores), plan=replace(WORKERS, command=command)))

    assert tuple((one.key, one.value) for one in found.patch) == sets
    assert found.patch or found.hint


def test_where_the_loader_tells_that_data_comes_in_time_it_is_not_blamed() -> None:
    waits = (replace(WAITS[0], wait_share=flat(0.01)),)

    assert "A203" not in codes(after(STARVED, plan=WORKERS, waits=waits))


def test_busy_cores_want_more_of_them() -> None:
    found = find("A301", after(replace(NODE, cpu_cores=flat(11.5)), plan=ASKED, waits=WAITS))

    assert [(one.key, one.value) for one in found.patch] == [("resources.cpus", "24")]


def test_only_the_last_link_tells_of_gpus() -> None:
    """Its nodes are others than those of the first."""
    first = replace(NODE, node="n0", gpus=(gpu(95), gpu(0, memory_gb=0, uuid="GPU-z")))
    late = tuple(time + 10_000 for time in NODE.times)
    second = replace(NODE, **{name: replace(getattr(NODE, name), times=late) for name in ("memory_mb", "cpu_cores")})
    usage = replace(after(first, second), spans=(Span(begin=0, end=9000), Span(begin=14_000, end=20_000)))

    assert [node.node for node in usage.nodes] == ["n1"]
    assert codes(usage) == []


def test_links_last_from_their_start_to_their_end_or_their_last_row() -> None:
    events = [
        Event(kind="link_started", time=100),
        Event(kind="link_ended", time=200),
        Event(kind="link_started", time=BEGIN),  # the node died
        Event(kind="link_started", time=9000),
    ]

    spans = find_spans(events, RunGauges(nodes=(NODE,)), now=9500)

    assert [(span.begin, span.end) for span in spans] == [(100, 200), (BEGIN, BEGIN + 3600), (9000, 9500)]
