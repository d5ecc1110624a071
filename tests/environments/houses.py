"""Wheels made for a test: they are zips, so a wheelhouse and an index need nobody else's packages."""

import base64
import contextlib
import hashlib
import io
import os
import zipfile
from collections.abc import Iterator, Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

ANY = "py3-none-any"


def make_wheel(
    folder: Path, name: str, version: str = "1.0", *, tag: str = ANY, needs: Sequence[str] = (), body: str = ""
) -> Path:
    """One that pip installs: a module of the package's name, with its version."""
    stem, module = f"{name.replace('-', '_')}-{version}", name.replace("-", "_")
    folder.mkdir(parents=True, exist_ok=True)
    path, info = folder / f"{stem}-{tag}.whl", f"{stem}.dist-info"
    lines = [f"Requires-Dist: {one}" for one in needs]
    files = {
        f"{module}.py": f"version = {version!r}\n{body}",
        f"{info}/METADATA": "\n".join(
            ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *lines, "", "About it."]
        ),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    record = "".join(f"{one},sha256={_hash(text)},{len(text.encode())}\n" for one, text in files.items())
    with zipfile.ZipFile(path, "w") as wheel:
        for one, text in {**files, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            wheel.writestr(zipfile.ZipInfo(one), text)
    return path


@contextlib.contextmanager
def serve_index(folder: Path, *, login: str | None = None) -> Iterator[str]:
    """An index of Python packages on loopback: folder/NAME/*.whl, listed as a web server lists folders.

    login: as in "user:word", without which nobody is let in.
    """
    handler = partial(_Guarded if login else _Quiet, directory=str(folder))
    _Guarded.login = login or ""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """A test's output is its own."""

    def list_directory(self, path: str | os.PathLike[str]) -> io.BytesIO:
        """As indexes do: a link to each, with the sum of a wheel behind it."""
        links = "".join(f'<a href="{_make_href(one)}">{one.name}</a>\n' for one in sorted(Path(path).iterdir()))
        content = f"<!DOCTYPE html>\n<html><body>\n{links}</body></html>\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        return io.BytesIO(content)


class _Guarded(_Quiet):
    login = ""

    def do_GET(self) -> None:
        if self.headers.get("Authorization") == f"Basic {base64.b64encode(self.login.encode()).decode()}":
            super().do_GET()
        else:
            self.send_response(401)
            self.send_header("WWW-Authenticate", "Basic")
            self.end_headers()


def _make_href(path: Path) -> str:
    return f"{path.name}/" if path.is_dir() else f"{path.name}#sha256={hashlib.sha256(path.read_bytes()).hexdigest()}"


def _hash(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
