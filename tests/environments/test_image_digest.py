"""What the tag of an image names, asked of a registry as the login node asks it."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.environments.registry import serve_image
from windlass_job.working.image_digest import Image, read_address

PROGRAM = Path(__file__).parents[2] / "src" / "windlass_job" / "working" / "image_digest.py"
DIGEST = "sha256:" + "ab" * 32


def ask(address: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    env["APPTAINER_NOHTTPS"] = "1"
    return subprocess.run(
        [sys.executable, "-I", PROGRAM, address], env=env, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize(
    ("text", "image"),
    [
        ("docker://ubuntu", Image("registry-1.docker.io", "library/ubuntu", "latest")),
        ("docker://ada/net:2", Image("registry-1.docker.io", "ada/net", "2")),
        ("docker://docker.io/python:3.11", Image("registry-1.docker.io", "library/python", "3.11")),
        ("docker://nvcr.io/nvidia/pytorch:24.01-py3", Image("nvcr.io", "nvidia/pytorch", "24.01-py3")),
        ("docker://localhost/net", Image("localhost", "net", "latest")),
        ("docker://lab:5000/a/b:1", Image("lab:5000", "a/b", "1")),
        (f"docker://lab:5000/a/b:1@{DIGEST}", Image("lab:5000", "a/b", DIGEST)),
    ],
)
def test_an_address_is_read_as_docker_reads_it(text: str, image: Image) -> None:
    assert read_address(text) == image


def test_a_tag_is_named_by_its_digest(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    with serve_image(tmp_path / "tree", "lab/boxed") as address:
        done = ask(f"docker://{address.partition('@')[0]}:latest")

    assert (done.returncode, done.stdout) == (0, f"docker://{address}\n"), done.stderr


class _Hub(BaseHTTPRequestHandler):
    """Whoever fetches a token is let in, as at docker.io."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"token": "for-anybody" if "scope=pull" in self.path else ""}).encode())

    def do_HEAD(self) -> None:
        is_known = self.headers.get("Authorization") == "Bearer for-anybody"
        self.send_response(200 if is_known else 401)
        realm = f"http://{self.headers['Host']}/token"
        self.send_header("WWW-Authenticate", f'Bearer realm="{realm}",service="s",scope="pull"')
        self.send_header("Docker-Content-Digest", DIGEST if is_known else "")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Tests are silent."""


@pytest.fixture
def hub() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_a_token_for_anybody_is_fetched_where_one_is_wanted(hub: str) -> None:
    assert ask(f"docker://{hub}/net:1").stdout == f"docker://{hub}/net@{DIGEST}\n"


def test_where_the_registry_does_not_answer_nothing_is_named() -> None:
    done = ask("docker://127.0.0.1:9/net:1")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("windlass: the registry does not say what the tag names")
