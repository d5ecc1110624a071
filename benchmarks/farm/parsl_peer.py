"""COUNT SLOTS: so many commands by Parsl's HighThroughputExecutor on this machine. Prints the seconds."""

import sys
import tempfile
import time

import parsl
from parsl import bash_app
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.providers import LocalProvider


@bash_app  # type: ignore[untyped-decorator]
def run() -> str:
    return "/bin/true"


if __name__ == "__main__":
    count, slots = int(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as place:
        provider = LocalProvider(init_blocks=1, max_blocks=1)
        executor = HighThroughputExecutor(max_workers_per_node=slots, provider=provider, address="127.0.0.1")
        with parsl.load(Config(executors=[executor], run_dir=place)):
            run().result()
            began = time.perf_counter()
            for one in [run() for _ in range(count)]:
                one.result()
            print(time.perf_counter() - began)
