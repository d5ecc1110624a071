"""Small wheels made on the spot: a wheelhouse of a test's own."""

import base64
import hashlib
import zipfile
from collections.abc import Sequence
from pathlib import Path

_WHEEL = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def make_wheel(folder: Path, name: str, version: str = "1.0", *, code: str = "", needs: Sequence[str] = ()) -> Path:
    """A package of one module with a number in it and a command of its name."""
    folder.mkdir(parents=True, exist_ok=True)
    about = f"{name}-{version}.dist-info"
    needed = "".join(f"Requires-Dist: {one}\n" for one in needs)
    files = {
        f"{name}.py": code or f"VERSION = {version!r}\n\n\ndef main():\n    print('{name}', VERSION)\n",
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needed}",
        f"{about}/WHEEL": _WHEEL,
        f"{about}/entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n",
    }
    record = f"{about}/RECORD"
    lines = [f"{path},sha256={_hash(text)},{len(text.encode())}" for path, text in files.items()]
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for inner, text in {**files, record: "\n".join([*lines, f"{record},,\n"])}.items():
            wheel.writestr(inner, text)
    return path


def _hash(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
