# mypy: ignore-errors
# (PyTorch is not there where types are checked)
"""Does packed data feed a GPU at its limit? ResNet-50 and ResNet-18 from packed JPEGs, beside the same training on
data that lies in GPU memory already, and beside torchvision's ImageFolder with a worker for each CPU.

Needs one GPU, PyTorch with CUDA and torchvision (for the networks and the peer); our loader uses neither torchvision's
decoders nor its transforms. The kinds take turns, so that a GPU that grows warm is unfair to all alike.
"""

import itertools
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.data.corpus import make_jpegs
from benchmarks.report import Row, show, skip

_TITLE = "a GPU fed from packed JPEGs"
BATCH = 256
FILES = int(os.environ.get("WINDLASS_BENCH_FILES", "20000"))
ROUNDS = int(os.environ.get("WINDLASS_BENCH_ROUNDS", "3"))
# name -> steps to warm up, steps to measure, part of the synthetic speed that is demanded
NETWORKS = {"resnet50": (15, 80, 0.98), "resnet18": (30, 200, 0.90)}


def main() -> None:
    try:
        import torch
        import torchvision  # noqa: F401

        torch.zeros(1).cuda()
    except (ImportError, RuntimeError, AssertionError) as error:
        skip(_TITLE, f"no PyTorch with CUDA, no torchvision, or no GPU: {error}")
        return
    with tempfile.TemporaryDirectory(prefix="windlass-gpu-") as name:
        folder = make_jpegs(Path(name) / "jpegs", FILES)
        packed = Path(name) / "packed"
        pack_folder(folder, packed)
        rows = [check_pixels(packed), check_gpu_decoding(packed), *measure_loader_alone(packed)]
        for network in NETWORKS:
            rows += measure(network, packed, folder)
    show(_TITLE, rows)


def pack_folder(folder: Path, packed: Path) -> None:
    from windlass_job.shards import packing
    from windlass_job.shards.sources import choose_source

    packing.pack(choose_source(bytes(folder)), bytes(packed), packing.Settings("jpegs"))


def check_pixels(packed: Path) -> Row:
    """The same images by the kernel and by PyTorch's own resizing, from the same crops."""
    import numpy
    import torch

    from windlass_job import data
    from windlass_job.reading.cropping import Dice
    from windlass_job.reading.recipe import Images

    shards = data.Shards(packed)
    with data.loader(shards, 64, device="cuda", seed=7, workers=2, decode="simplejpeg") as batches:
        images, _ = next(iter(batches))
        numbers = batches.order.numbers(0, 64)
    worst = 0.0
    maker = Images(224, "random_resized", True, None, keep_crops=True).make()
    for number, image in zip(numbers, images, strict=True):
        part, is_flipped = maker._cut(memoryview(shards[number]), Dice(7, 0, number))
        whole = torch.from_numpy(numpy.ascontiguousarray(part)).cuda().permute(2, 0, 1)[None].float()
        wanted = torch.nn.functional.interpolate(whole, (224, 224), mode="bilinear", antialias=True)[0]
        wanted = wanted.flip(2) if is_flipped else wanted
        worst = max(worst, (wanted - image.float()).abs().max().item())
    return Row(what="greatest difference to PyTorch's resizing", value=worst, unit="/255", budget=1.0)


def check_gpu_decoding(packed: Path) -> Row:
    """The same crops from pictures that the GPU has decoded."""
    from windlass_job import data

    found = []
    for decode in ("simplejpeg", "nvjpeg"):
        with data.loader(data.Shards(packed), 64, device="cuda", seed=7, workers=2, decode=decode) as batches:
            images, labels = next(iter(batches))
            found.append((images.float(), labels))
    mean = (found[0][0] - found[1][0]).abs().mean().item()
    assert (found[0][1] == found[1][1]).all()
    return Row(what="mean difference of nvJPEG to simplejpeg", value=mean, unit="/255", budget=3.0)


def measure_loader_alone(packed: Path) -> list[Row]:
    """Nothing but taking batches on the GPU."""
    import torch

    from windlass_job import data

    rows = []
    kinds = {
        "processes": {"processes": True},
        "threads": {"processes": False, "decode": "simplejpeg"},
        "nvJPEG": {"decode": "nvjpeg"},
        "2 workers, CPU": {"processes": True, "workers": 2},
        "2 workers, what it chooses": {"workers": 2},
    }
    for how, options in kinds.items():
        with data.loader(data.Shards(packed), BATCH, device="cuda", dtype="bfloat16", **options) as batches:
            repeated = itertools.chain.from_iterable(itertools.repeat(batches))
            take(repeated, 20)
            count = 20 if "2 workers" in how else 100
            began = time.perf_counter()
            take(repeated, count)
            torch.cuda.synchronize()
            rate = count * BATCH / (time.perf_counter() - began)
        rows.append(Row(what=f"loader alone, {how}", value=rate, unit="img/s"))
    return rows


def take(batches, count: int) -> None:
    for _ in range(count):
        next(batches)


def measure(network: str, packed: Path, folder: Path) -> list[Row]:
    warm, steps, demanded = NETWORKS[network]
    step = make_step(network)
    kinds = {"synthetic": make_synthetic(), "packed": open_packed(packed)}
    rates = {kind: [] for kind in (*kinds, "folder")}
    for _ in range(ROUNDS):
        for kind, batches in kinds.items():
            rates[kind].append(run(step, batches, warm, steps))
            print(f"{network} {kind} {rates[kind][-1]} img/s", file=sys.stderr, flush=True)
    waited = kinds["packed"].loader.wait_share
    kinds["packed"].loader.close()
    rates["folder"].append(run(step, open_folder(folder), warm, steps))
    rates["few"] = [run(step, open_packed(packed, workers=2), warm, steps // 2)]
    found = {kind: statistics.median(values) for kind, values in rates.items()}
    limit = found["synthetic"]
    note = f"{found['packed'] / limit:.3f} of its speed, waiting {waited:.1%}; rounds {rates['packed']}"
    return [
        Row(what=f"{network}, synthetic", value=limit, unit="img/s", note=str(rates["synthetic"])),
        Row(what=f"{network}, packed JPEGs", value=found["packed"], unit="img/s", note=note),
        Row(
            what=f"{network}, time of a step",
            value=1000 * BATCH / found["packed"],
            peer="synthetic",
            ratio=limit / found["packed"],
            budget=1 / demanded,
        ),
        Row(
            what=f"{network}, ImageFolder, {os.cpu_count()} workers",
            value=found["folder"],
            unit="img/s",
            note=f"{found['folder'] / limit:.3f} of synthetic",
        ),
        Row(what=f"{network}, packed JPEGs, 2 workers", value=found["few"], unit="img/s"),
    ]


def make_step(network: str):
    import torch
    import torchvision

    torch.backends.cudnn.benchmark = True
    model = getattr(torchvision.models, network)().cuda().to(memory_format=torch.channels_last).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(images, labels) -> None:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return step


def make_synthetic():
    import torch

    images = torch.randn(BATCH, 3, 224, 224, device="cuda", dtype=torch.bfloat16)
    images = images.to(memory_format=torch.channels_last)
    return itertools.repeat((images, torch.randint(1000, (BATCH,), device="cuda")))


class Endless:
    """Epoch after epoch."""

    def __init__(self, loader) -> None:
        self.loader = loader
        self._batches = itertools.chain.from_iterable(itertools.repeat(loader))

    def __iter__(self):
        return self._batches


def open_packed(packed: Path, **options) -> Endless:
    from windlass_job import data

    return Endless(data.loader(data.Shards(packed), BATCH, device="cuda", dtype="bfloat16", **options))


def open_folder(folder: Path):
    import torch
    import torchvision.transforms.v2 as transforms
    from torchvision.datasets import ImageFolder

    steps = [
        transforms.RandomResizedCrop(224),
        transforms.RandomHorizontalFlip(),
        transforms.PILToTensor(),
        transforms.ToDtype(torch.float32, scale=True),
        transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ]
    loader = torch.utils.data.DataLoader(
        ImageFolder(str(folder), transforms.Compose(steps)),
        BATCH,
        shuffle=True,
        num_workers=os.cpu_count(),
        pin_memory=True,
        drop_last=True,
        persistent_workers=True,
    )
    for images, labels in itertools.chain.from_iterable(itertools.repeat(loader)):
        images = images.cuda(non_blocking=True).to(dtype=torch.bfloat16, memory_format=torch.channels_last)
        yield images, labels.cuda(non_blocking=True)


def run(step, batches, warm: int, steps: int) -> float:
    """Images a second, without the first steps."""
    import torch

    source = iter(batches)
    for _ in range(warm):
        step(*next(source))
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(steps):
        step(*next(source))
    torch.cuda.synchronize()
    return round(steps * BATCH / (time.perf_counter() - began), 1)


if __name__ == "__main__":
    main()
