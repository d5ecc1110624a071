"""Labels that are no classes: numbers from a column, as they are written there."""

import math
from pathlib import Path
from typing import Any

import numpy
import pytest

from tests.reading.sets import File, cut, write_set
from windlass_job import data
from windlass_job.reading.labels import Labels
from windlass_job.reading.loader import BatchFailed


def make_set(folder: Path, values: list[Any]) -> str:
    files = [
        File(
            name=b"%05d" % number,
            content=numpy.int32(number).tobytes(),
            columns={} if value is None else {"score": value},
        )
        for number, value in enumerate(values)
    ]
    return str(write_set(folder, cut(files, 40)))


def decode(content: memoryview) -> Any:
    return numpy.frombuffer(content, numpy.int32)


def load_labels(folder: str, *, processes: bool = False) -> Any:
    with data.loader(
        folder, 8, train=False, decode=decode, label="score", workers=2, processes=processes, drop_last=False
    ) as batches:
        return numpy.concatenate([labels for _, labels in batches])


@pytest.mark.parametrize("processes", [False, True])
@pytest.mark.parametrize("values", [[0.25, 1, 0.5, 3] * 5, ["0.25", "1", "0.50", "3"] * 5])
def test_fractions_stay_fractions(tmp_path: Path, values: list[Any], processes: bool) -> None:
    found = load_labels(make_set(tmp_path, values), processes=processes)

    assert found.dtype == numpy.float32
    assert found.tolist() == [0.25, 1, 0.5, 3] * 5


@pytest.mark.parametrize("values", [[7, -1, 1 << 60], ["7", "-1", str(1 << 60)]])
def test_whole_numbers_stay_whole(tmp_path: Path, values: list[Any]) -> None:
    found = load_labels(make_set(tmp_path, values))

    assert found.dtype == numpy.int64
    assert found.tolist() == [7, -1, 1 << 60]


def test_a_sample_without_a_label_has_none(tmp_path: Path) -> None:
    whole, fractions = make_set(tmp_path / "whole", [1, None, ""]), make_set(tmp_path / "fractions", [0.5, None])

    assert load_labels(whole).tolist() == [1, -1, -1]
    assert math.isnan(load_labels(fractions)[1])


def test_words_are_refused_with_the_column(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="labels are numbers, and the column score has 'cat'"):
        load_labels(make_set(tmp_path, [1, "cat"]))


def test_a_fraction_that_nobody_expected_is_an_error_and_is_not_cut(tmp_path: Path) -> None:
    folder = make_set(tmp_path, [1] * 20_001 + [0.5] + [1] * 10)

    with pytest.raises(BatchFailed, match=r"its score is 0\.5, and those of the 10000 samples"):
        load_labels(folder)


def test_labels_for_others_are_the_same(tmp_path: Path) -> None:
    shards = data.Shards(make_set(tmp_path, [0.5, 2]))
    labels = Labels(shards, "score")

    assert labels.are_floats
    assert [labels.find(shards, number) for number in range(2)] == [0.5, 2.0]
