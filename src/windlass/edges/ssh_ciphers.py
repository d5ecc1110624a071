"""Which cipher a shared connection should prefer: the one that the processors at both ends compute themselves.

OpenSSH's own first choice is made for machines without such instructions and moves 400 MB/s where AES-GCM moves twice
as much. Only the order is changed: what the user's or the system's configuration does not allow is not offered.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path

_FAST = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com")
_LOOK_S = 10.0


def choose_ciphers(allowed: str) -> str | None:
    """The same list with the fast ones first; None where there are none."""
    names = allowed.split(",")
    fast = [name for name in _FAST if name in names]
    return ",".join([*fast, *(name for name in names if name not in fast)]) if fast else None


def find_ciphers(look: Sequence[str], *, cpuinfo: Path = Path("/proc/cpuinfo")) -> str | None:
    """look: ssh's command line with -G, which tells its configuration for the host and connects to nobody."""
    if not _computes_aes(cpuinfo):
        return None
    try:
        found = subprocess.run(look, capture_output=True, text=True, timeout=_LOOK_S, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    allowed = [line.split(maxsplit=1)[1] for line in found.splitlines() if line.startswith("ciphers ")]
    return choose_ciphers(allowed[0]) if allowed else None


def _computes_aes(cpuinfo: Path) -> bool:
    """Where it is not told, as on macOS, all processors of the last ten years do."""
    try:
        text = cpuinfo.read_text(errors="replace")
    except OSError:
        return True
    flags = [line for line in text.splitlines() if line.lower().startswith(("flags", "features"))]
    return not flags or "aes" in flags[0].split()
