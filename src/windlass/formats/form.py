"""What a format is, and what passes between formats: samples, one after another, and the names of their classes."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from windlass.errors import ConvertError
from windlass_job.shards.naming import make_stored_name

NO_COLUMNS: Mapping[str, Any] = MappingProxyType({})
# A larger number is no class but something else, an id perhaps: it becomes a column.
MOST_CLASSES = 1_000_000


class Sample(NamedTuple):
    """One file of a data set. `label` counts into the classes of its source."""

    name: bytes
    content: bytes
    label: int | None = None
    columns: Mapping[str, Any] = NO_COLUMNS


class Notices:
    """What could not be kept as it was, each kind told once with how often it happened."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def tell(self, sentence: str) -> None:
        self._counts[sentence] = self._counts.get(sentence, 0) + 1

    def list(self) -> tuple[str, ...]:
        return tuple(text if count == 1 else f"{text} ({count:,} times)" for text, count in self._counts.items())


@dataclass(kw_only=True)
class Source:
    """An opened data set. `classes` may grow while the samples are taken; `files` and `total_bytes` may be unknown."""

    samples: Iterable[Sample]
    classes: list[str] = field(default_factory=list)
    files: int | None = None
    total_bytes: int | None = None
    name: str = "set"
    about: dict[str, Any] = field(default_factory=dict)  # for people: licence, how it was made
    notices: Notices = field(default_factory=Notices)

    def get_class(self, sample: Sample) -> str | None:
        if sample.label is None:
            return None
        return self.classes[sample.label] if sample.label < len(self.classes) else str(sample.label)

    def number_class(self, name: str) -> int:
        """The number of a class that is known by its name; new ones are numbered as they come."""
        numbers = self._list_numbers()
        if name not in numbers:
            numbers[name] = len(self.classes)
            self.classes.append(name)
        return numbers[name]

    def class_by_folder(self, name: bytes, depth: int) -> int | None:
        """None for a folder that is no class, such as a hidden one."""
        parts = name.split(b"/")
        folder = as_text(parts[depth]) if len(parts) > depth + 1 else None
        return self._list_numbers().get(folder) if folder is not None else None

    def tell_classes(self) -> None:
        if self.classes:
            self.notices.tell(f"the names of {len(self.classes):,} folders were taken for classes")

    def take_label(self, label: int, columns: dict[str, Any]) -> int | None:
        """A number as another program wrote it: a class, or what only looks like one and becomes a column."""
        if 0 <= label < MOST_CLASSES:
            while len(self.classes) <= label:
                self.classes.append(str(len(self.classes)))
            return label
        if label >= 0:
            columns.setdefault("label", label)
        return None

    def _list_numbers(self) -> dict[str, int]:
        if len(self._numbers) != len(self.classes):
            self._numbers = {one: number for number, one in enumerate(self.classes)}
        return self._numbers

    _numbers: dict[str, int] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, kw_only=True)
class Format:
    """`save` writes to a path where nothing is, and neither flushes nor renames: the caller does."""

    name: str
    summary: str
    is_folder: bool  # several files, or one
    looks_like: Callable[[Path], bool]
    load: Callable[[Path, Path], Source]  # what, and a folder for scratch files
    save: Callable[[Path, Source, int], None]  # where, what, bytes in a shard
    library: str | None = None  # the module that it imports
    extra: str | None = None  # of pyproject.toml: it brings the library
    programs: tuple[str, ...] = ()  # one of the system's package `package`
    package: str | None = None
    shard_bytes: int = 1 << 30


def check_name(name: bytes, notices: Notices) -> bytes:
    """A name that stays in the folder where it is unpacked, whoever made the source."""
    if name.startswith(b"/"):
        notices.tell("a name began at the root of the disk; it is kept without its leading slash")
    stored = make_stored_name(name.lstrip(b"/"))
    if stored is None:
        raise ConvertError(
            f"the source names a file {show_name(name)}, which cannot lie in a folder",
            hint="leave that file out of the source, or rename it there, and convert again",
        )
    return stored


def show_name(name: bytes) -> str:
    text = repr(name.decode("utf-8", "backslashreplace"))
    return text if len(text) <= 120 else f"{text[:100]}…' ({len(name):,} bytes)"


def name_by_content(number: int, content: bytes) -> bytes:
    """A name for what has none: its number, and what its first bytes say that it is."""
    for start, suffix in _STARTS:
        if content.startswith(start):
            return b"%08d%b" % (number, suffix)
    return b"%08d.bin" % number


_STARTS = (
    (b"\xff\xd8\xff", b".jpg"),
    (b"\x89PNG\r\n\x1a\n", b".png"),
    (b"GIF8", b".gif"),
    (b"\x93NUMPY", b".npy"),
    (b"PK\x03\x04", b".zip"),
    (b"RIFF", b".riff"),
    (b"fLaC", b".flac"),
    (b"{", b".json"),
)


def cut_shards(samples: Iterable[Sample], shard_bytes: int, most: int = 200_000) -> Iterator[Iterator[Sample]]:
    """The samples in runs of about so many bytes, none of them held: each run must be taken before the next is."""
    coming = iter(samples)
    for first in coming:
        yield _run(first, coming, shard_bytes, most)


def _run(first: Sample, coming: Iterator[Sample], shard_bytes: int, most: int) -> Iterator[Sample]:
    yield first
    size, count = len(first.content), 1
    while size < shard_bytes and count < most:
        following = next(coming, None)
        if following is None:
            return
        size, count = size + len(following.content), count + 1
        yield following


def as_text(name: bytes) -> str:
    """Any bytes as text that JSON can hold, and back again with `as_name`."""
    return name.decode("utf-8", "surrogateescape")


def as_bytes(text: str) -> bytes:
    """Of a text that somebody else's JSON holds: half of a character, which no file can hold, becomes a mark."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def as_name(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
