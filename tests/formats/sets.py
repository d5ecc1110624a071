"""Small data sets for the tests of formats, and which formats can be tested here."""

import importlib.util
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from windlass.formats import FORMATS
from windlass.formats.form import Format, Sample, Source

CLASSES = ["cat", "dog", "élan"]
JPEG = b"\xff\xd8\xff\xe0" + bytes(range(256)) * 3 + b"\xff\xd9"
SAMPLES = [
    Sample(b"cat/one.jpg", JPEG, 0, {"width": 640, "caption": "a “cat”", "score": 0.1}),
    Sample(b"cat/two.png", b"\x89PNG\r\n\x1a\n" + b"2" * 700, 0),
    Sample(b"dog/v1.2.final.jpg", JPEG + b"dots", 1, {"boxes": [[1, 2], [3, 4]], "ok": True}),
    Sample(b"dog/empty.bin", b"", 1),
    Sample("élan/naïve name\nwith a line.jpg".encode(), JPEG * 30, 2),
    Sample(b"loose-and-without-suffix", b"no class", None),
    Sample(b"bytes/\xff\xfe.raw", b"\0" * 1024, None),
]


def make_source(samples: Iterable[Sample] = tuple(SAMPLES), classes: Iterable[str] = tuple(CLASSES)) -> Source:
    kept = list(samples)
    return Source(
        samples=iter(kept),
        classes=list(classes),
        files=len(kept),
        total_bytes=sum(len(one.content) for one in kept),
        name="pets",
    )


def save(format: Format, folder: Path, source: Source, shard_bytes: int = 1 << 20) -> Path:
    """Written to a place of the format's own shape."""
    path = folder / f"set.{format.name}"
    if format.is_folder:
        path.mkdir()
    format.save(path, source, shard_bytes)
    return path


def load(format: Format, path: Path, scratch: Path) -> tuple[Source, list[Sample]]:
    scratch.mkdir(exist_ok=True)
    source = format.load(path, scratch)
    return source, list(source.samples)


def need(format: Format) -> None:
    """Skip what cannot run here."""
    if format.library is not None and importlib.util.find_spec(format.library) is None:
        pytest.skip(f"{format.library} is not installed: make test-data")
    for program in format.programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: make test-data")


def mark(format: Format) -> list[pytest.MarkDecorator]:
    return [pytest.mark.peers] if format.library or format.programs else []


EVERY = [pytest.param(one, id=one.name, marks=mark(one)) for one in FORMATS.values()]
