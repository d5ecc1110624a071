"""All benchmarks, one after the other, each in a process of its own."""

import subprocess
import sys

HERE = ("startup", "snapshot", "lint", "run_api", "overhead", "gpu_chain")
ON_THE_CLUSTER = ("connection", "submit", "ps", "network_test")

if __name__ == "__main__":
    codes = [
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *sys.argv[1:]]).returncode
        for name in (*HERE, *ON_THE_CLUSTER)
    ]
    sys.exit(max(codes))
