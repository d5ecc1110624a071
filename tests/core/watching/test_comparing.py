"""Runs beside each other: axes, settings that differ, what the best cost."""

import math
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import PLAN
from windlass.core.snapshot import Manifest, SnapshotFile
from windlass.core.watching.chain import Link, Part, Phase
from windlass.core.watching.comparing import (
    Axis,
    find_changed_files,
    find_differences,
    is_better_small,
    list_shared,
    measure_result,
    place_points,
)
from windlass.core.watching.metrics import Metric

LOSS = Metric(name="loss", times=[100.0, 3700.0, 7300.0], steps=[0.0, 10.0, 20.0], values=[3.0, 1.0, 2.0])
LINKS = (
    Link(
        number=1,
        parts=(Part(phase=Phase.WAITING, begin=-9000, end=100), Part(phase=Phase.RUNNING, begin=100, end=7300)),
    ),
)


def test_axes_are_steps_hours_and_samples() -> None:
    samples = Metric(name="samples", times=[1.0, 2.0], steps=[0.0, 10.0], values=[0.0, 640.0])

    found = [place_points(LOSS, {"loss": LOSS, "samples": samples}, axis) for axis in Axis]

    assert found == [[0, 10, 20], [0, 1, 2], [0, 640, 1280]]
    assert place_points(LOSS, {"loss": LOSS}, Axis.SAMPLES) is None


def test_a_counter_that_says_nothing_places_nothing() -> None:
    samples = Metric(name="samples", times=[1.0], steps=[0.0], values=[math.nan])

    found = place_points(LOSS, {"samples": samples}, Axis.SAMPLES)

    assert found is not None
    assert all(math.isnan(x) for x in found)


def test_only_settings_that_differ_are_told() -> None:
    one = replace(PLAN, run_id="a", command="python train.py --lr 0.1 --amp", nodes=1, env={"SEED": "1"})
    other = replace(
        PLAN, run_id="b", command="python train.py --lr 0.3", nodes=2, env={"SEED": "1"}, link_time=timedelta(hours=2)
    )

    found = {setting.name: setting.values for setting in find_differences([one, other, None])}

    assert found["--lr"] == ("0.1", "0.3", "")
    assert found["--amp"] == ("yes", "", "")
    assert found["nodes"] == ("1", "2", "")
    assert found["link_time"] == ("1 h", "2 h", "")
    assert "run_id" not in found
    assert "env.SEED" not in found
    assert find_differences([one, None]) == ()


def test_a_result_costs_all_hours_but_those_of_waiting() -> None:
    result = measure_result(LOSS, LINKS, gpus=8, smaller=True)

    assert (result.best, result.step) == (1.0, 10.0)
    assert result.gpu_hours == pytest.approx(16)
    assert result.gpu_hours_to_best == pytest.approx(8)
    assert measure_result(LOSS, LINKS, gpus=8, smaller=False).best == 3.0
    assert measure_result(None, (), gpus=8, smaller=True).gpu_hours is None


def test_a_result_without_gpus_costs_hours_of_cores() -> None:
    result = measure_result(LOSS, LINKS, gpus=0, cores=64, smaller=True)

    assert (result.gpu_hours, result.gpu_hours_to_best) == (None, None)
    assert result.core_hours == pytest.approx(128)
    assert result.core_hours_to_best == pytest.approx(64)
    assert measure_result(LOSS, LINKS, gpus=8, smaller=True).core_hours is None


@pytest.mark.parametrize(
    ("name", "is_small"),
    [
        ("loss", True),
        ("val/loss", True),
        ("train_loss", True),
        ("eval.wer", True),
        ("accuracy", False),
        ("glossary", False),
    ],
)
def test_what_is_better_small_is_told_by_its_name(name: str, is_small: bool) -> None:
    assert is_better_small(name) is is_small


def test_metrics_of_most_runs_come_first_and_losses_before_others() -> None:
    runs = [{"acc": LOSS, "loss": LOSS, "only": LOSS}, {"acc": LOSS, "loss": LOSS}]

    assert list_shared(runs) == ["loss", "acc", "only"]


def test_files_of_the_code_that_differ_are_named() -> None:
    same = SnapshotFile(path="a.py", sha256="1", size=1, mode=0o644)
    old, new = (SnapshotFile(path="train.py", sha256=word, size=1, mode=0o644) for word in "23")

    assert find_changed_files([Manifest(files=(same, old)), None, Manifest(files=(same, new))]) == ("train.py",)
    assert find_changed_files([Manifest(files=(same, old)), None]) == ()
