"""The files that all data benchmarks share, made once: real JPEGs of some 45 KB, and very many tiny files.

Kept under build/, which git ignores. A folder that is there is whole: it is made aside and renamed.
Making JPEGs needs Pillow and numpy (`tools/peers.sh`); reading what was made needs nothing.
"""

import io
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "build" / "data-corpus"
JPEGS = CORPUS / "jpegs"
TINY = CORPUS / "tiny"
PEERS = ROOT / ".venv-peers" / "bin" / "python"
CLASSES = 1_000
_IMAGES = 400  # distinct pictures; the files differ by a comment each


def make_jpegs(folder: Path = JPEGS, count: int = 50_000) -> Path:
    """45 KB in the mean, from 22 to 90, some 400 to 510 pixels wide, in 1,000 class folders."""
    if folder.exists():
        return folder
    try:
        import PIL  # noqa: F401
    except ImportError:
        subprocess.run([PEERS, "-m", "benchmarks.data.corpus", "jpegs", folder, str(count)], cwd=ROOT, check=True)
        return folder
    images = [_encode(number) for number in range(_IMAGES)]
    chance = random.Random(5)

    def make(number: int) -> bytes:
        image = images[chance.randrange(_IMAGES)]
        comment = b"file %d of the benchmark" % number
        return image[:2] + b"\xff\xfe" + (len(comment) + 2).to_bytes(2, "big") + comment + image[2:]

    return _write_all(folder, count, "img_{:06}.jpg", make)


def make_tiny(folder: Path = TINY, count: int = 1_000_000) -> Path:
    """Files of 100 to 2,000 bytes, in 1,000 folders."""
    chance = random.Random(6)
    stock = chance.randbytes(1 << 20)

    def make(number: int) -> bytes:
        size, start = chance.randrange(100, 2_001), chance.randrange(len(stock) - 2_000)
        return b"%-12d" % number + stock[start : start + size - 12]

    return folder if folder.exists() else _write_all(folder, count, "{:07}.txt", make)


def _encode(number: int) -> bytes:
    """Clouds of colour with some grain: smooth as photographs are, and about as large when encoded."""
    import numpy
    from PIL import Image

    chance = numpy.random.default_rng(number)
    width, height = int(chance.integers(405, 515)), int(chance.integers(330, 420))
    picture = numpy.zeros((height, width, 3))
    for cells, strength in ((4, 70), (16, 35), (64, 16)):
        noise = (chance.random((cells, cells, 3)) * 255).astype(numpy.uint8)
        clouds = Image.fromarray(noise).resize((width, height), Image.Resampling.BICUBIC)
        picture += (numpy.asarray(clouds, dtype=float) - 128) * strength / 64
    picture += chance.normal(0, chance.uniform(2, 11), (height, width, 1))
    content = io.BytesIO()
    image = Image.fromarray((picture + 128).clip(0, 255).astype(numpy.uint8))
    image.save(content, "JPEG", quality=int(chance.integers(74, 92)))
    return content.getvalue()


def _write_all(folder: Path, count: int, pattern: str, make: Callable[[int], bytes]) -> Path:
    aside = folder.with_name(f"{folder.name}.{os.getpid()}")
    for number, place in enumerate(_list_folders(aside, count)):
        with open(f"{place}/{pattern.format(number)}", "wb", 0) as file:
            file.write(make(number))
    aside.rename(folder)
    return folder


def _list_folders(aside: Path, count: int) -> Iterator[str]:
    """The folder of each file, in order: the files of one class lie together, as they do when a set is unpacked."""
    each = -(-count // CLASSES)
    for start in range(0, count, each):
        place = aside / f"class_{start // each:04}"
        place.mkdir(parents=True)
        for _ in range(min(each, count - start)):
            yield str(place)


if __name__ == "__main__":
    {"jpegs": make_jpegs, "tiny": make_tiny}[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
