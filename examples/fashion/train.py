"""Teach a small network to tell clothes (or digits) apart, for a given time in all, in as many starts as it takes.

What makes it fit for a supercomputer: it saves every few seconds and when it is asked to stop, never leaves half a
file, and goes on from the newest checkpoint. Everything else is an ordinary training.
"""

import argparse
import gzip
import importlib.util
import json
import os
import pickle
import signal
import time
from pathlib import Path
from typing import Any

STARTED = time.monotonic()  # before the slow imports: the time they take counts too
stop_was_asked = False


def ask_to_stop(*_: object) -> None:
    global stop_was_asked
    stop_was_asked = True


signal.signal(signal.SIGTERM, ask_to_stop)  # before them too: on a busy machine they may take all the time there is

import numpy as np  # noqa: E402
from networks import NumpyNetwork, TorchNetwork  # noqa: E402

FASHION = Path("/usr/share/datasets/fashion-mnist")  # where Debian's package dataset-fashion-mnist puts it
CHECKPOINTS = Path(os.environ.get("WINDLASS_CHECKPOINT_DIR", "checkpoints"))
RESULTS = Path("runs")
SAVE_EVERY_S = 5.0
REPORT_EVERY_S = 1.0
BATCH = 64


def main() -> None:
    options = read_options()
    images, labels, test_images, test_labels = load_data(options.data)
    model = (TorchNetwork if options.engine == "torch" else NumpyNetwork)(side=images.shape[-1])
    progress = load_checkpoint(model)
    progress["starts"].append(progress["step"])
    print(f"start {len(progress['starts'])}: {options.data}, {len(images)} images, {options.engine}", flush=True)

    if not train(model, images, labels, progress, budget_s=options.seconds):
        print(f"asked to stop: saved step {progress['step']} after {progress['seconds']:.0f} s", flush=True)
        return
    guesses = np.concatenate([model.guess(part) for part in np.array_split(test_images, 20)])
    accuracy = float((guesses == test_labels).mean())
    metrics = {"data": options.data, "engine": options.engine, "accuracy": round(accuracy, 4), **progress}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n")
    (RESULTS / "loss.svg").write_text(draw(progress))
    print(
        f"test accuracy {accuracy:.1%} after {progress['step']} steps in {len(progress['starts'])} starts", flush=True
    )


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=42, help="how long to train, over all starts together")
    parser.add_argument("--data", choices=("fashion", "digits"), default="fashion" if FASHION.exists() else "digits")
    has_torch = importlib.util.find_spec("torch") is not None
    parser.add_argument("--engine", choices=("torch", "numpy"), default="torch" if has_torch else "numpy")
    return parser.parse_args()


def train(model: Any, images: np.ndarray, labels: np.ndarray, progress: dict[str, Any], *, budget_s: float) -> bool:
    """True when the whole time is used, False when asked to stop before. Saves in either case."""
    before_s = progress["seconds"]
    last_save = last_report = time.monotonic()
    recent: list[float] = []
    progress["seconds"] += time.monotonic() - STARTED
    while progress["seconds"] < budget_s and not stop_was_asked:
        # The batch follows from the step alone: a resumed training sees what an unbroken one would have seen.
        chosen = np.random.default_rng(progress["step"]).integers(len(images), size=BATCH)
        recent.append(model.learn(images[chosen], labels[chosen]))
        progress["step"] += 1
        now = time.monotonic()
        progress["seconds"] = before_s + now - STARTED
        if now - last_report > REPORT_EVERY_S:
            last_report, loss, recent = now, sum(recent) / len(recent), []
            progress["losses"].append([progress["step"], round(loss, 4)])
            print(
                f"{progress['seconds']:5.1f} of {budget_s:g} s  step {progress['step']:6}  loss {loss:.3f}", flush=True
            )
        if now - last_save > SAVE_EVERY_S:
            last_save = now
            save_checkpoint(model, progress)
    save_checkpoint(model, progress)
    return bool(progress["seconds"] >= budget_s)


def save_checkpoint(model: Any, progress: dict[str, Any]) -> None:
    """Whole or not at all, whatever happens in between: written aside, then renamed."""
    CHECKPOINTS.mkdir(parents=True, exist_ok=True)
    aside = CHECKPOINTS / "being-written"
    with aside.open("wb") as file:
        pickle.dump({"model": model.get_state(), "progress": progress}, file)
        file.flush()
        os.fsync(file.fileno())
    aside.rename(CHECKPOINTS / f"step-{progress['step']:08}.pickle")
    for old in sorted(CHECKPOINTS.glob("step-*.pickle"))[:-2]:
        old.unlink()


def load_checkpoint(model: Any) -> dict[str, Any]:
    found = sorted(CHECKPOINTS.glob("step-*.pickle"))
    if not found:
        return {"step": 0, "seconds": 0.0, "starts": [], "losses": []}
    saved = pickle.loads(found[-1].read_bytes())
    model.set_state(saved["model"])
    print(f"going on from {found[-1].name}", flush=True)
    return dict(saved["progress"])


def load_data(name: str) -> tuple[np.ndarray, ...]:
    """Images (count, side, side) from 0 to 1 and labels 0 to 9: to learn from, and to test with."""
    if name == "fashion":
        parts = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
        return tuple(load_idx(FASHION / f"{part}-ubyte.gz") for part in parts)
    spec = importlib.util.find_spec("sklearn")  # its file is read without its import, which takes two seconds
    if spec is None or spec.origin is None:
        raise SystemExit("no data: install dataset-fashion-mnist by apt, or scikit-learn by pip (it holds the digits)")
    table = np.loadtxt(Path(spec.origin).parent / "datasets/data/digits.csv.gz", np.float32, delimiter=",")
    images, labels = table[:, :-1].reshape(-1, 8, 8) / 16, table[:, -1].astype(np.int64)
    return images[:1400], labels[:1400], images[1400:], labels[1400:]


def load_idx(path: Path) -> np.ndarray:
    content = gzip.decompress(path.read_bytes())
    dimensions = content[3]
    shape = np.frombuffer(content, ">u4", count=dimensions, offset=4)
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions).reshape(shape)
    return values.astype(np.float32) / 255 if dimensions == 3 else values.astype(np.int64)


def draw(progress: dict[str, Any]) -> str:
    """The loss over the steps as a picture; a dashed line is where a later start went on."""
    last, highest = progress["step"] or 1, max([loss for _, loss in progress["losses"]] or [1])
    line = " ".join(f"{600 * step / last:.0f},{300 - 280 * loss / highest:.0f}" for step, loss in progress["losses"])
    starts = "".join(f"M{600 * step / last:.0f} 0V300" for step in progress["starts"][1:])
    words = f"loss, at most {highest:.2f}, over {last} steps; dashed: a new start"
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="-20 -20 640 360" width="640" height="360" fill="none">'
        '<rect x="-20" y="-20" width="640" height="360" fill="white"/><path d="M0 0V300H600" stroke="black"/>'
        f'<path d="{starts}" stroke="#c33" stroke-dasharray="5"/><polyline points="{line}" stroke="#06c"/>'
        f'<text x="100" y="325" fill="black" font-family="sans-serif">{words}</text></svg>\n'
    )


if __name__ == "__main__":
    main()
