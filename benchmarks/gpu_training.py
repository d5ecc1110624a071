# mypy: ignore-errors
# (PyTorch is not there where types are checked)
"""A real training for `gpu_chain`: a small transformer on random words, on one GPU. `python gpu_training.py STEPS`.

It prints the steps of every second, saves at the end of its time, and goes on from what it finds.
"""

import sys
import time
from collections.abc import Iterator

import torch
from torch import nn

from windlass_job import run

WORDS, LENGTH, WIDTH, LAYERS, BATCH = 8192, 512, 1024, 8, 32
WINDOW = 20  # steps between two lines


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 16, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(words.shape[1], device=words.device)
        return self.head(self.layers(self.embedding(words), mask=mask, is_causal=True))


def make_batches(device: torch.device) -> Iterator[torch.Tensor]:
    generator = torch.Generator(device=device).manual_seed(0)
    while True:
        yield torch.randint(WORDS, (BATCH, LENGTH + 1), device=device, generator=generator)


def main(steps: int) -> None:
    device = torch.device("cuda")
    torch.manual_seed(0)
    network = Network().to(device)
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-4)
    saves = run.checkpoint("checkpoints")
    step, latest = 0, saves.latest()
    if latest is not None:
        # On the CPU first: AdamW's step counters, once on the GPU, would make it wait at every step (5 % slower).
        state = torch.load(latest / "state.pt", map_location="cpu")
        network.load_state_dict(state["network"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
    print(f"begins at step {step} on {torch.cuda.get_device_name()}", flush=True)
    began, loss = time.perf_counter(), torch.tensor(0.0)
    batches = make_batches(device)
    while step < steps and not run.should_stop():
        words = next(batches)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            guess = network(words[:, :-1])
            loss = nn.functional.cross_entropy(guess.flatten(0, 1), words[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        step += 1
        run.log(step, rate=step)
        if step % WINDOW == 0:
            run.log(step, loss=loss.item())  # waits for the GPU
            run.progress(step, steps, unit="step")
            now = time.perf_counter()
            print(f"step {step} rate {WINDOW / (now - began):.3f}", flush=True)
            began = now
    with saves.save(step) as folder:
        state = {"network": network.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
        torch.save(state, folder / "state.pt")
    print(f"ends at step {step}, loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
