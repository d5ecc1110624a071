"""WebDataset: tar archives in which files that differ only in what follows the first dot are one sample.

`a/17.jpg`, `a/17.cls` and `a/17.json` are image, class number and columns. A dot in a file's own name would cut it in
two, so it becomes `_`, and the name as it was goes into the json.
"""

import json
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from windlass.errors import ConvertError
from windlass.formats.class_list import load_classes, save_classes
from windlass.formats.form import Format, Sample, Source, as_name, as_text, check_name, cut_shards
from windlass.formats.repeats import tell_apart
from windlass_job.shards.archives import ArchiveDamaged, iterate_members, open_tar
from windlass_job.shards.readers import list_damages
from windlass_job.shards.tarring import END, make_header, pad

_CLASS, _JSON = b"cls", b"json"
_OWN = "__windlass__"  # what only we need, in the json: {suffix: {"name": …, "columns": …}}
_NO_SUFFIX = b"bin"
_NUMBER = re.compile(r"-?[0-9]+")
_LONGEST_NUMBER = 18


@dataclass
class _Group:
    """The files of one sample, by their suffix."""

    key: bytes
    members: dict[bytes, bytes] = field(default_factory=dict)
    labels: set[int] = field(default_factory=set)
    columns: dict[bytes, dict[str, Any]] = field(default_factory=dict)
    names: dict[bytes, bytes] = field(default_factory=dict)


def save(path: Path, source: Source, shard_bytes: int) -> None:
    for number, samples in enumerate(cut_shards(source.samples, shard_bytes)):
        with (path / f"shard-{number:05}.tar").open("wb") as file:
            for group in _group(samples):
                _write_group(file, group, source)
            file.write(END)
    save_classes(path, source.classes)


def _group(samples: Iterator[Sample]) -> Iterator[_Group]:
    group: _Group | None = None
    for sample in samples:
        key, suffix = _split(sample.name)
        if group is None or not _takes(group, key, suffix):
            if group is not None:
                yield group
                if group.key == key:  # the same name twice: readers would take them for one sample
                    key += b"-again"
            group = _Group(key)
        group.members[suffix] = sample.content
        if sample.label is not None:
            group.labels.add(sample.label)
        if sample.columns:
            group.columns[suffix] = dict(sample.columns)
        if key + b"." + suffix != sample.name:
            group.names[suffix] = sample.name
    if group is not None:
        yield group


def _split(name: bytes) -> tuple[bytes, bytes]:
    folder, slash, last = name.rpartition(b"/")
    stem, _, suffix = last.rpartition(b".")
    if not stem:
        stem, suffix = last, _NO_SUFFIX
    # Files called .cls and .json would be taken for class and columns.
    suffix = suffix + b"_" if suffix.lower() in (_CLASS, _JSON) else suffix or _NO_SUFFIX
    return folder + slash + stem.replace(b".", b"_"), suffix


def _takes(group: _Group, key: bytes, suffix: bytes) -> bool:
    # Readers see suffixes in lower case.
    return group.key == key and suffix.lower() not in (one.lower() for one in group.members)


def _write_group(file: "IO[bytes]", group: _Group, source: Source) -> None:
    members = dict(group.members)
    if len(group.labels) == 1:
        members[_CLASS] = b"%d" % next(iter(group.labels))
    elif group.labels:
        source.notices.tell("files of one sample are of several classes, and WebDataset has one for them all")
    about = _make_json(group)
    if about:
        members[_JSON] = json.dumps(about, sort_keys=True).encode()
    for suffix, content in members.items():
        file.write(make_header(group.key + b"." + suffix, len(content), 0))
        file.write(content)
        file.write(bytes(pad(len(content))))


def _make_json(group: _Group) -> dict[str, Any]:
    own: dict[str, dict[str, Any]] = {}
    for suffix, name in group.names.items():
        own.setdefault(as_text(suffix), {})["name"] = as_text(name)
    about: dict[str, Any] = {}
    if len(group.members) == 1 and group.columns:
        about = next(iter(group.columns.values()))
    else:
        for suffix, columns in group.columns.items():
            own.setdefault(as_text(suffix), {})["columns"] = columns
    return {**about, _OWN: own} if own else about


def load(path: Path, _: Path) -> Source:
    folder = path if path.is_dir() else path.parent
    source = Source(samples=(), classes=load_classes(folder))
    source.samples = tell_apart(_iterate(_list_files(path), source), source.notices)
    return source


def _iterate(files: list[Path], source: Source) -> Iterator[Sample]:
    for file in files:
        group: _Group | None = None
        for name, content in _iterate_members(file, source):
            key, dot, suffix = name.rpartition(b"/")[2].partition(b".")
            key = name[: len(name) - len(dot) - len(suffix)]
            if group is None or group.key != key or suffix in group.members:
                if group is not None:
                    yield from _make_samples(group, source)
                group = _Group(key)
            group.members[suffix if dot else b""] = content
        if group is not None:
            yield from _make_samples(group, source)


def _iterate_members(path: Path, source: Source) -> Iterator[tuple[bytes, bytes]]:
    members = _read_members(path)
    while True:
        try:
            found = next(members, None)
        except _list_damages() as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            words = str(error) if isinstance(error, ArchiveDamaged) else f"{path} is damaged or cut off: {error}"
            raise ConvertError(words) from error
        if found is None:
            return
        member, content = found
        if content is not None:
            yield check_name(as_name(member.name), source.notices), content
        elif not member.isdir():
            source.notices.tell("a link or device in an archive was left out")


def _list_damages() -> tuple[type[Exception], ...]:
    return (OSError, *list_damages())


def _read_members(path: Path) -> Iterator[tuple[tarfile.TarInfo, bytes | None]]:
    with open_tar(bytes(path), _is_compressed(path)) as archive:
        for _, member in iterate_members(archive):
            file = archive.extractfile(member) if member.isreg() else None
            yield member, file.read() if file is not None else None


def _is_compressed(path: Path) -> bool:
    try:
        tarfile.open(path, "r:").close()
    except tarfile.TarError:
        return True
    return False


def _make_samples(group: _Group, source: Source) -> Iterator[Sample]:
    others = [suffix for suffix in group.members if suffix not in (_CLASS, _JSON)]
    about = _read_json(group.members.get(_JSON)) if others else None
    if about is None and _JSON in group.members:  # no object, or alone: a file like any other
        others.append(_JSON)
    shared = dict(about or {})
    own = _take_own(shared, source)
    label = _read_class(group.members.get(_CLASS), source, shared) if others else None
    for suffix in others or list(group.members):
        mine = own.get(as_text(suffix), {})
        name = as_name(mine["name"]) if "name" in mine else group.key + (b"." + suffix if suffix else b"")
        columns = {**shared, **mine.get("columns", {})}
        yield Sample(check_name(name, source.notices), group.members[suffix], label, columns)


def _take_own(about: dict[str, Any], source: Source) -> dict[str, dict[str, Any]]:
    """What we wrote for ourselves; something else of that name stays a column."""
    own = about.get(_OWN)
    if own is None:
        return {}
    if not _is_own(own):
        source.notices.tell(f"a sample has {_OWN} that is none of ours: it is kept as a column")
        return {}
    return dict(about.pop(_OWN))


def _is_own(own: Any) -> bool:
    if not isinstance(own, dict) or not all(isinstance(one, dict) for one in own.values()):
        return False
    return all(_is_name(one.get("name", "")) and isinstance(one.get("columns", {}), dict) for one in own.values())


def _is_name(name: Any) -> bool:
    try:
        return isinstance(name, str) and as_name(name) is not None
    except UnicodeEncodeError:  # half of a character
        return False


def _read_json(content: bytes | None) -> dict[str, Any] | None:
    try:
        found = json.loads(content) if content is not None else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _read_class(content: bytes | None, source: Source, columns: dict[str, Any]) -> int | None:
    if content is None:
        return None
    text = content.decode("utf-8", "replace").strip()
    if _NUMBER.fullmatch(text):
        if len(text) <= _LONGEST_NUMBER:
            return source.take_label(int(text), columns)
        columns.setdefault("label", text)
        return None
    return source.number_class(text) if text else None


def looks_like(path: Path) -> bool:
    """Tar archives; whether their files are grouped does not matter: single ones are samples of one file."""
    try:
        files = _list_files(path)
        return bool(files) and tarfile.is_tarfile(files[0])
    except OSError:
        return False


def _list_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(one for one in path.iterdir() if one.name.endswith((".tar", ".tar.gz", ".tgz")) and one.is_file())


WEBDATASET = Format(
    name="webdataset",
    summary="WebDataset: tar archives with an image, its .cls and its .json side by side",
    is_folder=True,
    looks_like=looks_like,
    load=load,
    save=save,
)
