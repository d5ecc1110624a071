"""How a worker of a farm starts another process of this package."""

import os
import sys
from typing import List

import windlass_job

# `-c` and not the path of the zip: a module of the same name in the environment must not be taken for ours.
_BEGIN = "import sys; sys.path.insert(0, sys.argv.pop(1)); from windlass_job.__main__ import leave, main; leave(main())"


def make_argv(words: "List[str]", *, is_isolated: bool) -> "List[str]":
    """is_isolated: from the modules of the run's folder and its environment."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(windlass_job.__file__)))
    return [sys.executable or "python3"] + ["-I"] * is_isolated + ["-c", _BEGIN, package] + words
