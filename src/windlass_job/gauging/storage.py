"""What shared file systems moved for this node, as their clients count it: NFS and Lustre tell, others do not."""

import glob
import re
from typing import Dict, NamedTuple, Optional

Moved = NamedTuple(
    "Moved", [("kind", str), ("read_bytes", int), ("write_bytes", int), ("ops", int)]
)  # since it was mounted, of the whole node

_MOUNTS = "/proc/self/mountstats"
_LUSTRE = ("/proc/fs/lustre/llite/*/stats", "/sys/kernel/debug/lustre/llite/*/stats")
_DEVICE = re.compile(r"^device ", re.MULTILINE)
_OPERATION = re.compile(r"^\s+[A-Z_]+: (\d+) ", re.MULTILINE)
_BYTES = re.compile(r"^\s+bytes:\s+([\d ]+)$", re.MULTILINE)
_SAMPLES = re.compile(r"^(\w+)\s+(\d+) samples(?: \[\w+\](?: \d+ \d+ (\d+))?)?", re.MULTILINE)


def load_moved() -> Optional[Moved]:
    """None where no client tells."""
    try:
        with open(_MOUNTS, errors="replace") as file:
            nfs = read_nfs(file.read())
    except OSError:
        nfs = None
    lustre = _load_lustre()
    found = [one for one in (lustre, nfs) if one is not None]
    if not found:
        return None
    return Moved(
        "+".join(one.kind for one in found),
        sum(one.read_bytes for one in found),
        sum(one.write_bytes for one in found),
        sum(one.ops for one in found),
    )


def read_nfs(text: str) -> Optional[Moved]:
    """Of /proc/self/mountstats. One file system that is mounted at several places shows the same figures at each."""
    blocks: Dict[str, str] = {}
    for block in _DEVICE.split(text)[1:]:
        head, _, rest = block.partition("\n")
        if " with fstype nfs" in head:
            blocks[rest] = head
    if not blocks:
        return None
    read = written = ops = 0
    for rest in blocks:
        found = _BYTES.search(rest)
        numbers = [int(word) for word in found.group(1).split()] if found else []
        if len(numbers) >= 6:
            read, written = read + numbers[4], written + numbers[5]  # from and to the server
        ops += sum(int(number) for number in _OPERATION.findall(rest.partition("per-op statistics")[2]))
    return Moved("nfs", read, written, ops)


def _load_lustre() -> Optional[Moved]:
    texts = []
    for path in (path for pattern in _LUSTRE for path in glob.glob(pattern)):
        try:
            with open(path, errors="replace") as file:
                texts.append(file.read())
        except OSError:
            continue  # newer ones are for root only
    return read_lustre("\n".join(texts)) if texts else None


def read_lustre(text: str) -> Optional[Moved]:
    """Of llite/*/stats: `read_bytes 5 samples [bytes] 1 4096 9000`, `open 12 samples [usec] ...`."""
    read = written = ops = 0
    for name, count, total in _SAMPLES.findall(text):
        ops += int(count)
        if name == "read_bytes":
            read += int(total or 0)
        elif name == "write_bytes":
            written += int(total or 0)
    return Moved("lustre", read, written, ops)
