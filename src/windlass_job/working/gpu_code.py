"""For which GPUs the libraries of an environment hold code: read from the files, without importing anything.

An import needs the driver, minutes on a slow file system, and sometimes a GPU; the library itself is always there.
"""

import glob
import mmap
import os
import re
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Set, Tuple, Union

    Content = Union[bytes, "mmap.mmap"]

# What torch.cuda.get_arch_list() answers lies in one of its libraries as text, since PyTorch 1.6.
_WITH_FLAGS = "libtorch_python.so"
_FLAGS = re.compile(rb"(?:(?:sm|compute)_\d+[a-z]? ?){1,40}(?=\0)")
_FATBIN = struct.pack("<I", 0xBA55ED50)
_HEAD = struct.Struct("<IHHQ")  # magic, version, bytes of the head, bytes of what follows
_ENTRY = struct.Struct("<HHIQ")  # kind, version, bytes of the head, bytes of the code
_ARCHITECTURE = 28  # where in an entry's head it stands
_PTX, _ELF = 1, 2
_KINDS = {_PTX: "compute_", _ELF: "sm_"}

# Where each framework keeps its code for GPUs, below a folder of packages; the first that is there is read.
LIBRARIES = {
    "torch": ("torch/lib/libtorch_python.so", "torch/lib/libtorch_cuda.so"),
    "tensorflow": ("tensorflow/libtensorflow_cc.so.*", "tensorflow/python/_pywrap_tensorflow_internal.so"),
    "jax": ("jax_plugins/xla_cuda*/xla_cuda_plugin.so",),
}


def find_gpu_code(prefix: str) -> "Dict[str, List[str]]":
    """Framework -> such as sm_80, compute_90, sorted; those without any are left out."""
    found = {}
    for name, patterns in LIBRARIES.items():
        for path in _list_libraries(prefix, patterns):
            code = read_library(path)
            if code:
                found[name] = code
                break
    return found


def _list_libraries(prefix: str, patterns: "Tuple[str, ...]") -> "List[str]":
    above = os.path.join(glob.escape(prefix), "lib*", "python3*", "site-packages")
    return [path for pattern in patterns for path in sorted(glob.glob(os.path.join(above, pattern)))]


def read_library(path: str) -> "List[str]":
    """Nothing where it cannot be read."""
    read = read_flags if os.path.basename(path) == _WITH_FLAGS else read_fatbins
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return read(content)
    except (OSError, ValueError):  # not there, or empty
        return []


def read_flags(content: "Content") -> "List[str]":
    """The longest list of architectures that stands there as text."""
    found = [one.group(0).decode("ascii").split() for one in _FLAGS.finditer(content)]
    longest = max(found, key=len) if found else []
    return longest if len(longest) > 1 else []


def read_fatbins(content: "Content") -> "List[str]":
    """Of the pieces of GPU code that NVIDIA's compiler leaves in a library."""
    found: "Set[str]" = set()
    size, at = len(content), content.find(_FATBIN)
    while 0 <= at <= size - _HEAD.size:
        _, version, head, length = _HEAD.unpack_from(content, at)
        end = at + head + length
        if version != 1 or head != _HEAD.size or end > size:
            at = content.find(_FATBIN, at + len(_FATBIN))
            continue
        found |= _read_entries(content, at + head, end)
        at = content.find(_FATBIN, end)
    return sorted(found, key=lambda one: (one.partition("_")[0], int(one.partition("_")[2])))


def _read_entries(content: "Content", at: int, end: int) -> "Set[str]":
    found: "Set[str]" = set()
    while at + _ARCHITECTURE + 4 <= end:
        kind, _, head, length = _ENTRY.unpack_from(content, at)
        if kind not in _KINDS or head <= _ARCHITECTURE:
            break
        found.add(_KINDS[kind] + str(struct.unpack_from("<I", content, at + _ARCHITECTURE)[0]))
        at += head + length
    return found
