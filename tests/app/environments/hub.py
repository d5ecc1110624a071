"""A hub on loopback, a project that fetches from it, and a site whose compute nodes reach no internet."""

import hashlib
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WEIGHTS = bytes(range(256)) * 400
FILES = {"/weights.bin": WEIGHTS, "/labels.txt": b"cat\ndog\n"}

# Fetches what is not in its cache, as torch.hub does, loads it, and trains three steps.
TRAIN = """
import os, pathlib, sys, urllib.request
from windlass_job import run

def load(name):
    path = pathlib.Path(os.environ.get("TORCH_HOME", "no-cache"), "hub", "checkpoints", name)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(os.environ["HUB"] + "/" + name, timeout=20) as answer:
            path.write_bytes(answer.read())
    return path.read_bytes()

def main():
    weights, labels = load("weights.bin"), load("labels.txt").split()
    print("loaded", len(weights), "bytes for", len(labels), "classes", flush=True)
    for step in range(1, 4):
        run.progress(step, of=3, unit="step")
        print("step", step, flush=True)

if __name__ == "__main__":
    main()
"""


class Hub:
    def __init__(self, address: str, asked: list[str]) -> None:
        self.address = address
        self.asked = asked


@contextmanager
def open_hub(files: dict[str, bytes] | None = None) -> Iterator[Hub]:
    asked: list[str] = []
    content = FILES if files is None else files

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            """As Hugging Face's hub: the content's name, and the commit it belongs to."""
            found = content.get(self.path)
            self.send_response(200 if found is not None else 404)
            self.send_header("Content-Length", str(len(found or b"")))
            self.send_header("ETag", f'"{hashlib.sha1(found or b"").hexdigest()}"')
            self.send_header("X-Repo-Commit", "a" * 40)
            self.end_headers()

        def do_GET(self) -> None:
            asked.append(self.path)
            self.do_HEAD()
            self.wfile.write(content.get(self.path, b""))

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Hub(f"http://127.0.0.1:{server.server_port}", asked)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def make_project(folder: Path, hub: str, *, prefetch: str = "", train: str = TRAIN) -> Path:
    folder.mkdir()
    (folder / "train.py").write_text(train)
    (folder / "windlass.toml").write_text(
        f'[run]\nname = "pets"\ncommand = "python3 train.py"\n[run.env]\nHUB = "{hub}"\n'
        f'[resources]\ntime = "2m"\ncpus = 1\nmemory = "200M"\n{prefetch}'
    )
    return folder
