"""Advice on what a run asked for and did not use, by the code a user sees.

A rule is a function: usage in, advice out. Its docstring is what `windlass explain CODE` prints, headroom included.
Two laws: no advice on little evidence (`Usage.is_enough`), and none that would break the run. What a later part of a
training may still need, memory and time, is judged only of a run that got done; what Windlass chose itself, as the fair
share of the GPUs, is left alone.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from windlass.advice import asked, data, gpus
from windlass.core.efficiency.usage import Usage
from windlass.core.finding import Advice

Rule = Callable[[Usage], Iterator[Advice]]

ADVICE: dict[str, Rule] = {
    "A101": asked.memory_far_above_use,
    "A102": asked.time_far_above_use,
    "A103": asked.cpus_far_above_use,
    "A201": gpus.some_gpus_idle,
    "A202": gpus.no_gpu_used,
    "A203": gpus.one_core_feeds_gpus,
    "A204": gpus.little_gpu_memory,
    "A205": gpus.idle_nodes,
    "A301": data.waits_for_data,
    "A302": data.many_small_requests,
}
# The first of each line says it all: what it says is the cause of what the others would.
_OVERRIDES = {"A202": ("A203", "A204"), "A205": ("A201", "A203"), "A301": ("A203",)}


def advise(usage: Usage) -> tuple[Advice, ...]:
    """In the order of the catalogue; of a run that still runs it is so up to now."""
    if not usage.is_enough:
        return ()
    found = [one for rule in ADVICE.values() for one in rule(usage)]
    silenced = {code for one in found for code in _OVERRIDES.get(one.code, ())}
    is_early = not usage.record.state.is_final
    return tuple(replace(one, is_early=is_early) for one in found if one.code not in silenced)
