"""From the words of `windlass sweep` to what is wanted: the sweep, and what each of its trials takes."""

import re
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from windlass.core.farm.values import FarmNeeds, make_needs
from windlass.core.run import RunSpec
from windlass.core.sweep.space import read_dimensions
from windlass.core.sweep.wish import Goal, Method, Pruner, Sampler, Sweep, make_space, settle
from windlass.errors import UsageError

_VALUES = re.compile(r"[A-Za-z_]\w*=[^{}]*", re.ASCII)


def split_words(words: tuple[str, ...]) -> tuple[str | None, list[str]]:
    """The command, where there is one, and NAME=VALUES."""
    given = [word for word in words if _VALUES.fullmatch(word)]
    commands = [word for word in words if not _VALUES.fullmatch(word)]
    if len(commands) > 1:
        raise UsageError(
            f"{commands[1]!r:.60} is neither a command nor NAME=VALUES",
            hint='one command, in quotes: windlass sweep "python train.py --lr {lr}" lr=0.1,0.2',
        )
    return (commands[0] if commands else None), given


def make_sweep(spec: RunSpec, words: tuple[str, ...], own: dict[str, Any]) -> Sweep:
    """[sweep], and on top of it what the command line says: values given there take the place of the file's."""
    line, given = split_words(words)
    base = spec.sweep or Sweep()
    changes = {name: value for name, value in own.items() if value is not None}
    kinds = {"method": Method, "goal": Goal, "sampler": Sampler, "prune": Pruner}
    changes |= {name: kind(changes[name]) for name, kind in kinds.items() if name in changes}
    space = {**(base.space if line is None else {}), **make_space(read_dimensions(given))}
    if "table" in changes and not given:
        space = {}
    return settle(replace(base, **changes, command=line or base.command or spec.command, space=space))


def choose_needs(spec: RunSpec, given: Collection[str]) -> FarmNeeds:
    """A trial is the training of the run file, where [farm] and flags do not say otherwise. given: dotted keys."""
    asked, needs = spec.resources, make_needs(spec.farm)
    if (asked.nodes or 1) > 1:
        raise UsageError(f"a trial has one node, and resources.nodes is {asked.nodes}", hint="--set resources.nodes=1")
    of_the_training: dict[str, Any] = {
        "cpus": asked.cpus,
        "gpus": asked.gpus or asked.gpus_per_node,
        "memory_mb": asked.memory_mb,
        "task_time": asked.time,
    }
    keys = {"memory_mb": "farm.memory", "task_time": "farm.time"}
    taken = {
        name: value
        for name, value in of_the_training.items()
        if value is not None and keys.get(name, f"farm.{name}") not in given
    }
    return replace(needs, **taken)
