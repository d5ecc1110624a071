"""Images by every decoder that is installed: the same pictures, cut alike; broken ones told. Needs tools/peers.sh."""

import io
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reading.sets import File, write_set
from windlass_job import data
from windlass_job.reading import cropping, decoding
from windlass_job.reading.cropping import CROPS, Dice
from windlass_job.reading.loader import BatchFailed

NAMES = [one.name for one in decoding.DECODERS]


@pytest.mark.parametrize("crop", sorted(CROPS))
@given(st.integers(1, 3000), st.integers(1, 3000), st.integers(1, 512), st.integers(0, 99))
def test_a_crop_lies_in_the_picture_also_when_it_is_shrunk(
    crop: str, height: int, width: int, size: int, number: int
) -> None:
    box = CROPS[crop](height, width, size, Dice(1, 2, number))
    shrink = cropping.choose_shrink(box, size)
    small = -(-height // shrink), -(-width // shrink)
    top, left, h, w = cropping.shrink_box(box, shrink, *small)

    assert (h, w) >= (1, 1)
    assert 0 <= top <= top + h <= small[0]
    assert 0 <= left <= left + w <= small[1]
    assert shrink == 1 or min(h, w) >= size


def test_dice_are_even_and_differ() -> None:
    rolls = [Dice(1, epoch, number).roll() for epoch in range(20) for number in range(500)]

    assert len(set(rolls)) == len(rolls)
    assert abs(sum(rolls) / len(rolls) - 0.5) < 0.02
    assert all(0 <= roll < 1 for roll in rolls)


def make_picture(height: int = 300, width: int = 400) -> Any:
    """Smooth, and different in every corner and colour."""
    y, x = numpy.mgrid[0:height, 0:width]
    return numpy.stack([x * 255 // width, y * 255 // height, (x + y) * 255 // (height + width)], 2).astype(numpy.uint8)


def encode(picture: Any, kind: str = "JPEG", mode: str = "RGB") -> bytes:
    image = pytest.importorskip("PIL.Image")
    content = io.BytesIO()
    image.fromarray(picture).convert(mode).save(content, kind, **({"quality": 95} if kind == "JPEG" else {}))
    return content.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = [File(name=b"%02d.jpg" % number, content=encode(make_picture()), label=number % 3) for number in range(12)]
    return write_set(tmp_path / "set", [files])


def load(folder: Path, decoder: str, **options: Any) -> Any:
    module = next(one.module for one in decoding.DECODERS if one.name == decoder)
    try:
        pytest.importorskip(module)
    except (RuntimeError, OSError) as error:  # a library that is installed and cannot be loaded
        pytest.skip(str(error))
    return data.loader(data.Shards(folder), **{"batch_size": 4, "decode": decoder, "workers": 2, **options})


def take(batches: Any) -> Any:
    with batches:
        images, _ = next(iter(batches))
    images = numpy.asarray(images)
    return images if images.shape[3] == 3 else images.transpose(0, 2, 3, 1)


@pytest.mark.peers
@pytest.mark.parametrize("decoder", NAMES)
def test_the_middle_of_the_picture_is_what_it_should_be(folder: Path, decoder: str) -> None:
    images = take(load(folder, decoder, train=False, size=112))

    side = round(300 * 224 / 256)
    wanted = make_picture()[(300 - side) // 2 :, (400 - side) // 2 :][:side, :side]
    grid = ((numpy.arange(112) + 0.5) * side / 112).astype(int)
    difference = numpy.abs(images[0].astype(int) - wanted[grid][:, grid].astype(int))
    assert images.shape == (4, 112, 112, 3)
    assert difference.mean() < 2
    assert difference.max() < 12


@pytest.mark.peers
@pytest.mark.parametrize("decoder", NAMES)
def test_all_decoders_cut_and_flip_alike(folder: Path, decoder: str) -> None:
    wanted = take(load(folder, "pillow", size=64, seed=3))
    images = take(load(folder, decoder, size=64, seed=3))

    assert numpy.abs(images.astype(int) - wanted.astype(int)).mean() < 2


@pytest.mark.peers
@pytest.mark.parametrize("decoder", NAMES)
def test_a_part_that_has_its_size_already_is_flipped_too(folder: Path, decoder: str) -> None:
    images = take(load(folder, decoder, crop="random", size=64, batch_size=12)).astype(int)

    rises = images[:, :, -1, 0].mean(axis=1) > images[:, :, 0, 0].mean(axis=1)  # red grows to the right
    assert set(rises) == {True, False}


@pytest.mark.peers
@pytest.mark.parametrize("decoder", NAMES)
@pytest.mark.parametrize(("kind", "mode"), [("PNG", "RGB"), ("PNG", "RGBA"), ("JPEG", "L"), ("JPEG", "CMYK")])
def test_other_kinds_of_images_are_decoded_too(tmp_path: Path, decoder: str, kind: str, mode: str) -> None:
    content = encode(make_picture(), kind, mode)
    write_set(tmp_path, [[File(name=b"%d" % number, content=content) for number in range(4)]])
    try:
        images = take(load(tmp_path, decoder, train=False, size=64))
    except BatchFailed:
        assert decoder == "torchvision"  # alone among them it decodes no CMYK
        return

    red, green, _ = images[0].astype(int).mean(axis=(0, 1))
    assert abs(red - 127) < 8
    assert abs(green - 127) < 8


@pytest.mark.peers
@pytest.mark.parametrize("decoder", NAMES)
def test_a_broken_image_is_told_by_name(folder: Path, tmp_path: Path, decoder: str) -> None:
    files = [File(name=b"%d.jpg" % number, content=encode(make_picture())) for number in range(4)]
    files[2] = File(name=b"2.jpg", content=b"\xff\xd8 this is none")
    write_set(tmp_path / "broken", [files])

    with pytest.raises(BatchFailed, match=r"sample 2 \(2\.jpg\)"):
        take(load(tmp_path / "broken", decoder, train=False))
    with load(tmp_path / "broken", decoder, train=False, on_error="skip") as batches:
        assert [len(labels) for _, labels in batches] == [3]


@pytest.mark.peers
@pytest.mark.parametrize("decoder", ["simplejpeg", "opencv", "pillow"])
def test_a_worker_loads_the_chosen_library_alone(folder: Path, decoder: str) -> None:
    """PyTorch in each of them would cost seconds before the first batch."""
    libraries = {"simplejpeg": "/simplejpeg/", "opencv": "/cv2/", "pillow": "/PIL/", "torch": "/torch/"}
    with load(folder, decoder, workers=1, processes=True, crop="centre", size=256, train=False) as batches:
        next(iter(batches))
        mapped = Path(f"/proc/{batches._crew._processes[0].pid}/maps").read_text()

    resizer = "opencv"  # these pictures are not of the wanted size; it is the first choice for that
    assert {name for name, path in libraries.items() if path in mapped} == {decoder, resizer}


@pytest.mark.peers
def test_normalised_they_have_the_wanted_mean(folder: Path) -> None:
    plain = take(load(folder, "pillow", size=64, train=False)).astype(float) / 255
    images = take(load(folder, "pillow", size=64, train=False, dtype="float32", mean=(0.5, 0.4, 0.3), std=(0.5, 1, 2)))

    assert numpy.abs(images - (plain - (0.5, 0.4, 0.3)) / (0.5, 1, 2)).max() < 1e-5
