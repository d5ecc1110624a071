"""Markdown pages as the tests see them: their blocks of code, with what a comment before a block says about it.

`<!-- test: site -->`    the block needs a site: it is run on the test cluster, and only parsed without one
`<!-- test: site 3 -->`  the same, and its last command ends so
`<!-- test: exit 7 -->`  its last command ends so
`<!-- test: run -->`     a Python block that is run, not only compiled
`<!-- test: skip -->`    not run: it installs, asks or lasts too long; its commands are parsed
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
_FENCE = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\s*$")
_MARK = re.compile(r"^<!-- test: (\w+) ?(\d*) -->$")


@dataclass(frozen=True, kw_only=True)
class Step:
    """One command of a console block and the lines shown below it."""

    command: str
    shown: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Block:
    page: str
    line: int
    language: str
    title: str | None
    mark: str | None
    number: int | None
    text: str

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def steps(self) -> tuple[Step, ...]:
        steps: list[Step] = []
        for line in self.text.replace("\\\n", " ").splitlines():
            if line.startswith("$ "):
                steps.append(Step(command=line[2:].strip()))
            elif line.strip() and steps:
                steps[-1] = Step(command=steps[-1].command, shown=(*steps[-1].shown, line))
        return tuple(steps)


def list_pages() -> tuple[Path, ...]:
    top = (ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"))
    return (*top, *sorted((ROOT / "docs").rglob("*.md")))


def load_blocks(page: Path) -> tuple[Block, ...]:
    lines = page.read_text(encoding="utf-8").splitlines()
    blocks: list[Block] = []
    opened: tuple[int, re.Match[str]] | None = None
    for number, line in enumerate(lines):
        if opened is None and (fence := _FENCE.match(line)):
            opened = number, fence
        elif opened is not None and line.rstrip() == "```":
            blocks.append(_make_block(page, lines, *opened, number))
            opened = None
    assert opened is None, f"{page} has a block without an end"
    return tuple(blocks)


def _make_block(page: Path, lines: list[str], begin: int, fence: re.Match[str], end: int) -> Block:
    mark = _MARK.match(lines[begin - 1]) if begin else None
    return Block(
        page=str(page.relative_to(ROOT)),
        line=begin + 1,
        language=fence[1],
        title=fence[2],
        mark=mark[1] if mark else None,
        number=int(mark[2]) if mark and mark[2] else None,
        text="\n".join(lines[begin + 1 : end]) + "\n",
    )


def strip_blocks(text: str) -> str:
    """The prose alone."""
    return re.sub(r"^```.*?^```\s*$", "", text, flags=re.MULTILINE | re.DOTALL)
