"""Files that survive a crash: written aside, flushed, then renamed. Paths are bytes.

Bytes because Python 3.6 in a session without a locale cannot name a file "é": text becomes a path in `as_path`.
"""

import errno
import json
import os
import stat

TYPE_CHECKING = False  # `typing` costs 10 ms at start on Python 3.6
if TYPE_CHECKING:
    from typing import Any, BinaryIO, Callable, Dict, List, Optional, Union

    Buffer = Union[bytes, memoryview]

NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_FLUSHERS = 8


class Refused(Exception):
    """What was asked for cannot be done; `kind` is one of the words of a reply."""

    def __init__(self, kind: str, problem: str) -> None:
        Exception.__init__(self, problem)
        self.kind = kind
        self.problem = problem


def name_kind(error: OSError) -> str:
    """One word of a reply for what went wrong."""
    if error.errno in NO_SPACE:
        return "no-space"
    kinds = {
        errno.ENOENT: "not-found",
        errno.ENOTDIR: "not-found",
        errno.EACCES: "denied",
        errno.EPERM: "denied",
        errno.EROFS: "denied",
        errno.EEXIST: "exists",
    }
    return kinds.get(error.errno or 0, "failed")


def describe(error: OSError) -> str:
    names = [error.filename, getattr(error, "filename2", None)]
    texts = [as_text(name) if isinstance(name, bytes) else str(name) for name in names if name is not None]
    return ": ".join(texts + [error.strerror or str(error)])


def as_path(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def as_text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def expand_root(text: str) -> bytes:
    """The root as the site file writes it ($SCRATCH/windlass) as an absolute path."""
    path = os.path.expanduser(os.path.expandvars(as_path(text)))
    if not os.path.isabs(path):
        raise Refused("failed", "%s is no absolute path here: is a variable in it not set?" % text)
    return path


def join_inside(folder: bytes, relative: str) -> bytes:
    """A path in this folder and not out of it."""
    parts = relative.split("/")
    if not relative or relative.startswith("/") or "\0" in relative or ".." in parts or "" in parts:
        raise Refused("failed", "refused: %r is not a path inside the folder" % relative)
    return os.path.join(folder, as_path(relative))


def read_bytes(path: bytes) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def open_regular(path: bytes) -> "BinaryIO":
    """For reading, and nothing but a regular file: a pipe would keep us waiting for its writer."""
    if stat.S_ISREG(os.stat(path).st_mode):
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # it may have become a pipe since
        if stat.S_ISREG(os.fstat(handle).st_mode):
            return open(handle, "rb")
        os.close(handle)
    raise Refused("failed", "%s is not a regular file" % as_text(path))


def make_folders(path: bytes) -> None:
    """os.makedirs calls itself for each folder above, and so fails on a deep path."""
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path) or b"."
    for folder in reversed(missing):
        try:
            os.mkdir(folder)
        except FileExistsError:
            if not os.path.isdir(folder):
                raise


def read_json(path: bytes) -> "Optional[Dict[str, Any]]":
    """The object in the file; None when there is none, or nothing that can be read."""
    try:
        return _decode_object(read_bytes(path))
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_regular_json(path: bytes) -> "Optional[Dict[str, Any]]":
    """The same of a file that may be another's work: a pipe would be waited for without end."""
    try:
        with open_regular(path) as file:
            return _decode_object(file.read())
    except (FileNotFoundError, NotADirectoryError, Refused):
        return None


def _decode_object(content: bytes) -> "Optional[Dict[str, Any]]":
    try:
        found = json.loads(content.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def make_json(value: "Dict[str, Any]") -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode("utf-8")


def write_new(path: bytes, content: "Buffer", mode: int = 0o666) -> None:
    """Create a file that must not exist yet; the umask applies. Not flushed: see `flush`."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode & 0o777), "wb", 0) as file:
        view = memoryview(content)
        while len(view):
            view = view[file.write(view) :]


def replace(path: bytes, content: "Buffer", mode: int = 0o666, keeps_mode: bool = False) -> None:
    """The file is the old one or the new one, never a part. keeps_mode: of the old one, whatever the umask is."""
    aside = _write_aside(path, content, mode)
    if keeps_mode:
        copy_mode(path, aside)
    _move(aside, path)


def copy_mode(source: bytes, path: bytes) -> None:
    """Who may read and write the one may do it with the other, where there is the one."""
    try:
        mode = os.stat(source).st_mode
    except FileNotFoundError:
        return
    os.chmod(path, mode & 0o777)


def replace_link(path: bytes, target: bytes) -> None:
    """A symbolic link in place of whatever file or link was there."""
    aside = _make_aside(*os.path.split(path))
    os.symlink(target, aside)
    _move(aside, path)


def overwrite(path: bytes, content: bytes) -> None:
    """JSON over the JSON of a file that is there: needs no space, but a crash right here leaves a part."""
    handle = os.open(path, os.O_WRONLY)
    try:
        content = content.ljust(os.fstat(handle).st_size)
        if os.write(handle, content) < len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        os.fsync(handle)
    finally:
        os.close(handle)


def publish(
    path: bytes,
    content: "Buffer",
    mode: int = 0o666,
    also: "Optional[bytes]" = None,
    is_flushed_first: bool = False,
) -> None:
    """Like `replace`, but FileExistsError when the file is there already: of many at once, one succeeds.

    Flushed at the end, in one go: after a power cut the file may be there and empty, and readers must bear that, unless
    it is flushed first. also: a folder above that is new too.
    """
    if not link_new(path, content, mode, is_flushed_first):
        write_new(path, content, mode)  # a file system without hard links: a crash right here leaves a part
    flush_all([path, os.path.dirname(path)] + ([also] if also else []))


def link_new(path: bytes, content: "Buffer", mode: int = 0o666, is_flushed_first: bool = False) -> bool:
    """As `publish`, not flushed at the end. False: here are no hard links, and nothing was made."""
    aside = _make_aside(*os.path.split(path))
    try:
        write_new(aside, content, mode)
        if is_flushed_first:
            flush(aside)
        os.link(aside, path)
    except FileExistsError:
        # A file server's first answer may have been lost on its way: then it is our own file that is there.
        if os.stat(aside).st_nlink != 2:
            raise
    except OSError as error:
        if error.errno in NO_SPACE:
            raise
        return False
    finally:
        remove_if_there(aside)
    return True


def rename_new(path: bytes, name: bytes, content: "Buffer") -> None:
    """The same where there are no hard links: a folder with one file. No rename replaces one that holds something."""
    aside = _make_aside(*os.path.split(path))
    inside = os.path.join(aside, name)
    os.mkdir(aside)
    try:
        write_new(inside, content)
        flush_all([inside, aside])
        os.rename(aside, path)
    except OSError as error:
        remove_if_there(inside)
        os.rmdir(aside)
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path) from None
        raise


def flush(path: bytes) -> None:
    """Bring a file or folder to the disk itself."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:  # some file systems cannot fsync a folder
        if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.EBADF):
            raise
    finally:
        os.close(handle)


def begin_flush(handle: int, start: int, end: int) -> None:
    """Has the kernel bring these bytes to the disk in the background: the flush at the end then waits for less."""
    try:
        # On Linux this begins to write what is dirty; pages that are not yet written stay in memory.
        os.posix_fadvise(handle, start, end - start, os.POSIX_FADV_DONTNEED)
    except (AttributeError, OSError):  # macOS has none, and some file systems refuse
        pass


def flush_all(paths: "List[bytes]", beat: "Callable[[], None]" = lambda: None) -> None:
    """Side by side: a disk brings twenty files home in the time of two (measured on ext4: 10 ms, not 83)."""
    import threading

    left, errors = list(paths), []  # type: List[bytes], List[OSError]

    def work(after: "Callable[[], None]" = lambda: None) -> None:
        while not errors:
            try:
                flush(left.pop())
            except IndexError:
                return
            except OSError as error:
                errors.append(error)
            after()

    helpers = [threading.Thread(target=work) for _ in range(min(_FLUSHERS, len(left)) - 1)]
    started = []
    for helper in helpers:
        try:
            helper.start()
        except RuntimeError:  # the login node allows no more threads: fewer will do
            break
        started.append(helper)
    work(beat)
    for helper in started:
        helper.join()
    if errors:
        raise errors[0]


def remove_if_there(path: bytes) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def make_suffix() -> bytes:
    """Random letters that tell our temporary names apart, on all hosts of the site."""
    return os.urandom(6).hex().encode()


def _move(aside: bytes, path: bytes) -> None:
    try:
        os.rename(aside, path)
    except OSError:
        remove_if_there(aside)
        raise
    flush(os.path.dirname(path))


def _write_aside(path: bytes, content: "Buffer", mode: int) -> bytes:
    aside = _make_aside(*os.path.split(path))
    try:
        write_new(aside, content, mode)
        flush(aside)
    except OSError:
        remove_if_there(aside)
        raise
    return aside


def _make_aside(folder: bytes, name: bytes) -> bytes:
    return os.path.join(folder, b"." + name[:200] + b"." + make_suffix())
