"""What holds for every format: what was written is read back, and what is damaged or hostile is refused by name."""

from pathlib import Path

import pytest

from tests.formats.sets import CLASSES, EVERY, JPEG, SAMPLES, load, make_source, need, save
from windlass.errors import ConvertError
from windlass.formats.form import Format, Sample, Source


def as_rows(samples: list[Sample]) -> list[tuple[bytes, bytes, int | None, dict[str, object]]]:
    return [(one.name, one.content, one.label, dict(one.columns)) for one in samples]


@pytest.mark.parametrize("format", EVERY)
def test_names_bytes_classes_and_columns_come_back(format: Format, tmp_path: Path) -> None:
    need(format)

    path = save(format, tmp_path, make_source())
    source, found = load(format, path, tmp_path / "scratch")

    if format.name == "squashfs":  # a file system: sorted, and with folders for classes
        assert {one.name: one.content for one in found} == {one.name: one.content for one in SAMPLES}
        assert {one.name: source.get_class(one) for one in found if one.name.startswith(b"cat/")} == {
            b"cat/one.jpg": "cat",
            b"cat/two.png": "cat",
        }
        return
    assert as_rows(found) == as_rows(SAMPLES)
    assert source.classes == CLASSES


@pytest.mark.parametrize("format", EVERY)
def test_it_is_recognised_by_looking_and_by_no_other_format(format: Format, tmp_path: Path) -> None:
    from windlass.app.data.converting import recognise

    need(format)

    path = save(format, tmp_path, make_source())

    assert recognise(path) == format.name


@pytest.mark.parametrize("format", EVERY)
def test_many_shards_hold_each_sample_once_and_in_order(format: Format, tmp_path: Path) -> None:
    need(format)
    samples = [Sample(b"%02d/%06d.jpg" % (at % 3, at), b"%d" % at * 97, at % 3) for at in range(2000)]
    samples.sort(key=lambda one: one.name)

    path = save(format, tmp_path, make_source(samples), shard_bytes=50_000)
    _, found = load(format, path, tmp_path / "scratch")

    assert [(one.name, one.content, one.label) for one in found] == [
        (one.name, one.content, one.label) for one in samples
    ]


@pytest.mark.parametrize("format", EVERY)
def test_the_same_samples_give_the_same_bytes(format: Format, tmp_path: Path) -> None:
    need(format)
    if format.name in ("lmdb", "hdf5"):
        pytest.skip("their libraries write what they like into free space")

    made = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        path = save(format, tmp_path / name, make_source())
        files = sorted(path.iterdir()) if format.is_folder else [path]
        made.append([(file.name, file.read_bytes()) for file in files])

    assert made[0] == made[1]


@pytest.mark.parametrize("format", EVERY)
def test_a_name_of_a_thousand_characters(format: Format, tmp_path: Path) -> None:
    need(format)
    name = b"d/" + b"n" * 1000 + b".jpg"
    source = make_source([Sample(name, JPEG, 0)])

    if format.name == "squashfs":
        with pytest.raises(ConvertError, match="255 bytes at most"):
            save(format, tmp_path, source)
        return
    _, found = load(format, save(format, tmp_path, source), tmp_path / "scratch")

    assert [one.name for one in found] == [name]


@pytest.mark.parametrize("format", EVERY)
def test_what_is_cut_off_is_refused(format: Format, tmp_path: Path) -> None:
    need(format)
    path = save(format, tmp_path, make_source([Sample(b"a/%d.jpg" % at, JPEG * 9, 0) for at in range(60)]))
    largest = max(path.iterdir(), key=lambda one: one.stat().st_size) if format.is_folder else path
    largest.write_bytes(largest.read_bytes()[: largest.stat().st_size // 2])

    with pytest.raises(ConvertError):
        load(format, path, tmp_path / "scratch")


# WebDataset's tar and squashfs have no checksums for contents.
WITH_CHECKSUMS = [one for one in EVERY if one.id not in ("webdataset", "squashfs")]


@pytest.mark.parametrize("format", WITH_CHECKSUMS)
def test_a_flipped_bit_is_found(format: Format, tmp_path: Path) -> None:
    need(format)
    path = save(format, tmp_path, make_source([Sample(b"a/%d.jpg" % at, JPEG, 0) for at in range(9)]))
    largest = max(path.iterdir(), key=lambda one: one.stat().st_size) if format.is_folder else path
    flipped = bytearray(JPEG)
    flipped[99] ^= 8
    content = largest.read_bytes()
    assert JPEG in content
    largest.write_bytes(content.replace(JPEG, flipped))

    with pytest.raises(ConvertError, match=r"damaged|checksum|CRC"):
        load(format, path, tmp_path / "scratch")


@pytest.mark.parametrize("name", [b"../../outside", b"a/../../b", b"nul\0name", b"", b"a/.."])
@pytest.mark.parametrize("format", EVERY)
def test_a_hostile_name_in_a_source_is_refused_or_made_harmless(format: Format, name: bytes, tmp_path: Path) -> None:
    """Written as an attacker would: the writers take any name, the readers must not pass it on."""
    need(format)
    if format.name == "hdf5" and b"\0" in name:
        pytest.skip("HDF5 itself has no such text")
    try:
        path = save(format, tmp_path, make_source([Sample(name, JPEG, 0), Sample(b"good", JPEG, 0)]))
        _, found = load(format, path, tmp_path / "scratch")
    except ConvertError:
        return

    for one in found:
        parts = one.name.split(b"/")
        assert b".." not in parts
        assert b"\0" not in one.name
        assert one.name
        assert not one.name.startswith(b"/")


@pytest.mark.parametrize("format", EVERY)
def test_an_absolute_name_loses_its_slash(format: Format, tmp_path: Path) -> None:
    need(format)
    path = save(format, tmp_path, make_source([Sample(b"/etc/a.jpg", JPEG, 0), Sample(b"etc/b.jpg", JPEG, 0)]))
    _, found = load(format, path, tmp_path / "scratch")

    assert [one.name for one in found] == [b"etc/a.jpg", b"etc/b.jpg"]


@pytest.mark.parametrize("format", EVERY)
def test_of_nothing_nothing_is_made_and_nothing_breaks(format: Format, tmp_path: Path) -> None:
    need(format)

    path = save(format, tmp_path, Source(samples=iter(())))
    try:
        _, found = load(format, path, tmp_path / "scratch")
    except ConvertError:
        return

    assert found == []


@pytest.mark.parametrize("format", EVERY)
def test_a_source_of_unknown_size_is_written_too(format: Format, tmp_path: Path) -> None:
    need(format)
    samples = [Sample(b"a/%04d.jpg" % at, JPEG * (at % 5), 0) for at in range(300)]

    path = save(format, tmp_path, Source(samples=iter(samples), classes=["a"]))
    _, found = load(format, path, tmp_path / "scratch")

    assert [(one.name, one.content) for one in found] == [(one.name, one.content) for one in samples]


@pytest.mark.parametrize("format", EVERY)
def test_random_bytes_are_refused(format: Format, tmp_path: Path) -> None:
    need(format)
    path = save(format, tmp_path, make_source())
    for file in path.iterdir() if format.is_folder else [path]:
        file.write_bytes(bytes(range(255, 0, -1)) * 40)

    with pytest.raises(ConvertError):
        load(format, path, tmp_path / "scratch")
