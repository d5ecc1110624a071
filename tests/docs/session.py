"""A reader at a terminal: types the commands of a page, one after another, and compares what is shown."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.docs.pages import Block, Step

_LONGEST_S = 300
_SHELL = """
[ ! -e "$READER_ENV" ] || . "$READER_ENV"
{command}
status=$?
export -p >"$READER_ENV"
exit $status
"""


class Reader:
    """Has a home and a folder with a training; `cd` and `export` last."""

    def __init__(self, home: Path, project: Path, env: Mapping[str, str], *, programs: Path | None = None) -> None:
        """programs: a folder of the reader's own, first on the path."""
        self.project = project
        path = [str(one) for one in (programs, Path(sys.executable).parent) if one]
        path.append(os.environ["PATH"])
        self.env = {**os.environ, **env, "PATH": os.pathsep.join(path), "READER_ENV": str(home / "reader-env.sh")}

    def follow(self, block: Block) -> None:
        """Do what a block says: write its file, or type its commands."""
        if block.language == "console":
            for step in block.steps:
                is_last = step == block.steps[-1]
                self._type(step, block, expected=block.number or 0 if is_last else 0)
        elif block.title and "/" not in block.title and is_whole(block):
            (self.project / block.title).write_text(block.text)
        elif block.language == "python" and block.mark == "run":
            self._run([sys.executable, "-c", block.text], block)

    def leave(self, site: str) -> None:
        """Nothing of ours stays at a site: neither runs nor an open connection."""
        listed = subprocess.run(
            ["windlass", "ps", "--json", "--all", "--on", site], env=self.env, capture_output=True, check=False
        )
        runs = [one["run_id"] for one in json.loads(listed.stdout or b"{}").get("runs", ())]
        for command in (["cancel", *runs], ["rm", "--yes", *runs], ["logout", site]):
            if command[-1] not in ("cancel", "--yes"):
                subprocess.run(["windlass", *command], env=self.env, capture_output=True, timeout=120, check=False)

    def _type(self, step: Step, block: Block, *, expected: int) -> None:
        done = self._run(["bash", "-c", _SHELL.format(command=step.command)], block, expected=expected)
        for line in step.shown:
            found = any(re.search(make_pattern(line), one) for one in done.splitlines())
            assert found, f"{block.name}: `{step.command}` does not show {line!r}, but\n{done}"

    def _run(self, argv: list[str], block: Block, *, expected: int = 0) -> str:
        done = subprocess.run(
            argv,
            cwd=self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_LONGEST_S,
            check=False,
        )
        assert done.returncode == expected, f"{block.name}: {argv[-1]}\nended with {done.returncode}:\n{done.stdout}"
        return done.stdout


def is_whole(block: Block) -> bool:
    """A part of a windlass.toml is only looked at; a whole one is written into the project."""
    return block.title != "windlass.toml" or "command = " in block.text


def make_pattern(line: str) -> str:
    """Numbers, run ids and widths vary from run to run; `…` stands for anything."""
    pattern = re.escape(line.strip()).replace("…", ".*")
    pattern = re.sub(r"\b([a-z]+)\\-[a-z0-9]{5}\b", r"\1-\\w{5}", pattern)
    pattern = re.sub(r"\d+(?![}])", r"\\d+", pattern)
    return re.sub(r"(?:\\ )+", " +", pattern)
