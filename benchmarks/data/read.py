"""How fast can one of many files be read at random? From memory and from the disk, beside bare preads and all peers.

`warm`: all bytes are in memory; what is measured is what each file costs. `cold`: the system's caches are emptied
before (as root), so the disk decides, and how many reads it is given at once. All take turns.
"""

import importlib.util
import os
import random
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from benchmarks.data import read_peers
from benchmarks.data.corpus import CORPUS, PEERS, ROOT, make_jpegs, make_tiny
from benchmarks.report import Row, show, skip
from windlass_job import data
from windlass_job.shards import packing
from windlass_job.shards.sources import choose_source

TITLE = "data.read: files a second at random, one Python thread"
WORK = CORPUS / "read"
FEW = 10_000  # files of the data set that every peer has in its own form
WARM, COLD = 6_000, 8_000  # reads of a round
ROUNDS, PEER_ROUNDS, COLD_ROUNDS = 15, 9, 6
_C_SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
struct place { long long file, size, offset; };
static struct place *places; static long count; static int handles[4096]; static long next;
static void *work(void *unused) {
  char *buffer = malloc(8 << 20);
  for (;;) {
    long at = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
    if (at >= count) break;
    if (pread(handles[places[at].file], buffer, places[at].size, places[at].offset) != places[at].size) exit(3);
  }
  free(buffer);
  return unused;
}
int main(int argc, char **argv) {  /* threads, a file of places, the shards */
  int threads = atoi(argv[1]);
  FILE *list = fopen(argv[2], "rb");
  fseek(list, 0, SEEK_END); count = ftell(list) / sizeof *places; rewind(list);
  places = malloc(count * sizeof *places);
  if (fread(places, sizeof *places, count, list) != (size_t)count) return 2;
  for (int at = 3; at < argc; at++) handles[at - 3] = open(argv[at], O_RDONLY);
  struct timespec begin, end; pthread_t all[256];
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int at = 0; at < threads; at++) pthread_create(&all[at], 0, work, 0);
  for (int at = 0; at < threads; at++) pthread_join(all[at], 0);
  clock_gettime(CLOCK_MONOTONIC, &end);
  printf("%.9f\n", (end.tv_sec - begin.tv_sec) + (end.tv_nsec - begin.tv_nsec) / 1e9);
}
"""


def main() -> None:
    if importlib.util.find_spec("h5py") is None:  # the peers are in an environment of their own
        if PEERS.exists():
            sys.exit(subprocess.run([PEERS, "-m", "benchmarks.data.read", *sys.argv[1:]], cwd=ROOT).returncode)
        skip(TITLE, "tools/peers.sh makes the environment with the peers")
        return
    WORK.mkdir(parents=True, exist_ok=True)
    jpegs = Subject("50,000 JPEGs", pack(make_jpegs(), WORK / "jpegs"), make_jpegs())
    tiny = Subject("1,000,000 tiny files", pack(make_tiny(), WORK / "tiny"), make_tiny())
    rows = [*measure_warm(jpegs, budget=1 / 0.9), *measure_warm(tiny, budget=None)]
    rows += measure_peers(pack_few(jpegs))
    rows += measure_cold(jpegs) if os.access("/proc/sys/vm/drop_caches", os.W_OK) else []
    show(TITLE, rows)


def pack(source: Path, target: Path) -> Path:
    if not packing.has_card(bytes(target)):
        packing.pack(choose_source(bytes(source)), bytes(target), packing.Settings(target.name))
    return target


class Subject:
    """One data set: packed, as the folder it was, and where each file lies."""

    def __init__(self, what: str, packed: Path, folder: Path) -> None:
        self.what = what
        self.shards = data.Shards(packed)
        self.paths = [str(packed / one.name) for one in self.shards.card.shards]
        self.folder = str(folder)

    def locate(self, numbers: Iterable[int]) -> list[tuple[int, int, int]]:
        """Shard, size and offset."""
        found = []
        for number in numbers:
            shard, at = self.shards.locate(number)
            index = self.shards.get_index(shard)
            found.append((shard, index.sizes[at], index.offsets[at]))
        return found


def choose(subject: Subject, count: int, seed: int) -> list[int]:
    return random.Random(seed).sample(range(len(subject.shards)), count)


def make_works(subject: Subject, numbers: list[int]) -> dict[str, Callable[[], object]]:
    shards = subject.shards
    handles = [os.open(path, os.O_RDONLY) for path in subject.paths]
    places = [(handles[shard], size, offset) for shard, size, offset in subject.locate(numbers)]
    names = [f"{subject.folder}/{shards.name(number)}" for number in numbers]
    pread = os.pread

    def bare() -> None:
        for handle, size, offset in places:
            pread(handle, size, offset)

    def single() -> None:
        for number in numbers:
            shards[number]

    def many() -> None:
        for at in range(0, len(numbers), 64):
            shards.read_many(numbers[at : at + 64])

    def ahead() -> None:
        for _ in shards.iterate(numbers):
            pass

    def threads() -> None:
        for _ in shards.iterate(numbers, threads=8):
            pass

    def folder() -> None:
        for name in names:
            read_peers.read_file(name)

    return {
        "bare os.pread": bare,
        "shards[i]": single,
        "shards.read_many, 64": many,
        "shards.iterate": ahead,
        "shards.iterate, 8 threads": threads,
        "raw folder, os.open/read": folder,
    }


def measure_warm(subject: Subject, budget: float | None) -> list[Row]:
    times: dict[str, list[float]] = {}
    for turn in range(ROUNDS + 1):
        numbers = choose(subject, WARM, seed=1)  # the same: from the second round on they are in memory
        for what, work in make_works(subject, numbers).items():
            taken = time_s(work)
            if turn:
                times.setdefault(what, []).append(taken / WARM)
        if turn:
            times.setdefault("C pread, 1 thread", []).append(run_c(subject, numbers, 1) / WARM)
    # The ratio of each round: what else the machine does then hits both.
    ratios = {what: statistics.median(map(_divide, found, times["bare os.pread"])) for what, found in times.items()}
    return [
        Row(
            what=f"warm, {subject.what}: {what}",
            value=1 / statistics.median(found),
            unit="files/s",
            peer="bare pread's time",
            ratio=ratios[what],
            budget=budget if what == "shards[i]" else None,
        )
        for what, found in times.items()
    ]


def _divide(one: float, other: float) -> float:
    return one / other


def pack_few(jpegs: Subject) -> Path:
    """The first 10,000, packed by us as the others have them."""
    target = WORK / "peers" / "ours"
    if not packing.has_card(bytes(target)):
        listing = WORK / "few.txt"
        listing.write_text("".join(f"{jpegs.folder}/{jpegs.shards.name(number)}\n" for number in range(FEW)))
        target.parent.mkdir(exist_ok=True)
        packing.pack(choose_source(bytes(listing)), bytes(target), packing.Settings("few"))
    return target


def measure_peers(packed: Path) -> list[Row]:
    shards = data.Shards(packed)
    ours = read_peers.read_by(shards.__getitem__)
    rows = []
    try:
        for what, open_peer in read_peers.PEERS.items():
            try:
                rows.append(compare(ours, open_peer(packed), len(shards), what))
            except Exception as error:  # one that cannot be made here must not hide the others
                note = f"{type(error).__name__}: {error}"[:80]
                rows.append(Row(what=f"warm: {what}", value=0, unit="", note=note))
    finally:
        read_peers.close_squashfs(packed)
    return rows


def compare(ours: read_peers.Read, peer: read_peers.Read, count: int, what: str) -> Row:
    """In turns; all of it is in memory, and mapped where the peer maps it. Ours must not take longer."""
    for read in (ours, peer):
        read(range(count))
    times: list[tuple[float, float]] = []
    for turn in range(PEER_ROUNDS):
        numbers = random.Random(turn).sample(range(count), 4_000)
        times.append((time_s(partial(ours, numbers)), time_s(partial(peer, numbers))))
    mine, its = (statistics.median(column) / 4_000 for column in zip(*times, strict=True))
    ratio = statistics.median(one / other for one, other in times)
    note = f"ours beside it: {1 / mine:.0f}"
    return Row(what=f"warm: {what}", value=1 / its, unit="files/s", peer="its time", ratio=ratio, budget=1.0, note=note)


def measure_cold(subject: Subject) -> list[Row]:
    """Each with numbers of its own, and in another order each round: a virtual disk has caches that we do not see."""
    wanted = ["shards.iterate", "shards.iterate, 8 threads", "shards.read_many, 64", "raw folder, os.open/read"]
    wanted += [f"C pread, {threads} in flight" for threads in (1, 32)]
    times: dict[str, list[float]] = {what: [] for what in wanted}
    for turn in range(COLD_ROUNDS):
        for place in range(len(wanted)):
            what = wanted[(place + turn) % len(wanted)]
            numbers = choose(subject, COLD, seed=100 * turn + place)
            works = make_works(subject, numbers)
            empty_caches()
            taken = time_s(works[what]) if what in works else run_c(subject, numbers, int(what.split()[2]))
            times[what].append(taken / COLD)
        times.setdefault("the disk itself, a shard from end to end", []).append(time_disk(subject, turn))
    found = {what: statistics.median(values) for what, values in times.items()}
    ours = found["shards.iterate"]
    budgets = {"C pread, 32 in flight": 1.0, "raw folder, os.open/read": 0.25}
    return [
        Row(
            what=f"cold, {subject.what}: {what}",
            value=1 / one,
            unit="files/s",
            peer="its time",
            ratio=ours / one,
            budget=budgets.get(what),
        )
        for what, one in found.items()
    ]


def time_disk(subject: Subject, turn: int) -> float:
    """Seconds for the bytes of a mean file, read one after another, 4 MB each: no way to read is faster."""
    path = Path(subject.paths[turn % len(subject.paths)])
    card = subject.shards.card
    empty_caches()
    taken = time_s(
        partial(subprocess.run, ["dd", f"if={path}", "of=/dev/null", "bs=4M", "iflag=direct", "status=none"])
    )
    return taken * card.bytes / len(subject.shards) / path.stat().st_size


def empty_caches() -> None:
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3\n")


def run_c(subject: Subject, numbers: list[int], threads: int) -> float:
    """The same preads from C."""
    program, listing = WORK / "preads", WORK / f"places.{os.getpid()}"
    if not program.exists():
        subprocess.run(["cc", "-O2", "-pthread", "-x", "c", "-", "-o", program], input=_C_SOURCE.encode(), check=True)
    listing.write_bytes(b"".join(struct.pack("<3q", *place) for place in subject.locate(numbers)))
    argv = [str(program), str(threads), str(listing), *subject.paths]
    found = float(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)
    listing.unlink()
    return found


def time_s(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
