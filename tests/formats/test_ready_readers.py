"""Ready readers for trainings in TensorFlow and with DALI."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.formats.sets import JPEG, make_source, save
from windlass.formats import FORMATS
from windlass.formats.form import Sample
from windlass_job import data
from windlass_job.reading.tfrecords import NoRecords, make_index

SOURCE = Path(__file__).parents[2] / "src"
TENSORFLOW = Path(__file__).parents[2] / ".venv-frameworks" / "bin" / "python"
SAMPLES = [Sample(b"n/%04d.jpg" % at, JPEG + b"%d\0\0" % at, at % 3) for at in range(301)]

READ = """
import json, sys
import tensorflow as tf
from windlass_job import data
shards = data.Shards(sys.argv[1])
order = data.Order(len(shards), rank=int(sys.argv[2]), world_size=2, remainder="keep")
samples = data.tensorflow_dataset(shards, order)
epochs = [[(content.numpy().hex(), int(label)) for content, label in samples] for _ in range(2)]
print(json.dumps([int(samples.cardinality()), epochs]))
"""


@pytest.mark.peers
def test_tensorflow_gets_each_sample_once_over_all_ranks_and_another_order_each_epoch(tmp_path: Path) -> None:
    if not TENSORFLOW.exists():
        pytest.skip("TensorFlow is not installed: make test-frameworks")
    path = save(FORMATS["windlass"], tmp_path, make_source(SAMPLES), shard_bytes=50_000)
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}

    ranks = []
    for rank in (0, 1):
        command = [str(TENSORFLOW), "-c", READ, str(path), str(rank)]
        done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        ranks.append(json.loads(done.stdout))

    assert [rank[0] for rank in ranks] == [151, 150]
    for epoch in (0, 1):
        found = [(bytes.fromhex(content), label) for rank in ranks for content, label in rank[1][epoch]]
        assert sorted(found) == sorted((one.content, one.label) for one in SAMPLES)
    assert ranks[0][1][0] != ranks[0][1][1]


def test_the_indexes_beside_converted_files_are_found(tmp_path: Path) -> None:
    path = save(FORMATS["tfrecord"], tmp_path, make_source(SAMPLES), shard_bytes=100_000)

    files, indexes = data.find_tfrecords(str(path))

    assert [Path(one).suffix for one in files] == [".tfrecord"] * 3
    assert [Path(one).with_suffix(".tfrecord") for one in indexes] == [Path(one) for one in files]
    assert [make_index(one) for one in files] == [Path(one).read_bytes() for one in indexes]


def test_missing_indexes_are_made_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(FORMATS["tfrecord"], tmp_path, make_source(SAMPLES), shard_bytes=100_000)
    wanted = []
    for number, file in enumerate(sorted(path.glob("*.tfrecord"))):
        wanted.append(file.with_suffix(".idx").read_bytes())
        file.with_suffix(".idx").unlink()
        file.rename(path / f"train-{number:05}-of-00003")  # as TensorFlow's own sets are called
    monkeypatch.setenv("WINDLASS_NODE_DIR", str(tmp_path / "node"))
    before = sorted(path.iterdir())

    files, indexes = data.find_tfrecords(str(path))

    assert [Path(one).read_bytes() for one in indexes] == wanted
    assert [Path(one).name for one in files] == [f"train-{number:05}-of-00003" for number in range(3)]
    assert sorted(path.iterdir()) == before
    assert all(Path(one).is_relative_to(tmp_path / "node") for one in indexes)
    assert data.find_tfrecords(str(path))[1] == indexes


def test_a_file_that_is_cut_off_is_told(tmp_path: Path) -> None:
    path = save(FORMATS["tfrecord"], tmp_path, make_source(SAMPLES)) / "shard-00000.tfrecord"
    path.write_bytes(path.read_bytes()[:-5])

    with pytest.raises(NoRecords, match="cut off"):
        make_index(str(path))
    with pytest.raises(NoRecords, match="no TFRecord files"):
        data.find_tfrecords(str(tmp_path))
