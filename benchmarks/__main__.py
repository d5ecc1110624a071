"""All benchmarks, one after the other, each in a process of its own; or those that are named: `submit`, `data.pack`."""

import subprocess
import sys

HERE = (
    "startup",
    "snapshot",
    "lint",
    "run_api",
    "overhead",
    "gauges",
    "log_streams",
    "dashboard",
    "sweep",
    "gpu_chain",
    "gpu_gauges",
    "farm_calls",
)
ON_THE_CLUSTER = ("connection", "submit", "ps", "network_test", "environments")
FARM = ("rates", "simulation")
DATA = ("pack", "send", "stage", "read", "loader", "formats", "gpu")
ALL = (
    *HERE,
    *ON_THE_CLUSTER,
    *(f"data.{name}" for name in DATA),
    *(f"farm.{name}" for name in FARM),
)


def choose(wanted: list[str]) -> list[str]:
    """`data` alone means all of that room."""
    unknown = [name for name in wanted if name not in (*ALL, "data", "farm")]
    if unknown:
        sys.exit(f"no such benchmark: {', '.join(unknown)}\nthere are: {' '.join(ALL)}")
    return [name for name in ALL if not wanted or name in wanted or name.split(".")[0] in wanted]


if __name__ == "__main__":
    flags = [one for one in sys.argv[1:] if one.startswith("-")]
    names = choose([one for one in sys.argv[1:] if not one.startswith("-")])
    codes = [subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *flags]).returncode for name in names]
    sys.exit(max(codes))
