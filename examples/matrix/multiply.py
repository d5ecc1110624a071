"""A first job: multiply two matrices, and say where that was and how fast. Needs nothing but Python."""

import json
import random
import socket
import sys
import time
from operator import mul
from pathlib import Path


def main():
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    random.seed(0)
    left, right = make_matrix(size), make_matrix(size)

    started = time.perf_counter()
    product = multiply(left, right)
    seconds = time.perf_counter() - started

    speed = 2 * size**3 / seconds / 1e6
    trace = sum(product[i][i] for i in range(size))
    print(f"{size} x {size} on {socket.gethostname()}: {seconds:.2f} s, {speed:.0f} million operations a second")
    print(f"trace {trace:.6f}")
    Path("results").mkdir(exist_ok=True)
    Path("results/product.json").write_text(json.dumps({"size": size, "trace": trace, "seconds": seconds}))


def make_matrix(size):
    return [[random.random() for _ in range(size)] for _ in range(size)]


def multiply(left, right):
    columns = list(zip(*right))
    return [[sum(map(mul, row, column)) for column in columns] for row in left]


if __name__ == "__main__":
    main()
