"""Plain files on the node, for programs that need them: archives taken apart, folders copied."""

import os
import stat
from typing import BinaryIO, Callable, List

from windlass_job import disk
from windlass_job.staging.items import Stopped

ENDINGS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".zip")
_PIECE = 1 << 20

IsOver = Callable[[], bool]


def is_archive(path: str) -> bool:
    return path.lower().endswith(ENDINGS)


def unpack(path: bytes, target: bytes, is_over: IsOver) -> List[str]:
    """A packed data set that lies whole on this node, or an archive; what was left out. May raise OSError."""
    from windlass_job.shards import extracting  # most jobs never need it
    from windlass_job.shards.told import TOO_LONG, UNREADABLE

    def heed(files: int, size: int) -> None:
        _heed(is_over)

    work = extracting.extract if os.path.isdir(path) else extracting.extract_archive
    try:
        done = work(path, target, progress=heed)
    except extracting.ExtractFailed as problem:
        raise OSError(str(problem))
    if done.damaged:
        raise OSError(done.damaged[0])
    if extracting.DIFFERS in done.told.counts:  # the folder was empty
        words = "{} names come more than once with other content, and only one file of a name can be there: {}"
        shown = ", ".join(done.told.examples[extracting.DIFFERS])
        raise OSError(words.format(done.told.counts[extracting.DIFFERS], shown))
    if UNREADABLE in done.told.counts or TOO_LONG in done.told.counts:
        raise OSError("; ".join(done.told.make_lines()))
    return list(done.told.make_lines())


def copy_folder(source: bytes, target: bytes, is_over: IsOver, add_bytes: Callable[[int], None]) -> List[str]:
    """File by file, with its links: those that lead out of it still lead to where they led.

    What is neither file, folder nor link is left out and named.
    """
    left_out: List[str] = []
    folders = [b""]
    while folders:
        inner = folders.pop()
        os.mkdir(os.path.join(target, inner) if inner else target, 0o700)
        for entry in os.scandir(os.path.join(source, inner)):
            _heed(is_over)
            relative = os.path.join(inner, entry.name)
            place = os.path.join(target, relative)
            if entry.is_symlink():
                os.symlink(_aim(os.readlink(entry.path), inner, source), place)
            elif entry.is_dir():
                folders.append(relative)
            elif entry.is_file():
                with open(entry.path, "rb") as file:
                    add_bytes(_write(place, file, entry.stat().st_mode, is_over))
            else:
                left_out.append(disk.as_text(relative))
    return ["{} that are no files were left out: {}".format(len(left_out), left_out[0])] if left_out else []


def _aim(link: bytes, folder: bytes, top: bytes) -> bytes:
    """As it is where it stays inside, else from the root: the copy lies somewhere else."""
    inside = os.path.normpath(os.path.join(folder, link))
    if os.path.isabs(link) or (inside != b".." and not inside.startswith(b"../")):
        return link
    return os.path.join(os.path.abspath(top), folder, link)


def _write(place: bytes, source: BinaryIO, mode: int, is_over: IsOver) -> int:
    with open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
        for piece in iter(lambda: source.read(_PIECE), b""):
            _heed(is_over)
            file.write(piece)
        size = file.tell()
    os.chmod(place, (stat.S_IMODE(mode) & 0o777) | 0o600)
    return size


def _heed(is_over: IsOver) -> None:
    if is_over():
        raise Stopped()
