"""Tar archives as every tar reads them: POSIX ustar headers, with a pax header before those it cannot hold.

Written by hand because Python's tarfile needs 30 microseconds for a header and this 3; the bytes depend on nothing but
the arguments, so that the same input gives the same archive.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional, Tuple

BLOCK = 512
END = bytes(2 * BLOCK)
LONGEST_NAME = 100
_LONGEST_PREFIX = 155
_LARGEST = 0o77777777777  # eleven octal digits
_CHECKSUM = 148  # where it stands in a header
_TARGET = 157
_NOBODY = b"%07o\0" % 0
_OWNER = 2 * _NOBODY
_AFTER_KIND = bytes(100) + b"ustar\x0000" + bytes(64) + 2 * _NOBODY
_NO_PREFIX = bytes(_LONGEST_PREFIX)
_AFTER_PREFIX = bytes(12)
_FIXED_SUM = sum(_OWNER) + sum(_AFTER_KIND) + 8 * 32  # the checksum's own eight bytes count as spaces
_USUAL_MODE = 0o644
_USUAL_MIDDLE = b"%07o\0" % _USUAL_MODE + _OWNER
_USUAL_END = b"0" + _AFTER_KIND + _NO_PREFIX + _AFTER_PREFIX
_USUAL_SUM = _FIXED_SUM + sum(_USUAL_MIDDLE) - sum(_OWNER) + ord("0")


def pad(size: int) -> int:
    """How many bytes of nothing follow so many of content."""
    return -size % BLOCK


def make_header(name: bytes, size: int, mtime_s: int, mode: int = _USUAL_MODE) -> bytes:
    """The header of a regular file; its content follows, then `pad` bytes."""
    if len(name) <= LONGEST_NAME and size <= _LARGEST and 0 <= mtime_s <= _LARGEST and mode == _USUAL_MODE:
        # What _make_block makes, with everything that is always the same put together beforehand: 40 % faster.
        numbers = b"%011o\0%011o\0" % (size, mtime_s)
        checksum = _USUAL_SUM + sum(name) + sum(numbers)
        return b"%b%b%b%06o\0 %b" % (name.ljust(LONGEST_NAME, b"\0"), _USUAL_MIDDLE, numbers, checksum, _USUAL_END)
    prefix, short = _split(name)
    records = []
    if short is None:
        records.append((b"path", name))
        prefix, short = b"", name[:LONGEST_NAME]
    if size > _LARGEST:
        records.append((b"size", b"%d" % size))
    if not 0 <= mtime_s <= _LARGEST:
        records.append((b"mtime", b"%d" % mtime_s))
    filled = prefix.ljust(_LONGEST_PREFIX, b"\0")
    plain = _make_block(short, min(size, _LARGEST), min(max(mtime_s, 0), _LARGEST), mode, b"0", filled)
    if not records:
        return plain
    text = b"".join(_make_record(key, value) for key, value in records)
    return _make_block(b"pax", len(text), 0, 0o644, b"x", _NO_PREFIX) + text + bytes(pad(len(text))) + plain


def make_special_header(name: bytes, kind: bytes, mtime_s: int, mode: int, target: bytes = b"") -> bytes:
    """Of what has no content: b"5" a folder, b"2" a symbolic link to `target`, b"1" one more name of file `target`."""
    prefix, short = _split(name)
    records = []
    if short is None:
        records.append((b"path", name))
        prefix, short = b"", name[:LONGEST_NAME]
    if len(target) > LONGEST_NAME:
        records.append((b"linkpath", target))
        target = target[:LONGEST_NAME]
    seconds = min(max(mtime_s, 0), _LARGEST)
    plain = bytearray(_make_block(short, 0, seconds, mode, kind, prefix.ljust(_LONGEST_PREFIX, b"\0")))
    plain[_TARGET : _TARGET + len(target)] = target
    plain[_CHECKSUM : _CHECKSUM + 6] = b"%06o" % (int(plain[_CHECKSUM : _CHECKSUM + 6], 8) + sum(target))
    if not records:
        return bytes(plain)
    text = b"".join(_make_record(key, value) for key, value in records)
    return _make_block(b"pax", len(text), 0, 0o644, b"x", _NO_PREFIX) + text + bytes(pad(len(text))) + bytes(plain)


def _split(name: bytes) -> "Tuple[bytes, Optional[bytes]]":
    """At a slash, so that both parts fit; None where there is no such slash."""
    if len(name) <= LONGEST_NAME:
        return b"", name
    at = name.rfind(b"/", 0, _LONGEST_PREFIX + 1)
    rest = len(name) - at - 1
    if at <= 0 or not 0 < rest <= LONGEST_NAME:
        return b"", None
    return name[:at], name[at + 1 :]


def _make_block(name: bytes, size: int, mtime_s: int, mode: int, kind: bytes, prefix: bytes) -> bytes:
    numbers = b"%011o\0%011o\0" % (size, mtime_s)
    mode_text = b"%07o\0" % mode
    checksum = _FIXED_SUM + sum(name) + sum(mode_text) + sum(numbers) + kind[0]
    if prefix is not _NO_PREFIX:
        checksum += sum(prefix)
    head = name.ljust(LONGEST_NAME, b"\0") + mode_text + _OWNER + numbers
    return head + b"%06o\0 " % checksum + kind + _AFTER_KIND + prefix + _AFTER_PREFIX


def _make_record(key: bytes, value: bytes) -> bytes:
    """A pax record begins with its own length, the digits of it included."""
    size = len(key) + len(value) + 3
    total = size + len(str(size))
    total = size + len(str(total))
    return b"%d %b=%b\n" % (total, key, value)
