"""A drawing in a file: SVG as it is, PNG by a program of this machine that can make one."""

import shutil
import subprocess
from pathlib import Path

from windlass.edges.files import explain
from windlass.errors import UsageError

# name -> its arguments; the drawing comes on stdin
_MAKERS = {
    "rsvg-convert": ("--zoom=2", "--format=png", "--output={path}"),
    "magick": ("-density", "192", "svg:-", "{path}"),
    "convert": ("-density", "192", "svg:-", "{path}"),
    "inkscape": ("--pipe", "--export-type=png", "--export-dpi=192", "--export-filename={path}"),
}
_TIMEOUT_S = 120


def save_picture(path: Path, drawing: str) -> None:
    """By its ending: .svg or .png."""
    if path.suffix.lower() == ".svg":
        try:
            path.write_text(drawing, encoding="utf-8")
        except OSError as problem:
            raise explain(problem, path) from problem
        return
    if path.suffix.lower() != ".png":
        raise UsageError(f"{path.name} is no name of a picture", hint="FILE.svg or FILE.png")
    _make_png(path, drawing)


def _make_png(path: Path, drawing: str) -> None:
    """The first that can: a program of that name may be there and not know SVG."""
    said: dict[str, str] = {}
    for name in filter(shutil.which, _MAKERS):
        argv = [name, *(word.format(path=path.absolute()) for word in _MAKERS[name])]
        try:
            done = subprocess.run(argv, input=drawing.encode(), capture_output=True, timeout=_TIMEOUT_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as problem:
            said[name] = str(problem)
            continue
        if done.returncode == 0 and path.exists():
            return
        said[name] = done.stderr.decode(errors="replace").strip()[:300]
    raise UsageError(
        "nothing on this machine makes a PNG of a drawing",
        details=[f"{name}: {words}" for name, words in said.items()],
        hint=f"--picture {path.with_suffix('.svg').name}; or install rsvg-convert (apt-get install librsvg2-bin)",
    )
