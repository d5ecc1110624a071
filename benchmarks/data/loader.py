# mypy: ignore-errors
# (PyTorch and the decoders are not there where types are checked)
"""How many decoded images a second does a whole loader make on two cores? Beside the same decoder on images in RAM,
webdataset, torchvision's ImageFolder, and PyTorch's DataLoader on our packed data.

Every loader makes 224 x 224 random resized crops with flips, in batches of 64, with two workers, and runs in a process
of its own. They take turns; a ratio is of one round, so that what else the machine does hits both.
"""

import importlib.util
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.data.corpus import CORPUS, PEERS, ROOT, make_jpegs
from benchmarks.report import Row, show, skip

TITLE = "data.loader: decoded images a second, two cores"
PACKED = CORPUS / "read" / "jpegs"
BATCH, WORKERS = 64, 2
WARM, IMAGES = 512, 4096
ROUNDS = int(os.environ.get("WINDLASS_BENCH_ROUNDS", "5"))


def main() -> None:
    if len(sys.argv) > 2 and sys.argv[1] == "one":
        print(json.dumps(run_one(sys.argv[2])), flush=True)
        os._exit(0)  # threads that decode may be in the middle of it
    if importlib.util.find_spec("simplejpeg") is None:
        if PEERS.exists():
            sys.exit(subprocess.run([PEERS, "-m", "benchmarks.data.loader", *sys.argv[1:]], cwd=ROOT).returncode)
        skip(TITLE, "tools/peers.sh makes the environment with decoders and peers")
        return
    prepare()
    rates = {what: [] for what in LOADERS}
    notes = {}
    for _ in range(ROUNDS):
        for what in list(rates):
            argv = [sys.executable, "-m", "benchmarks.data.loader", "one", what]
            done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
            if done.returncode:
                notes[what] = done.stderr.strip().splitlines()[-1][:100]
                del rates[what]
            else:
                rates[what].append(json.loads(done.stdout))
    show(TITLE, make_rows(rates, notes))


def make_rows(rates, notes) -> list[Row]:
    ours = rates["ours"]
    budgets = {"RAM, the same decoder and threads": 1 / 0.95, "webdataset": 1 / 2, "ImageFolder, Pillow": 1 / 3}
    rows = []
    for what, found in rates.items():
        ratio = statistics.median(one / mine for one, mine in zip(found, ours, strict=True))
        rows.append(
            Row(
                what=what,
                value=statistics.median(found),
                unit="img/s",
                peer="our rate",
                ratio=ratio,
                budget=budgets.get(what),
            )
        )
    return rows + [Row(what=what, value=0, unit="", note=note) for what, note in notes.items()]


def prepare() -> None:
    from benchmarks.data.read import pack
    from benchmarks.data.read_peers import make

    jpegs = make_jpegs()
    pack(jpegs, PACKED)
    few = pack_few(jpegs)
    make(few, "webdataset")


def pack_few(jpegs: Path) -> Path:
    from benchmarks.data.read import Subject
    from benchmarks.data.read import pack_few as pack_some

    return pack_some(Subject("jpegs", PACKED, jpegs))


def run_one(what: str) -> float:
    source = LOADERS[what]()
    take(source, WARM)
    began = time.perf_counter()
    count = take(source, IMAGES)
    return count / (time.perf_counter() - began)


def take(batches, wanted: int) -> int:
    count = 0
    while count < wanted:
        count += len(next(batches)[1])
    return count


def repeat(loader):
    return itertools.chain.from_iterable(itertools.repeat(loader))


def open_ours(**options):
    from windlass_job import data

    return repeat(data.loader(data.Shards(PACKED)[:10000], BATCH, workers=WORKERS, decode="simplejpeg", **options))


def open_ours_with_threads():
    return open_ours(processes=False)


def open_ram():
    """The same recipe and threads, with contents that are in memory already, and nothing to wait for in order."""
    import threading

    import numpy

    from windlass_job import data
    from windlass_job.reading.cropping import Dice
    from windlass_job.reading.order import Order
    from windlass_job.reading.recipe import Images, Place

    shards = data.Shards(PACKED)
    contents = [memoryview(shards[number]) for number in range(5000)]
    recipe = Images(224, "random_resized", True, "simplejpeg")
    numbers = itertools.chain.from_iterable(itertools.repeat(list(Order(len(contents)))))
    lock, done = threading.Lock(), threading.Semaphore(0)

    def work() -> None:
        maker = recipe.make()
        pixels = numpy.empty(recipe.sample_bytes, numpy.uint8)
        while True:
            with lock:
                block = list(itertools.islice(numbers, 32))
            for number in block:
                maker.put(contents[number], Dice(0, 0, number), Place(pixels, {}, 0, 1 << 40))
            done.release()

    for _ in range(WORKERS):
        threading.Thread(target=work, daemon=True).start()
    while True:
        done.acquire()
        yield None, range(32)


def open_webdataset():
    import io

    import torch
    import webdataset
    from PIL import Image

    from benchmarks.data.read_peers import make

    shards = [str(path) for path in sorted(make(CORPUS / "read" / "peers" / "ours", "webdataset").rglob("*.tar"))]
    transform = make_transform()

    def make_sample(sample):
        image = Image.open(io.BytesIO(sample["jpg"])).convert("RGB")
        return transform(image), 0

    data = webdataset.WebDataset(shards, shardshuffle=100, nodesplitter=None, empty_check=False)
    data = data.shuffle(1000).map(make_sample).batched(BATCH, partial=False)
    return repeat(torch.utils.data.DataLoader(data, batch_size=None, num_workers=WORKERS, persistent_workers=True))


def make_transform():
    import torchvision.transforms.v2 as transforms

    return transforms.Compose(
        [transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.PILToTensor()]
    )


def open_folder_pillow():
    from torchvision.datasets import ImageFolder

    return open_loader(ImageFolder(str(make_jpegs()), make_transform()))


def open_folder_torchvision():
    """Decoded by torchvision itself, which is faster than Pillow."""
    import torchvision
    from torchvision.datasets import ImageFolder

    def load(path: str):
        return torchvision.io.decode_jpeg(torchvision.io.read_file(path), mode=torchvision.io.ImageReadMode.RGB)

    import torchvision.transforms.v2 as transforms

    transform = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip()])
    return open_loader(ImageFolder(str(make_jpegs()), transform, loader=load))


def open_dataset():
    from windlass_job import data

    shards = data.Shards(PACKED)[:10000]
    return open_loader(data.dataset(shards, transform=make_transform(), decode="pillow image"))


def open_loader(samples):
    import torch

    return repeat(
        torch.utils.data.DataLoader(
            samples, BATCH, shuffle=True, num_workers=WORKERS, drop_last=True, persistent_workers=True
        )
    )


LOADERS = {
    "ours": open_ours,
    "ours, threads": open_ours_with_threads,
    "RAM, the same decoder and threads": open_ram,
    "webdataset": open_webdataset,
    "ImageFolder, Pillow": open_folder_pillow,
    "ImageFolder, torchvision": open_folder_torchvision,
    "DataLoader on our Dataset, Pillow": open_dataset,
}

if __name__ == "__main__":
    main()
