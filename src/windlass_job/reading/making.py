"""A loader put together from what was asked for and what there is: decoder, workers, GPU."""

from windlass_job.bounded import say
from windlass_job.reading import libraries
from windlass_job.reading.handing import CpuHanding
from windlass_job.reading.labels import Labels
from windlass_job.reading.loader import Loader
from windlass_job.reading.order import Order
from windlass_job.reading.recipe import Arrays, Coded, Images, count_cpus
from windlass_job.reading.worker import Kitchen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ON_ERROR = ("raise", "skip")
ON_GPU = "nvjpeg"


def make_loader(**asked: "Any") -> Loader:
    """The arguments of `data.loader`."""
    from windlass_job.data import _open

    source, is_training = _open(asked["source"]), asked["train"]
    if asked["on_error"] not in ON_ERROR:
        raise ValueError("on_error is one of {}, not {!r}".format(", ".join(ON_ERROR), asked["on_error"]))
    if not len(source):
        raise ValueError("there are no samples in {!r}".format(source))
    order = Order(
        len(source),
        seed=asked["seed"],
        shuffle=is_training,
        rank=asked["rank"],
        world_size=asked["world_size"],
        remainder=asked["remainder"] or ("wrap" if is_training else "keep"),
    )
    gpu = _find_gpu(asked["device"])
    workers = asked["workers"] or max(1, count_cpus() - (1 if gpu is not None and count_cpus() > 2 else 0))
    recipe = _make_recipe(asked, source, gpu, workers)
    kitchen = Kitchen(source, order, recipe, Labels(source, asked["label"]), asked["on_error"] == "skip")
    # A function of the user's may be one that cannot be sent to another process.
    processes = isinstance(recipe, Images) if asked["processes"] is None else asked["processes"]
    if isinstance(recipe, Coded):
        processes = False  # there is nothing to compute for them
    drop_last = is_training if asked["drop_last"] is None else asked["drop_last"]
    finish: "Any" = None
    if isinstance(recipe, Coded):
        from windlass_job.reading.gpu_decoding import DecodingHanding

        finish = DecodingHanding(source, kitchen.skips, gpu, asked["dtype"], asked["mean"], asked["std"])
    elif gpu is not None and recipe.keep_crops:
        from windlass_job.reading.gpu_handing import GpuHanding

        finish = GpuHanding(gpu, asked["dtype"], asked["mean"], asked["std"])
    else:
        as_torch = gpu is not None or libraries.find_loaded("torch") is not None
        finish = CpuHanding(as_torch, asked["dtype"], asked["mean"], asked["std"], gpu)
    return Loader(kitchen, asked["batch_size"], workers, processes, asked["prefetch"], drop_last, finish)


def _find_gpu(device: "Any") -> "Any":
    """The CUDA device that is meant, or None."""
    if device is None or str(device) == "cpu":
        return None
    torch = libraries.load("torch", "device={!r}".format(device))
    found = torch.device(device)
    if found.type != "cuda":
        raise ValueError("device is a CUDA device or the CPU, not {!r}".format(device))
    return torch.device("cuda", torch.cuda.current_device()) if found.index is None else found


def _make_recipe(asked: "Any", source: "Any", gpu: "Any", workers: int) -> "Any":
    decode = asked["decode"]
    if callable(decode):
        return Arrays(decode, decode(memoryview(source.read(0))))
    crop = asked["crop"] or ("random_resized" if asked["train"] else "centre")
    flip = asked["train"] if asked["flip"] is None else asked["flip"]
    if decode == ON_GPU:
        if gpu is None or not _can_resize(gpu):
            raise ValueError('decode={!r} needs a GPU: device="cuda"'.format(decode))
        return Coded(asked["size"], crop, flip, None)
    name = None if decode == "auto" else decode
    recipe = Images(asked["size"], crop, flip, name, keep_crops=gpu is not None and _can_resize(gpu))
    if decode == "auto" and recipe.keep_crops and not asked["processes"]:
        from windlass_job.reading.gpu_decoding import is_faster

        if is_faster(source, recipe, workers, gpu):
            return Coded(asked["size"], crop, flip, None)
    return recipe


def _can_resize(gpu: "Any") -> bool:
    from windlass_job.reading import gpu_resizing

    problem = gpu_resizing.find_problem(gpu)
    if problem is not None:
        say("images are resized on the CPU, because the GPU's kernel cannot be made: {}".format(problem))
    return problem is None
