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


def name_below(path: bytes, base: bytes, outside: bool = False) -> "Optional[bytes]":
    """A path of this machine as a stored name, counted from `base`.

    outside: what does not lie there has a name too, as tar stores absolute ones.
    """
    path = os.path.normpath(os.path.join(base, path))
    for top in (os.path.normpath(base), os.path.realpath(base)):
        if path.startswith(os.path.join(top, b"")):
            return make_stored_name(path[len(os.path.join(top, b"")) :])
    return make_stored_name(path.lstrip(b"/")) if outside else None
