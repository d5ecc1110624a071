"""Names under which files are stored: relative, and never leading out of the folder they are unpacked into."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional


def make_stored_name(name: bytes) -> "Optional[bytes]":
    """`./a//b` as `a/b`; None for what is absolute, has `..` in it, or names no file."""
    if not name or name.startswith(b"/") or b"\0" in name or name.endswith(b"/"):
        return None
    parts = [part for part in name.split(b"/") if part not in (b"", b".")]
    if not parts or b".." in parts:
        return None
    return b"/".join(parts)


def name_below(path: bytes, base: bytes) -> "Optional[bytes]":
    """A path of this machine as a stored name: below `base` where it lies there, else as tar stores absolute ones."""
    if not os.path.isabs(path):
        return make_stored_name(os.path.normpath(path))
    path, base = os.path.normpath(path), os.path.join(os.path.normpath(base), b"")
    if path.startswith(base):
        path = path[len(base) :]
    return make_stored_name(path.lstrip(b"/"))
