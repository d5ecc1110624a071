"""The vendors' programs, for nodes where no library answers. Starting one costs much, so they are asked rarely."""

import json
import resource
import subprocess
import threading
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from windlass_job.bounded import PATIENCE_S
from windlass_job.gauging.nvml import MB, Reading

GIVE_UP_AFTER = 2
SHARE = 0.0005  # of a core that asking may cost

_NVIDIA_FIELDS = ("uuid", "name", "utilization.gpu", "memory.used", "memory.total", "power.draw", "mig.mode.current")

Card = Dict[str, Any]
Answer = List[Tuple[Card, Reading]]
Tool = NamedTuple("Tool", [("argv", Sequence[str]), ("read", Callable[[str], Answer])])


class NoTool(Exception):
    """It is not there, or does not answer."""


def read_nvidia(text: str) -> Answer:
    answer = []
    for line in text.splitlines():
        words = [word.strip() for word in line.split(",")]
        if len(words) == len(_NVIDIA_FIELDS):
            uuid, name, use, used, total, power, sliced = words
            card = _make_card(uuid, name, _read_number(total), sliced == "Enabled")
            answer.append((card, (_read_number(use), _read_number(used), _read_number(power))))
    return answer


def read_rocm(text: str) -> Answer:
    """Bytes where NVIDIA has MiB, and keys that change between versions."""
    answer = []
    for name, values in sorted(json.loads(text).items()):
        if not name.startswith("card"):
            continue
        power = next((values[key] for key in values if "Package Power (W)" in key), None)
        used, total = (_read_mb(values.get(key)) for key in ("VRAM Total Used Memory (B)", "VRAM Total Memory (B)"))
        card = _make_card(values.get("Unique ID", name), values.get("Card series", ""), total, False)
        answer.append((card, (_read_number(values.get("GPU use (%)")), used, _read_number(power))))
    return answer


NVIDIA = Tool(
    ("nvidia-smi", "--query-gpu=" + ",".join(_NVIDIA_FIELDS), "--format=csv,noheader,nounits"),
    read_nvidia,
)
ROCM = Tool(
    ("rocm-smi", "--showuniqueid", "--showproductname", "--showuse", "--showmeminfo", "vram", "--showpower", "--json"),
    read_rocm,
)


class ToolReader:
    """A tool that fails or hangs twice is given up."""

    def __init__(self, tool: Tool, timeout_s: float = PATIENCE_S / 3, share: float = SHARE) -> None:
        """NoTool, where the first answer does not come."""
        self._tool, self._share = tool, share
        self._timeout_s = timeout_s
        self._failures = 0
        self._next = 0.0
        self._first = self._ask()
        if not self._first:
            raise NoTool(tool.argv[0])
        self._cards = [card for card, _ in self._first]

    def list_cards(self) -> List[Card]:
        return self._cards

    def read(self, places: Sequence[int]) -> List[Reading]:
        """All None where it is not yet time to ask again."""
        answer, self._first = self._first, None
        if answer is None and self._failures < GIVE_UP_AFTER and time.monotonic() >= self._next:
            answer = self._ask()
        found = {card["uuid"]: reading for card, reading in answer or []}
        return [found.get(self._cards[place]["uuid"], (None, None, None)) for place in places]

    def _ask(self) -> Optional[Answer]:
        before = _count_children_s()
        try:
            return self._tool.read(self._run())
        except FileNotFoundError:
            self._failures = GIVE_UP_AFTER
        except (OSError, ValueError, AttributeError, subprocess.SubprocessError):
            self._failures += 1
        finally:
            self._next = time.monotonic() + (_count_children_s() - before) / self._share
        return None

    def _run(self) -> str:
        child = subprocess.Popen(
            self._tool.argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, close_fds=True
        )
        try:
            out, _ = child.communicate(timeout=self._timeout_s)
        except subprocess.TimeoutExpired:
            child.kill()
            # With a broken driver it cannot even die: somebody else waits for it.
            threading.Thread(target=child.wait, daemon=True).start()
            raise
        if child.returncode != 0:
            raise OSError("{} ended with {}".format(self._tool.argv[0], child.returncode))
        return out.decode("utf-8", "replace")


def _count_children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _make_card(uuid: Any, name: Any, total_mb: Optional[float], is_slice: bool) -> Card:
    card: Card = {"uuid": str(uuid), "name": str(name)}
    if total_mb is not None:
        card["memory_mb"] = round(total_mb)
    if is_slice:
        card["slice"] = True
    return card


def _read_number(value: Any) -> Optional[float]:
    """None for `[N/A]`, as in a MIG slice."""
    try:
        return round(float(value), 1)
    except (TypeError, ValueError):
        return None


def _read_mb(value: Any) -> Optional[float]:
    number = _read_number(value)
    return None if number is None else number / MB
