"""How the bytes of a planned file are read: whole into a buffer where it is small, else piece by piece."""

import os
import stat
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any, Optional, Tuple, Type

# A pipe that took the place of a file since the walk must not keep us waiting for a writer.
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)


class FileReader:
    """Files by their names below a folder, or wherever the plan says."""

    def __init__(self, top: bytes) -> None:
        # Names are looked up from there: of a million small files a sixth of the time goes into long paths else.
        self._top = os.open(top, getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_CLOEXEC", 0))

    def __del__(self) -> None:
        handle = getattr(self, "_top", None)
        if handle is not None:
            os.close(handle)

    def read_small(self, name: bytes, where: "Optional[bytes]", view: memoryview) -> int:
        """How many bytes came: fewer than the view holds when the file ended. Of what is no file none come."""
        handle = os.open(where or name, _FLAGS, dir_fd=self._top)
        try:
            return os.readv(handle, [view])
        finally:
            os.close(handle)

    def open_large(self, name: bytes, where: "Optional[bytes]") -> "LargeFile":
        return LargeFile(os.open(where or name, _FLAGS, dir_fd=self._top))

    def open_checked(self, name: bytes, where: "Optional[bytes]") -> "LargeFile":
        """Files have no checksum of their own."""
        return self.open_large(name, where)

    def has(self, name: bytes, where: "Optional[bytes]") -> bool:
        if where is not None:
            return False
        try:
            os.stat(name, dir_fd=self._top, follow_symlinks=False)
        except OSError:
            return False
        return True


class LargeFile:
    """An open file, read from its beginning. `size` is what it was when opened."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._seen = os.fstat(handle)
        self.size = self._seen.st_size
        if not stat.S_ISREG(self._seen.st_mode):
            os.close(handle)
            raise OSError("no longer a file")

    def readinto(self, view: memoryview) -> int:
        return os.readv(self._handle, [view])

    def has_changed(self) -> bool:
        now = os.fstat(self._handle)
        return (now.st_size, now.st_mtime_ns) != (self._seen.st_size, self._seen.st_mtime_ns)

    def close(self) -> None:
        os.close(self._handle)


class MemberDamaged(OSError):
    """It would come out no better a second time."""


class Member:
    """A file within an archive, as `LargeFile` is one on a disk."""

    def __init__(self, file: "IO[bytes]", size: int) -> None:
        self._file = file
        self.size = size

    def readinto(self, view: memoryview) -> int:
        try:
            content = self._file.read(len(view))
        except list_damages() as error:
            raise MemberDamaged(str(error))
        view[: len(content)] = content
        return len(content)

    def read_all(self) -> bytes:
        content = bytearray(self.size + 1)  # one more: its checksum is looked at where it ends
        view, done = memoryview(content), 0
        while done < len(content):
            count = self.readinto(view[done:])
            if not count:
                break
            done += count
        return bytes(view[:done])

    def has_changed(self) -> bool:
        return False

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> "Member":
        return self

    def __exit__(self, *_: "Any") -> None:
        self.close()


def list_damages() -> "Tuple[Type[Exception], ...]":
    """What Python's readers of archives raise about bytes that are not as they should be, beside OSError.

    Looked up when something was raised: who reads shards need not wait for modules that take 20 ms.
    """
    import struct
    import tarfile
    import zipfile

    # RuntimeError: encrypted, of a later version. ValueError: a name that is no UTF-8, a seek to before the beginning.
    # MemoryError: xz asks for as much as the damaged bytes say.
    found = (zipfile.BadZipFile, tarfile.TarError, zlib.error, struct.error)  # type: Tuple[Type[Exception], ...]
    found += (EOFError, RuntimeError, ValueError, OverflowError, LookupError, MemoryError)
    try:
        import lzma
    except ImportError:  # a Python that was built without it
        return found
    return found + (lzma.LZMAError,)


class MemberReader:
    """What readers of archives share: `open_large` is theirs."""

    def open_large(self, name: bytes, where: "Any") -> Member:
        raise NotImplementedError

    def open_checked(self, name: bytes, where: "Any") -> Member:
        """Known to be whole before its first byte is given out, where the archive has a checksum of it."""
        return self.open_large(name, where)

    def has(self, name: bytes, where: "Any") -> bool:
        return False

    def read_small(self, name: bytes, where: "Any", view: memoryview) -> int:
        member = self.open_large(name, where)
        try:
            done = 0
            while done < len(view):
                more = member.readinto(view[done:])
                if not more:
                    break
                done += more
            return done
        finally:
            member.close()
