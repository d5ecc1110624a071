"""Links that stay in their folder: those may be made again where the folder is brought to."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional


def find_inside(top: bytes, name: bytes) -> "Optional[bytes]":
    """What the link `name` below `top` points to, from its own folder on; None where it leads out of `top`."""
    path, inside = os.path.join(top, name), os.path.realpath(top)
    real = os.path.realpath(path)
    if real != inside and not real.startswith(os.path.join(inside, b"")):
        return None
    written = os.readlink(path)
    return written if stays_inside(name, written) else os.path.relpath(real, os.path.realpath(os.path.dirname(path)))


def stays_inside(name: bytes, points_to: bytes) -> bool:
    """By the words alone: up no higher than the folder, then only down. Behind another link `..` leads anywhere."""
    if not points_to or points_to.startswith(b"/") or b"\0" in points_to:
        return False
    parts = [part for part in points_to.split(b"/") if part not in (b"", b".")]
    climbs = 0
    while climbs < len(parts) and parts[climbs] == b"..":
        climbs += 1
    return b".." not in parts[climbs:] and climbs <= name.count(b"/")
