"""is_cpu_build.py REPORT: exit 0 when what pip would install (its --report) is PyTorch without any GPU libraries."""

import json
import sys
from pathlib import Path

GPU = ("nvidia", "cuda", "triton", "pytorch-triton", "rocm")


def main() -> int:
    report = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    packages = {one["metadata"]["name"].lower(): one["metadata"]["version"] for one in report["install"]}
    _, _, build = packages.get("torch", "").partition("+")
    is_small = not any(name.startswith(GPU) for name in packages) and build in ("", "cpu")
    return 0 if "torch" in packages and is_small else 1


if __name__ == "__main__":
    sys.exit(main())
