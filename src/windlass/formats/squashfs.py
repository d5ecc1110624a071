"""squashfs: a file system in one file, which containers and `squashfuse` mount without extracting it.

sqfstar takes a tar on its input, so that nothing is written twice. Nothing is squeezed and no small files are put
together into fragments: a random read would unpack all that lies in the same block.
"""

import contextlib
import errno
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from windlass.errors import ConvertError
from windlass.formats.form import Format, Sample, Source, as_text, show_name
from windlass_job.shards.layouts import look
from windlass_job.shards.tarring import END, make_header, pad

_MAGIC = b"hsqs"
_LONGEST_PART = 255
_PLAIN = ("-noI", "-noId", "-noD", "-noF", "-noX", "-no-fragments", "-no-xattrs", "-no-duplicates", "-no-hardlinks")
_OPTIONS = (*_PLAIN, "-b", "1M", "-all-root", "-mkfs-time", "0", "-all-time", "0", "-quiet", "-no-progress")


def save(path: Path, source: Source, _: int) -> None:
    command = ["sqfstar", *_OPTIONS, str(path)]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log)
        try:
            assert process.stdin is not None
            _feed(process.stdin, source)
        except BaseException:  # Ctrl-C too: the program would wait for more
            process.kill()
            raise
        finally:
            code = process.wait()
        log.seek(0)
        words = log.read().decode("utf-8", "replace").strip()
    for number in (errno.ENOSPC, errno.EDQUOT):
        if os.strerror(number) in words:
            raise OSError(number, os.strerror(number), str(path))
    if code != 0:
        raise ConvertError(f"sqfstar ended with {code}", said=words[-2000:])


def _feed(stdin: "IO[bytes]", source: Source) -> None:
    with contextlib.suppress(BrokenPipeError), stdin as tar:  # it says itself why it left
        for sample in source.samples:
            _tell_losses(sample, source)
            tar.write(make_header(sample.name, len(sample.content), 0))
            tar.write(sample.content)
            tar.write(bytes(pad(len(sample.content))))
        tar.write(END)


def _tell_losses(sample: Sample, source: Source) -> None:
    if any(len(part) > _LONGEST_PART for part in sample.name.split(b"/")):
        raise ConvertError(f"a file system holds names of {_LONGEST_PART} bytes at most: {show_name(sample.name)}")
    if sample.columns:
        source.notices.tell("columns are left out: a file system has no place for them")
    name = source.get_class(sample)
    if name is not None and name.encode("utf-8", "surrogateescape") not in sample.name.split(b"/")[:-1]:
        source.notices.tell("classes are left out where no folder is named after them")


def load(path: Path, scratch: Path) -> Source:
    """Extracted first, into the scratch folder: squashfs-tools cannot do otherwise, and mounting needs rights."""
    folder = scratch / "squashfs"
    command = ["unsquashfs", "-quiet", "-no-progress", "-no-xattrs", "-d", str(folder), str(path)]
    done = subprocess.run(command, capture_output=True, check=False)
    # As another user than root it cannot give files to their owners, says so, and ends with 2.
    if done.returncode not in (0, 2) or not folder.is_dir():
        raise ConvertError(f"{path} cannot be unpacked", said=done.stderr.decode(errors="replace").strip()[-2000:])
    layout = look(bytes(folder))
    source = Source(samples=(), classes=[as_text(one) for one in layout.classes])
    source.tell_classes()
    source.samples = _iterate(bytes(folder), source, layout.depth)
    return source


def _iterate(folder: bytes, source: Source, depth: int | None) -> Iterator[Sample]:
    for path in _walk(folder, source):
        name = path[len(folder) + 1 :]
        label = source.class_by_folder(name, depth) if depth is not None else None
        with open(path, "rb") as file:
            yield Sample(name, file.read(), label)


def _walk(folder: bytes, source: Source) -> Iterator[bytes]:
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda one: one.name)
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path, source)
        elif entry.is_file(follow_symlinks=False):
            yield entry.path
        else:
            source.notices.tell("a link or device was left out")


def looks_like(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == _MAGIC


SQUASHFS = Format(
    name="squashfs",
    summary="one squashfs image, not squeezed, for squashfuse and containers",
    is_folder=False,
    looks_like=looks_like,
    load=load,
    save=save,
    programs=("sqfstar", "unsquashfs"),
    package="squashfs-tools",
)
