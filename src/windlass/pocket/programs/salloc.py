"""salloc: a command or a shell inside an allocation."""

import os

from windlass.pocket.allocation import run_in_allocation
from windlass.pocket.errors import PocketError
from windlass.pocket.getopt import parse
from windlass.pocket.options import SALLOC, SALLOC_ENV, read_environment
from windlass.pocket.places import Places
from windlass.pocket.programs.usage import show_about
from windlass.pocket.request import merge


def run(places: Places, words: list[str]) -> int:
    parsed = parse(SALLOC, words)
    typed = dict(parsed.options)
    if show_about(SALLOC, typed, "[OPTIONS(0)...] [command(0) [args(0)...]]"):
        return 0
    if "no-shell" in typed:
        raise PocketError("pocket keeps an allocation only as long as salloc runs: --no-shell is not possible")
    options = merge(read_environment(SALLOC_ENV, dict(os.environ), SALLOC), parsed.options)
    command = list(parsed.operands) or [os.environ.get("SHELL") or "/bin/sh"]
    return run_in_allocation(places, options, program="salloc", words=command, name="interactive")
