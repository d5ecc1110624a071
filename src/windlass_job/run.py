"""What a training may ask of Windlass and tell it: `from windlass_job import run`.

    saves = run.checkpoint("checkpoints")
    newest = saves.latest()
    for step in ...:
        ...
        run.log(step, loss=loss)
        if step % 1000 == 0 or run.should_stop():
            with saves.save(step) as folder:
                torch.save(state, folder / "state.pt")
        if run.should_stop():
            break

Outside of Windlass checkpoints work as here, and the rest does nothing.
"""

import os
import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, Callable, Optional, Union

    from windlass_job.saving.attempts import FencedOff as FencedOff
    from windlass_job.saving.checkpoints import Checkpoints
    from windlass_job.saving.training import Run

rank: int  # of this process among all of the training's
world_size: int  # how many there are
link: int  # which link of the chain this is: 1, 2, 3 ...
is_windlass: bool  # False in a plain run outside of Windlass

_current: "Optional[Run]" = None


def checkpoint(folder: "Optional[Union[str, Path]]" = None, keep: int = 2, patience_s: float = 600.0) -> "Checkpoints":
    """The folder of this training's checkpoints: whole and verified or not there, the last `keep` of them.

    Without a folder: the one of the run file, or `checkpoints`. patience_s: how long ranks wait for one another.
    """
    return _get().checkpoint(folder, keep, patience_s)


def should_stop(all_ranks: bool = False, least: "Optional[Callable[[int], int]]" = None) -> bool:
    """True when it is time to save and leave: told to stop, or less time is left than two saves take.

    all_ranks: called by all ranks equally often, and the answer is the same on all of them; they agree about once a
    second by torch.distributed or mpi4py, or by `least`, which gives every rank the least of all ranks' numbers.
    """
    return _get().should_stop(all_ranks, least)


def log(step: "Any", **metrics: "Any") -> None:
    """Numbers of this step, for a line in metrics/LINK.RANK.jsonl of the run folder. Costs about a microsecond."""
    _get().log(step, metrics)


def progress(done: "Any", of: "Any", unit: str = "epoch") -> None:
    """How much of the whole training is finished: done of `of`. From it `windlass ps` tells the expected end."""
    _get().progress(done, of, unit)


def done() -> None:
    """The last word: the training is finished, and no link after this one is needed."""
    _get().done()


def _make() -> "Run":
    global _current
    from windlass_job.saving.training import Run

    _current = Run(os.environ)
    return _current


def _get() -> "Run":
    return _current or _make()


def _forget() -> None:
    """A forked child has threads and files of its own."""
    global _current
    _current = None


_register = getattr(os, "register_at_fork", None)  # Python 3.6 has none: there only the first process should tell
if _register is not None:
    _register(after_in_child=_forget)


class _Module(types.ModuleType):
    """So that what is known only while the training runs can be asked as a plain name, on Python 3.6 too."""

    rank = property(lambda self: _get().rank)
    world_size = property(lambda self: _get().world_size)
    link = property(lambda self: _get().link)
    is_windlass = property(lambda self: _get().is_windlass)

    @property
    def FencedOff(self) -> "Any":
        from windlass_job.saving.attempts import FencedOff

        return FencedOff


sys.modules[__name__].__class__ = _Module
