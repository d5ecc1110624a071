"""`data convert`: a data set from one format into another, one sample after another, whole or not at all."""

import importlib.util
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from windlass.core.shell import quote_path
from windlass.core.toml.reading import nearest
from windlass.edges.aside import PART, write_aside
from windlass.edges.extras import make_extra_hint
from windlass.edges.files import FULL, explain
from windlass.errors import ConvertError, DiskFull, Interrupted, LibraryMissing, UsageError, WindlassError
from windlass.formats import FORMATS
from windlass.formats.form import Format, Sample, Source

# done files, done bytes, all files and all bytes where they are known
Progress = Callable[[int, int, int | None, int | None], None]
_TELL_FILES = 64
_TELL_BYTES = 4 << 20


@dataclass(frozen=True, kw_only=True)
class ConvertOptions:
    name: str | None = None  # of the data set, in its card
    shard_bytes: int | None = None  # where the format has shards
    replace: bool = False  # a target that is there already


PLAIN = ConvertOptions()


@dataclass(frozen=True, kw_only=True)
class Converted:
    path: Path
    source_format: str
    format: str
    files: int
    bytes: int
    classes: int
    seconds: float
    notices: tuple[str, ...]  # what could not be kept as it was


def convert(
    source: Path,
    target: Path,
    *,
    to: str,
    source_format: str | None = None,
    options: ConvertOptions = PLAIN,
    progress: Progress = lambda *_: None,
) -> Converted:
    """`to` and `source_format` are names of FORMATS; where the latter is not given, the source is looked at."""
    began = time.monotonic()
    source, target = source.expanduser(), target.expanduser().absolute()
    written, read = _find_format(to), _find_source_format(source, source_format)
    _check_installed(written)
    _check_installed(read)
    _check_target(source, target, options)
    try:
        with write_aside(target) as workspace:
            opened = read.load(source, workspace.scratch)
            opened = _name(opened, source, read, options)
            _check_space(opened, target)
            count = _Count(opened, progress)
            if written.is_folder:
                workspace.out.mkdir()
            written.save(workspace.out, count.source, options.shard_bytes or written.shard_bytes)
            count.check(source)
    except KeyboardInterrupt:
        raise Interrupted("interrupted", done=f"nothing was written: {target} is as it was") from None
    except OSError as problem:
        raise _explain(problem, target) from problem
    return Converted(
        path=target,
        source_format=read.name,
        format=written.name,
        files=count.files,
        bytes=count.bytes,
        classes=len(opened.classes),
        seconds=time.monotonic() - began,
        notices=opened.notices.list(),
    )


def recognise(path: Path) -> str | None:
    """The format that this looks like, or None."""
    return next((one.name for one in FORMATS.values() if one.looks_like(path)), None)


def _find_format(name: str) -> Format:
    if name not in FORMATS:
        close = nearest(name, FORMATS)
        words = f"there is no format {name[:80]!r}" + (f"; did you mean {close!r}?" if close else "")
        raise UsageError(words, hint=f"formats: {', '.join(FORMATS)}")
    return FORMATS[name]


def _find_source_format(path: Path, name: str | None) -> Format:
    if not path.exists():
        raise ConvertError(f"{path} is not there")
    found = name or recognise(path)
    if found is not None:
        return _find_format(found)
    if path.is_dir() and any(path.iterdir()):
        raise ConvertError(
            f"{path} looks like none of the formats: {', '.join(FORMATS)}",
            details=("a folder of plain files is packed first",),
            hint=f"windlass data pack {quote_path(path)}",
        )
    raise ConvertError(f"{path} is empty, or of no known format", hint=f"formats: {', '.join(FORMATS)}")


def _check_installed(format: Format) -> None:
    if format.library is not None and importlib.util.find_spec(format.library) is None:
        raise LibraryMissing(
            f"{format.name} needs the Python library {format.library}, which is not installed here",
            hint=make_extra_hint(format.extra) if format.extra else None,
        )
    missing = [program for program in format.programs if shutil.which(program) is None]
    if missing:
        raise LibraryMissing(
            f"{format.name} needs the program {missing[0]}, which is not on PATH",
            hint=f"sudo apt-get install {format.package}",
        )


def _check_target(source: Path, target: Path, options: ConvertOptions) -> None:
    here, there = source.resolve(), target.resolve()
    if here == there or there in here.parents or here in there.parents:
        raise ConvertError(f"{target} and {source} lie in one another", hint="name a target beside the source")
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not options.replace:
        raise ConvertError(f"{target} is there already", hint="name another target, or add --replace")
    if recognise(target) is None:  # what is no data set was not meant, and would be lost
        raise ConvertError(f"{target} is no data set: it is not replaced", hint="name another target")


def _name(opened: Source, path: Path, format: Format, options: ConvertOptions) -> Source:
    if options.name:
        opened.name = options.name
    elif format.name != "windlass":
        opened.name = path.name.split(".")[0] or "set"
    if format.name != "windlass":
        opened.about = {**opened.about, "source": path.name, "made": f"converted from {format.name}"}
    return opened


def _check_space(opened: Source, target: Path) -> None:
    free = shutil.disk_usage(target.parent).free
    wanted = opened.total_bytes or 0
    if wanted > free:
        raise DiskFull(
            f"{target} would take {wanted:,} bytes, and {free:,} are free there", hint=f"df -h {target.parent}"
        )


class _Count:
    """Passes the samples on, counts them, and tells how far it is."""

    def __init__(self, source: Source, progress: Progress) -> None:
        self.source = source
        self.files = 0
        self.bytes = 0
        self._progress = progress
        self._samples = source.samples
        source.samples = self._iterate()

    def _iterate(self) -> Iterator[Sample]:
        told_files = told_bytes = 0
        for sample in self._samples:
            yield sample
            self.files += 1
            self.bytes += len(sample.content)
            if self.files - told_files >= _TELL_FILES or self.bytes - told_bytes >= _TELL_BYTES:
                told_files, told_bytes = self.files, self.bytes
                self._tell()
        self._tell()

    def _tell(self) -> None:
        self._progress(self.files, self.bytes, self.source.files, self.source.total_bytes)

    def check(self, path: Path) -> None:
        if not self.files:
            raise ConvertError(f"{path} holds no files")
        if self.source.files is not None and self.files != self.source.files:
            raise ConvertError(f"{path} promises {self.source.files:,} files, and {self.files:,} were found in it")


def _explain(problem: OSError, target: Path) -> WindlassError:
    name = problem.filename
    shown = name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name or target)
    if problem.errno in FULL or PART in shown:
        return explain(problem, target, error=ConvertError)
    return ConvertError(f"{shown}: {problem.strerror or problem}")
