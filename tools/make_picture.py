"""Draw docs/images/first-run.svg from a real session: examples/fashion, run, listed and fetched on this machine.

Needs what the example needs: tools/venv.sh examples && .venv/bin/python tools/make_picture.py
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "images" / "first-run.svg"
SESSION = ("windlass run", "windlass ps", "windlass fetch")
COLOURS = {"1": "#ffffff", "31": "#f2777a", "32": "#99cc99", "33": "#ffcc66", "34": "#6699cc", "90": "#8a8a8a"}
TEXT, PROMPT, GROUND = "#d8d8d8", "#66cccc", "#20242c"
CHAR, LINE, MARGIN, BAR = 8.43, 20, 20, 30  # pixels; 14 px monospace
LONGEST = 100  # characters of a line
MOST_WORDS = 3  # lines of the training's own that are shown in a row


def main() -> None:
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "examples" / "fashion", Path(folder) / "fashion")
        for command in SESSION:
            lines += [f"$ {command}", *shorten(run(command, Path(folder))), ""]
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(draw(lines[:-1]), encoding="utf-8")
    print(PICTURE.relative_to(ROOT))


def run(command: str, folder: Path) -> list[str]:
    """What a terminal would show, with colours, in the order it was written."""
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    places = {f"WINDLASS_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "STATE", "POCKET")}
    env = {**os.environ, **places, "PATH": programs, "FORCE_COLOR": "1"}
    done = subprocess.run(
        command.split(),
        cwd=folder / "fashion",
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return done.stdout.replace(str(folder), "~").rstrip().splitlines()


def shorten(lines: list[str]) -> list[str]:
    """Of many similar lines in a row the first and the last are enough."""
    kept: list[str] = []
    similar: list[str] = []
    for line in (*lines, None):
        if line is not None and similar and shape(line) == shape(similar[0]):
            similar.append(line)
            continue
        kept += similar if len(similar) <= MOST_WORDS else [*similar[:2], "…", *similar[-1:]]
        similar = [] if line is None else [line]
    return [cut(line) for line in kept]


def shape(line: str) -> str:
    return re.sub(r"[\d.%\s]+", "0", line)


def cut(line: str) -> str:
    return line if len(line) <= LONGEST + 20 else line[:LONGEST] + "…"


def draw(lines: list[str]) -> str:
    width = round(2 * MARGIN + CHAR * max(len(strip(line)) for line in lines))
    height = BAR + 2 * MARGIN + LINE * len(lines)
    rows = (draw_line(line, BAR + MARGIN + LINE * number + 14) for number, line in enumerate(lines))
    dots = (f'<circle cx="{MARGIN + 18 * i}" cy="20" r="6" fill="{fill}"/>' for i, fill in enumerate(DOTS))
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            ' role="img" aria-label="A terminal: windlass run, ps and fetch">',
            "<!-- Written by tools/make_picture.py from a real session. -->",
            f'<rect width="{width}" height="{height}" rx="10" fill="{GROUND}"/>',
            *dots,
            '<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14" xml:space="preserve">',
            *rows,
            "</g>",
            "</svg>",
            "",
        )
    )


DOTS = ("#ff5f57", "#febc2e", "#28c840")


def draw_line(line: str, y: int) -> str:
    if line.startswith("$ "):
        return text(0, y, PROMPT, "$") + text(2, y, "#ffffff", line[2:])
    drawn, column, colour = "", 0, TEXT
    for part in re.split(r"(\x1b\[\d*m)", line):
        if code := re.fullmatch(r"\x1b\[(\d*)m", part):
            colour = COLOURS.get(code[1], TEXT)
        elif part:
            drawn += text(column, y, colour, part)
            column += len(part)
    return drawn


def text(column: int, y: int, colour: str, words: str) -> str:
    """Each word where its column is: fonts differ in width, columns must not."""
    found = re.finditer(r"\S+", words)
    return "".join(
        f'<text x="{MARGIN + CHAR * (column + one.start()):.1f}" y="{y}" fill="{colour}" '
        f'textLength="{CHAR * len(one[0]):.1f}" lengthAdjust="spacingAndGlyphs">{escape(one[0])}</text>'
        for one in found
    )


def strip(line: str) -> str:
    return re.sub(r"\x1b\[\d*m", "", line)


if __name__ == "__main__":
    main()
