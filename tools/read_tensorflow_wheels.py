"""What the wheels of TensorFlow at an index say of their GPUs: the table in `core/source/tensorflow_builds.py`.

    python tools/read_tensorflow_wheels.py https://HOST/pypi/tensorflow/json

Of each wheel of 600 MB only its list of files and `build_info.py` are fetched.
"""

import io
import json
import re
import sys
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterator
from typing import Any

_RELEASE = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_CUDA = re.compile(r"cuda_version\W+([\d.]+)")
_CODE = re.compile(r"cuda_compute_capabilities\W+\[(.*?)\]", re.DOTALL)
_WORD = re.compile(r"(?:sm|compute)_\d+")
_PIECE = 1 << 20


class _FarFile(io.RawIOBase):
    """Read over HTTP, only where it is asked for."""

    def __init__(self, url: str, size: int) -> None:
        self._url, self._size, self._at = url, size, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence] + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        count = min(len(view), self._size - self._at)
        if count <= 0:
            return 0
        asked = urllib.request.Request(self._url, headers={"Range": f"bytes={self._at}-{self._at + count - 1}"})
        with urllib.request.urlopen(asked, timeout=60) as answer:
            content = answer.read(count)
        view[: len(content)] = content
        self._at += len(content)
        return len(content)


def main(address: str) -> None:
    with urllib.request.urlopen(address, timeout=60) as answer:
        releases: dict[str, list[dict[str, Any]]] = json.load(answer)["releases"]
    for version, file in sorted(_list_wheels(releases)):
        wheel = _FarFile(urllib.parse.urljoin(address, file["url"]), file["size"])
        with zipfile.ZipFile(io.BufferedReader(wheel, _PIECE)) as opened:
            name = next((one for one in opened.namelist() if one.endswith("platform/build_info.py")), None)
            text = opened.read(name).decode() if name else ""
        cuda, code = _CUDA.search(text), _CODE.search(text)
        said = _WORD.findall(code[1]) if code else [line for line in text.splitlines() if "is_cuda_build" in line]
        print(".".join(map(str, version)), cuda[1] if cuda else "-", *said, flush=True)


def _list_wheels(releases: dict[str, list[dict[str, Any]]]) -> Iterator[tuple[tuple[int, ...], dict[str, Any]]]:
    """One for Linux of each release."""
    for name, files in releases.items():
        found = _RELEASE.fullmatch(name)
        wheels = [one for one in files if re.search(r"manylinux.*x86_64\.whl$", one["filename"])]
        if found and wheels:
            yield tuple(map(int, found.groups())), wheels[0]


if __name__ == "__main__":
    main(sys.argv[1])
