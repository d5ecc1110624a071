"""A notebook as a batch job: cell after cell, what was executed kept at every step, and which cell failed told."""

import argparse
import importlib
import os
import re
import signal
import sys
import time
from typing import Any, List, Mapping, Optional

from windlass_job import disk, wire
from windlass_job.bounded import say
from windlass_job.serving.card import Card

PACKAGE = "nbclient"
_SAVE_S = 10.0
_MOST_LINES = 60
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", help="of the notebook; it is replaced by the executed one")


def run(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    """By the Python of the run's environment, which has the packages."""
    card = Card(env[wire.ENV_RUN_DIR], "notebook", dict(env))
    card.make_folder()
    try:
        nbclient, nbformat = importlib.import_module("nbclient"), importlib.import_module("nbformat")
    except ImportError as error:
        problem = "{} is not in the environment of this run".format(getattr(error, "name", None) or PACKAGE)
        say(problem)
        card.put("failed", problem=problem, program=sys.executable)
        return wire.EXIT_ENVIRONMENT
    signal.signal(signal.SIGTERM, _stop)
    return Execution(os.path.abspath(options.path), card, nbclient, nbformat).run()


def _stop(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


class Execution:
    def __init__(self, path: str, card: Card, nbclient: Any, nbformat: Any) -> None:
        self._path, self._card = path, card
        self._nbclient, self._nbformat = nbclient, nbformat
        self._saved = time.monotonic()
        self._cell = 0
        self._book: Any = None

    def run(self) -> int:
        try:
            self._book = self._nbformat.read(self._path, as_version=4)
        except Exception as error:  # whatever is wrong with the file
            return self._fail("{} is no notebook: {}".format(self._path, str(error).splitlines()[0]))
        try:
            self._execute()
        except KeyboardInterrupt:
            self._save()
            self._card.put("failed", problem="it was stopped in cell {}".format(self._cell), cell=self._cell)
            return 128 + signal.SIGTERM
        except self._nbclient.exceptions.CellExecutionError as error:
            return self._fail("cell {} failed: {}".format(self._cell, _first_line(error)), _find_traceback(error))
        except Exception as error:  # a kernel that died or never came, and whatever else it may be
            return self._fail("cell {}: {}".format(self._cell, _first_line(error) or type(error).__name__))
        self._save()
        self._card.put("ended", cell=self._cell)
        return 0

    def _execute(self) -> None:
        folder = os.path.dirname(self._path)
        client = self._nbclient.NotebookClient(
            self._book, timeout=None, kernel_name=_choose_kernel(self._book), resources={"metadata": {"path": folder}}
        )
        cells = self._book.cells
        with client.setup_kernel():
            for place, cell in enumerate(cells):
                self._cell = place + 1
                if cell.cell_type != "code" or not cell.source.strip():
                    continue
                began = time.monotonic()
                client.execute_cell(cell, place)
                say("cell {} of {}: {:.1f} s".format(self._cell, len(cells), time.monotonic() - began))
                if time.monotonic() - self._saved > _SAVE_S:
                    self._save()

    def _save(self) -> None:
        if self._book is not None:
            content = self._nbformat.writes(self._book)
            disk.replace(disk.as_path(self._path), content.encode("utf-8"), 0o644)
        self._saved = time.monotonic()

    def _fail(self, problem: str, trace: Optional[List[str]] = None) -> int:
        self._save()
        lines = trace or []
        say(problem)
        for line in lines:
            sys.stderr.write(line + "\n")
        self._card.put("failed", problem=problem, cell=self._cell, traceback=lines[-_MOST_LINES:])
        return 1


def _choose_kernel(book: Any) -> str:
    """The notebook's own where it is installed, else that of the environment."""
    wanted = str(book.metadata.get("kernelspec", {}).get("name") or "python3")
    known = importlib.import_module("jupyter_client.kernelspec").KernelSpecManager().find_kernel_specs()
    if wanted not in known and "python3" in known:
        say("there is no kernel {!r} here: python3 of the environment is taken".format(wanted))
        return "python3"
    return wanted


def _find_traceback(error: Any) -> List[str]:
    text = getattr(error, "traceback", "") or str(error)
    return [line.rstrip() for line in _COLOURS.sub("", text).splitlines()]


def _first_line(error: Any) -> str:
    """ValueError: no such file; not the whole of a traceback."""
    name, value = getattr(error, "ename", ""), getattr(error, "evalue", "")
    return "{}: {}".format(name, value) if name else (str(error).strip().splitlines() or [""])[0]
