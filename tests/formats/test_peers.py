"""The libraries themselves read what we wrote, and we what they wrote."""

import gzip
import json
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.formats.sets import CLASSES, JPEG, SAMPLES, load, make_source, need, save
from windlass.formats import FORMATS
from windlass.formats.form import Sample

pytestmark = pytest.mark.peers
TENSORFLOW = Path(__file__).parents[2] / ".venv-frameworks" / "bin" / "python"
# Names as a training set has them: for libraries that look into names.
PLAIN = [Sample(b"n%02d/img_%04d.jpg" % (at % 3, at), JPEG + b"%d" % at, at % 3, {"at": at}) for at in range(50)]


def read_back(name: str, path: Path, scratch: Path) -> list[Sample]:
    return load(FORMATS[name], path, scratch)[1]


# ---- WebDataset ---------------------------------------------------------------------------------------


def test_webdataset_reads_image_class_and_columns(tmp_path: Path) -> None:
    webdataset = pytest.importorskip("webdataset")
    path = save(FORMATS["webdataset"], tmp_path, make_source(PLAIN), shard_bytes=20_000)
    shards = [str(one) for one in sorted(path.glob("*.tar"))]

    found = list(webdataset.WebDataset(shards, shardshuffle=False).decode())

    assert len(shards) > 1
    assert [(one["__key__"], one["jpg"], one["cls"], one["json"]) for one in found] == [
        (one.name[:-4].decode(), one.content, one.label, {"at": one.columns["at"]}) for one in PLAIN
    ]


def test_webdataset_takes_each_file_for_a_sample_of_its_own_whatever_its_name(tmp_path: Path) -> None:
    webdataset = pytest.importorskip("webdataset")
    names = [b"a.b.c.jpg", b"a.b.d.jpg", b"a_b_d.jpg", b"x/.hidden", b"x/plain", b"x/cls.cls", b"x/y.json", b"A.JPG"]
    path = save(FORMATS["webdataset"], tmp_path, make_source([Sample(name, name, 1) for name in names]))

    found = list(webdataset.WebDataset(str(path / "shard-00000.tar"), shardshuffle=False))
    back = read_back("webdataset", path, tmp_path / "scratch")

    contents = [value for one in found for key, value in one.items() if key[0] != "_" and key not in ("cls", "json")]
    assert contents == names
    assert all(one["cls"] == b"1" for one in found)
    assert [(one.name, one.content) for one in back] == [(name, name) for name in names]


def test_files_that_belong_together_stay_one_sample(tmp_path: Path) -> None:
    webdataset = pytest.importorskip("webdataset")
    pair = [Sample(b"a/1.jpg", JPEG, 0), Sample(b"a/1.txt", b"a caption", 0), Sample(b"a/2.jpg", JPEG, 0)]
    path = save(FORMATS["webdataset"], tmp_path, make_source(pair))

    found = list(webdataset.WebDataset(str(path / "shard-00000.tar"), shardshuffle=False).decode())

    assert [(one["__key__"], one.get("txt"), one["cls"]) for one in found] == [
        ("a/1", "a caption", 0),
        ("a/2", None, 0),
    ]


def test_what_webdataset_wrote_is_read(tmp_path: Path) -> None:
    webdataset = pytest.importorskip("webdataset")
    with webdataset.ShardWriter(str(tmp_path / "s-%05d.tar"), maxcount=20, verbose=0) as writer:
        for at in range(50):
            writer.write({"__key__": f"img/{at:04}", "jpg": JPEG, "cls": at % 7, "json": {"at": at}})

    found = read_back("webdataset", tmp_path, tmp_path / "scratch")

    assert [(one.name, one.content, one.label, one.columns) for one in found] == [
        (b"img/%04d.jpg" % at, JPEG, at % 7, {"at": at}) for at in range(50)
    ]


# ---- TFRecord -----------------------------------------------------------------------------------------

READ = """
import json, sys
import tensorflow as tf
features = {
    "image/encoded": tf.io.FixedLenFeature([], tf.string),
    "image/class/label": tf.io.FixedLenFeature([], tf.int64, -1),
    "image/class/text": tf.io.FixedLenFeature([], tf.string, ""),
    "image/filename": tf.io.FixedLenFeature([], tf.string),
    "column/width": tf.io.FixedLenFeature([], tf.int64, 0),
    "column/score": tf.io.FixedLenFeature([], tf.float32, 0.0),
}
for record in tf.data.TFRecordDataset(sys.argv[1:]):
    one = tf.io.parse_single_example(record, features)
    found = {key: value.numpy() for key, value in one.items()}
    row = [found["image/filename"].hex(), found["image/encoded"].hex(), int(found["image/class/label"])]
    row += [found["image/class/text"].decode(), int(found["column/width"]), float(found["column/score"])]
    print(json.dumps(row))
"""

WRITE = """
import sys
import tensorflow as tf
def feature(value):
    if isinstance(value, bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
    if isinstance(value, list):
        return tf.train.Feature(float_list=tf.train.FloatList(value=value))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))
options = tf.io.TFRecordOptions(compression_type=sys.argv[2])
with tf.io.TFRecordWriter(sys.argv[1], options) as writer:
    for at in range(40):
        label = at % 5 - 1
        values = {"image/encoded": b"\\xff\\xd8\\xff" + b"x" * at, "image/filename": b"/data/%d.jpg" % at,
                  "image/class/label": label, "image/class/text": b"class %d" % label, "image/height": -at,
                  "box": [0.5, 1.5]}
        example = tf.train.Example(features=tf.train.Features(feature={k: feature(v) for k, v in values.items()}))
        writer.write(example.SerializeToString())
"""


def run_tensorflow(program: str, *arguments: object) -> str:
    if not TENSORFLOW.exists():
        pytest.skip("TensorFlow is not installed: make test-frameworks")
    command = [str(TENSORFLOW), "-c", program, *(str(one) for one in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_tensorflow_reads_what_we_wrote_and_its_checksums_hold(tmp_path: Path) -> None:
    path = save(FORMATS["tfrecord"], tmp_path, make_source(), shard_bytes=5000)
    shards = sorted(path.glob("*.tfrecord"))

    rows = [json.loads(line) for line in run_tensorflow(READ, *shards).splitlines()]

    assert len(shards) > 1
    assert [(bytes.fromhex(row[0]), bytes.fromhex(row[1])) for row in rows] == [(one[0], one[1]) for one in SAMPLES]
    assert [row[2] for row in rows] == [-1 if one.label is None else one.label for one in SAMPLES]
    assert [row[3] for row in rows] == ["" if one.label is None else CLASSES[one.label] for one in SAMPLES]
    assert (rows[0][4], rows[0][5]) == (640, pytest.approx(0.1))


@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_what_tensorflow_wrote_is_read(compression: str, tmp_path: Path) -> None:
    run_tensorflow(WRITE, tmp_path / "train-00000-of-00001", compression)

    source, found = load(FORMATS["tfrecord"], tmp_path, tmp_path / "scratch")

    assert [(one.name, one.content) for one in found] == [
        (b"data/%d.jpg" % at, b"\xff\xd8\xff" + b"x" * at) for at in range(40)
    ]
    assert [one.label for one in found] == [at % 5 - 1 if at % 5 else None for at in range(40)]
    assert found[7].columns == {"image/height": -7, "box": [0.5, 1.5]}
    assert source.classes == ["class 0", "class 1", "class 2", "class 3"]
    assert FORMATS["tfrecord"].looks_like(tmp_path)


def test_the_index_is_the_one_that_tfrecord2idx_makes(tmp_path: Path) -> None:
    tools = pytest.importorskip("tfrecord.tools.tfrecord2idx")
    path = save(FORMATS["tfrecord"], tmp_path, make_source(PLAIN), shard_bytes=20_000)

    for shard in path.glob("*.tfrecord"):
        tools.create_index(str(shard), str(tmp_path / "theirs"))
        assert shard.with_suffix(".idx").read_bytes().split() == (tmp_path / "theirs").read_bytes().split()
        assert shard.with_suffix(".idx").read_bytes().count(b"\n") == (tmp_path / "theirs").read_bytes().count(b"\n")


def test_a_torch_reader_of_tfrecord_reads_by_our_index(tmp_path: Path) -> None:
    reader = pytest.importorskip("tfrecord.reader")
    path = save(FORMATS["tfrecord"], tmp_path, make_source(PLAIN))
    file = path / "shard-00000.tfrecord"

    description = {"image/encoded": "byte", "image/class/label": "int"}
    found = list(reader.tfrecord_loader(str(file), str(file.with_suffix(".idx")), description, shard=(1, 2)))

    # The second half, by offsets out of the index.
    assert [bytes(one["image/encoded"]) for one in found] == [one.content for one in PLAIN[25:]]


# ---- HDF5 ---------------------------------------------------------------------------------------------


def test_h5py_finds_each_file_by_its_offset(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = save(FORMATS["hdf5"], tmp_path, make_source())

    with h5py.File(path) as file:
        offsets = file["offsets"][:]
        found = [file["bytes"][offsets[at] : offsets[at + 1]].tobytes() for at in range(len(SAMPLES))]
        assert found == [one.content for one in SAMPLES]
        assert list(file["names"][:]) == [one.name for one in SAMPLES]
        assert list(file["labels"][:]) == [-1 if one.label is None else one.label for one in SAMPLES]
        assert list(file["classes"].asstr()[:]) == CLASSES
        assert file["bytes"].chunks is None  # in one piece: nothing is read that was not asked for


def test_images_of_varying_length_in_a_foreign_hdf5_are_read(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    numpy = pytest.importorskip("numpy")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        images = file.create_dataset("images", (3,), h5py.vlen_dtype("u1"))
        for at in range(3):
            images[at] = numpy.frombuffer(JPEG + b"%d" % at, "u1")
        file["labels"] = [[4], [0], [2]]

    source, found = load(FORMATS["hdf5"], tmp_path / "a.h5", tmp_path / "scratch")

    assert [(one.name, one.content, one.label) for one in found] == [
        (b"%08d.jpg" % at, JPEG + b"%d" % at, (4, 0, 2)[at]) for at in range(3)
    ]
    assert source.classes == ["0", "1", "2", "3", "4"]


def test_an_array_of_pixels_is_no_list_of_files(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("images", (10, 8, 8, 3), "u1")

    with pytest.raises(Exception, match="holds no list of files"):
        load(FORMATS["hdf5"], tmp_path / "a.h5", tmp_path / "scratch")


# ---- LMDB ---------------------------------------------------------------------------------------------


def test_lmdb_finds_each_file_by_its_number(tmp_path: Path) -> None:
    lmdb = pytest.importorskip("lmdb")
    path = save(FORMATS["lmdb"], tmp_path, make_source())

    with lmdb.open(str(path), readonly=True, lock=False) as environment, environment.begin() as transaction:
        count = int(transaction.get(b"__len__"))
        found = [transaction.get(b"%08d" % at) for at in range(count)]
        about = json.loads(transaction.get(b"meta/00000000"))
        classes = json.loads(transaction.get(b"__classes__"))

    assert found == [one.content for one in SAMPLES]
    assert (about["name"], about["label"], about["columns"]["width"]) == ("cat/one.jpg", 0, 640)
    assert classes == CLASSES


def test_a_map_that_is_too_small_grows(tmp_path: Path) -> None:
    lmdb = pytest.importorskip("lmdb")
    from windlass.formats import lmdb_file

    with lmdb.open(str(tmp_path), map_size=1 << 20) as environment:
        lmdb_file._put(environment, [(b"%d" % at, bytes(100_000)) for at in range(50)])

        with environment.begin() as transaction:
            assert transaction.stat()["entries"] == 50


def test_a_foreign_lmdb_gives_its_values_under_its_keys(tmp_path: Path) -> None:
    lmdb = pytest.importorskip("lmdb")
    with lmdb.open(str(tmp_path / "a")) as environment, environment.begin(write=True) as transaction:
        for key, value in ((b"img-1", JPEG), (b"img-2", b"two"), (b"__len__", b"2"), (struct.pack("<Q", 5), JPEG)):
            transaction.put(key, value)

    source, found = load(FORMATS["lmdb"], tmp_path / "a", tmp_path / "scratch")

    assert sorted((one.name, one.content) for one in found) == [
        (b"00000000.jpg", JPEG),
        (b"img-1", JPEG),
        (b"img-2", b"two"),
    ]
    assert len(source.notices.list()) == 2


# ---- MDS ----------------------------------------------------------------------------------------------


def open_streaming(path: Path) -> Any:
    streaming = pytest.importorskip("streaming")
    streaming.base.util.clean_stale_shared_memory()
    return streaming.StreamingDataset(local=str(path), shuffle=False, batch_size=1, validate_hash="sha1")


def test_streaming_reads_what_we_wrote_and_its_hashes_hold(tmp_path: Path) -> None:
    path = save(FORMATS["mds"], tmp_path, make_source(), shard_bytes=5000)

    dataset = open_streaming(path)

    assert len(list(path.glob("*.mds"))) > 1
    assert [
        (dataset[at]["name"], dataset[at]["content"], dataset[at]["label"], dataset[at]["columns"]) for at in range(7)
    ] == [(one.name, one.content, -1 if one.label is None else one.label, dict(one.columns)) for one in SAMPLES]
    assert sorted(one["name"] for one in dataset) == sorted(one.name for one in SAMPLES)


def test_what_streaming_wrote_is_read(tmp_path: Path) -> None:
    streaming = pytest.importorskip("streaming")
    columns = {"image": "bytes", "label": "int", "caption": "str", "score": "float32", "more": "json"}
    with streaming.MDSWriter(out=str(tmp_path / "a"), columns=columns, size_limit=4000, hashes=["sha1"]) as writer:
        for at in range(30):
            writer.write({"image": JPEG, "label": at % 3, "caption": f"n° {at}", "score": 0.5, "more": [at]})

    found = read_back("mds", tmp_path / "a", tmp_path / "scratch")

    assert [(one.name, one.content, one.label, one.columns) for one in found] == [
        (b"%08d.jpg" % at, JPEG, at % 3, {"caption": f"n° {at}", "score": 0.5, "more": [at]}) for at in range(30)
    ]


# ---- squashfs -----------------------------------------------------------------------------------------


def test_unsquashfs_shows_each_file(tmp_path: Path) -> None:
    need(FORMATS["squashfs"])
    path = save(FORMATS["squashfs"], tmp_path, make_source(PLAIN))

    for one in PLAIN[:3]:
        shown = subprocess.run(["unsquashfs", "-cat", path, one.name], capture_output=True, check=True)
        assert shown.stdout == one.content
    about = subprocess.run(["unsquashfs", "-s", path], capture_output=True, check=True, text=True).stdout
    assert "Data is uncompressed" in about


def test_links_in_an_image_are_left_out_and_told(tmp_path: Path) -> None:
    need(FORMATS["squashfs"])
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.jpg").write_bytes(JPEG)
    (folder / "link").symlink_to("/etc/passwd")
    subprocess.run(
        ["mksquashfs", folder, tmp_path / "image", "-quiet", "-no-progress"], check=True, capture_output=True
    )

    source, found = load(FORMATS["squashfs"], tmp_path / "image", tmp_path / "scratch")

    assert [(one.name, one.content) for one in found] == [(b"a.jpg", JPEG)]
    assert source.notices.list() == ("a link or device was left out",)


def test_a_gzipped_tar_is_read(tmp_path: Path) -> None:
    path = save(FORMATS["webdataset"], tmp_path, make_source(PLAIN))
    squeezed = tmp_path / "a" / "s.tar.gz"
    squeezed.parent.mkdir()
    squeezed.write_bytes(gzip.compress((path / "shard-00000.tar").read_bytes()))

    assert [one.content for one in read_back("webdataset", squeezed, tmp_path / "scratch")] == [
        one.content for one in PLAIN
    ]
