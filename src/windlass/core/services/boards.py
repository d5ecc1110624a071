"""TensorBoard: where one is started, with which options, and by which line at a site."""

from collections.abc import Iterable
from enum import StrEnum

from windlass.core.job import list_software_lines
from windlass.core.plan import Plan
from windlass.core.services.software import ABSENT, make_find_line
from windlass.core.shell import quote_all
from windlass.core.trackers import TRACKERS
from windlass.errors import ServiceFailed, ServiceMissing, WindlassError

PACKAGE = "tensorboard"
TRACKER = TRACKERS[PACKAGE]
PORT = 6006
INSTALL = "uv tool install tensorboard, or: python3 -m pip install tensorboard"
_FRESH_S = {True: 5, False: 30}  # how often it looks for new rows; a shared file system is looked at less often


class Where(StrEnum):
    LAPTOP = "laptop"  # over files that are brought again and again
    FETCHED = "fetched"  # over files that are here already
    SITE = "site"  # on the login node, over the files themselves
    NODE = "node"  # the same on the first node of a run, as a step of its job


def make_options(secret: str, titles: Iterable[str], *, is_here: bool) -> list[str]:
    """secret: the first part of every address. What does not begin with it is not found, so that it is the key."""
    options = [
        f"--path_prefix=/{secret}",
        f"--window_title={' '.join(titles)}",
        f"--reload_interval={_FRESH_S[is_here]}",
        "--reload_multifile=true",  # each link of a chain writes a file of its own
        "--load_fast=false",  # the fast reader is a server of its own, on a port that asks nobody for a key
    ]
    # What is brought takes its name when it is whole: a file that is held open would never grow.
    return [*options, "--detect_file_replacement=true"] if is_here else options


def make_site_script(plan: Plan, *, enters: bool) -> str:
    """bash at the site: TensorBoard of the run's environment, or else whichever is on the path there.

    enters: False where the modules of the environment cannot be loaded on login nodes.
    """
    start = quote_all((*plan.inside, "python3", "-m", "tensorboard.main"))
    return "\n".join(
        (
            "set +u",
            *(list_software_lines(plan) if enters else ()),
            f'if {make_find_line(plan.inside, (PACKAGE,))}; then exec {start} "$@"; fi',
            'if command -v tensorboard >/dev/null; then exec tensorboard "$@"; fi',
            f"exit {ABSENT}",
        )
    )


def make_ended(said: str, place: str, install: str) -> WindlassError:
    """said: the last words of its far end, of which the first line holds the exit code."""
    first, _, words = said.partition("\n")
    if first.endswith(f" {ABSENT}"):
        return ServiceMissing(f"tensorboard is not installed at {place}", hint=install, done="nothing was started")
    return ServiceFailed(f"{first} at {place}", said=words or None, done="nothing of it is left running")
