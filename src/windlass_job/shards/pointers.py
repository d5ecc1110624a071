"""Where a data set of a site lies: in ROOT/data/NAME, or where the pointer of that name says."""

import os

from windlass_job import disk


def find_target(target: str) -> bytes:
    folder = disk.expand_root(target)
    pointer = disk.read_json(folder + b".json")
    if not os.path.isdir(folder) and pointer and isinstance(pointer.get("path"), str):
        return disk.expand_root(pointer["path"])
    return folder
