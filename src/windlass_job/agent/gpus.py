"""What the GPUs of this node do, as their own tool says. Tools that are missing or hang are given up."""

import json
import subprocess
import threading
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence

from windlass_job.bounded import PATIENCE_S

GIVE_UP_AFTER = 2

_NVIDIA_FIELDS = ("uuid", "utilization.gpu", "memory.used", "memory.total", "power.draw")

Gpu = Dict[str, Any]
Tool = NamedTuple("Tool", [("argv", Sequence[str]), ("read", Callable[[str], List[Gpu]])])


def read_nvidia(text: str) -> List[Gpu]:
    gpus = []
    for line in text.splitlines():
        words = [word.strip() for word in line.split(",")]
        if len(words) == len(_NVIDIA_FIELDS):
            gpus.append(_make_gpu(words[0], words[1], words[2], words[3], words[4]))
    return gpus


def read_rocm(text: str) -> List[Gpu]:
    """Bytes where NVIDIA has MiB, and keys that change between versions."""
    gpus = []
    for name, values in sorted(json.loads(text).items()):
        if not name.startswith("card"):
            continue
        power = next((values[key] for key in values if "Package Power (W)" in key), None)
        used, total = (_read_mb(values.get(key)) for key in ("VRAM Total Used Memory (B)", "VRAM Total Memory (B)"))
        gpus.append(_make_gpu(values.get("Unique ID", name), values.get("GPU use (%)"), used, total, power))
    return gpus


TOOLS = (
    Tool(
        ("nvidia-smi", "--query-gpu=" + ",".join(_NVIDIA_FIELDS), "--format=csv,noheader,nounits"),
        read_nvidia,
    ),
    Tool(
        ("rocm-smi", "--showuniqueid", "--showuse", "--showmeminfo", "vram", "--showpower", "--json"),
        read_rocm,
    ),
)


class GpuReader:
    def __init__(self, tools: Sequence[Tool] = TOOLS, timeout_s: float = PATIENCE_S / 3) -> None:
        self._failures = dict.fromkeys(tools, 0)
        self._timeout_s = timeout_s

    def load(self) -> Optional[List[Gpu]]:
        """None when no tool answers."""
        for tool, failures in self._failures.items():
            if failures >= GIVE_UP_AFTER:
                continue
            try:
                return tool.read(self._run(tool.argv))
            except FileNotFoundError:
                self._failures[tool] = GIVE_UP_AFTER
            except (OSError, ValueError, AttributeError, subprocess.SubprocessError):
                self._failures[tool] += 1
        return None

    def _run(self, argv: Sequence[str]) -> str:
        child = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, close_fds=True
        )
        try:
            out, _ = child.communicate(timeout=self._timeout_s)
        except subprocess.TimeoutExpired:
            child.kill()
            # With a broken driver it cannot even die: somebody else waits for it.
            threading.Thread(target=child.wait, daemon=True).start()
            raise
        if child.returncode != 0:
            raise OSError("{} ended with {}".format(argv[0], child.returncode))
        return out.decode("utf-8", "replace")


def tell_missing(env: Mapping[str, str], planned: int) -> Optional[str]:
    """A sentence when Slurm gave this node fewer GPUs than planned. Unset says nothing: not every site sets it."""
    shown = env.get("CUDA_VISIBLE_DEVICES")
    if not planned or shown is None:
        return None
    count = 0 if shown.strip() in ("", "NoDevFiles", "-1") else len(shown.split(","))
    if count >= planned:
        return None
    return "CUDA_VISIBLE_DEVICES={} names {} GPUs, {} were planned".format(shown, count, planned)


def _make_gpu(uuid: Any, utilisation: Any, memory_mb: Any, total_mb: Any, power_w: Any) -> Gpu:
    return {
        "uuid": str(uuid),
        "utilisation": _read_number(utilisation),
        "memory_mb": _read_number(memory_mb),
        "memory_total_mb": _read_number(total_mb),
        "power_w": _read_number(power_w),
    }


def _read_number(value: Any) -> Optional[float]:
    """None for `[N/A]`, as in a MIG slice."""
    try:
        return round(float(value), 1)
    except (TypeError, ValueError):
        return None


def _read_mb(value: Any) -> Optional[float]:
    number = _read_number(value)
    return None if number is None else number / (1024 * 1024)
