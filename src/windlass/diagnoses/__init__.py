"""Post-mortem rules, by the code a user sees, the most telling first.

A rule is a function: symptoms in, diagnoses out. Its docstring is what `windlass explain CODE` prints.
"""

from collections.abc import Callable, Iterator

from windlass.core.finding import Diagnosis
from windlass.core.symptoms import Symptoms
from windlass.diagnoses import ending, software, waiting

Rule = Callable[[Symptoms], Iterator[Diagnosis]]

DIAGNOSES: dict[str, Rule] = {
    "D001": waiting.waits_in_the_queue,
    "D101": ending.not_submitted,
    "D102": ending.forgotten,
    "D103": ending.cancelled,
    "D201": ending.host_memory,
    "D202": software.gpu_memory,
    "D203": software.no_internet,
    "D204": software.quota,
    "D205": software.module_missing,
    "D206": software.command_missing,
    "D207": software.gpu_too_old_or_new,
    "D208": software.shared_memory,
    "D301": ending.out_of_time,
    "D302": ending.node_failed,
    "D303": ending.preempted,
    "D801": software.python_error,
    "D900": ending.unknown_failure,
}
FALLBACKS = ("D801", "D900")  # only when nothing else fits, in this order


def diagnose(symptoms: Symptoms) -> tuple[Diagnosis, ...]:
    """All that fit; a fallback only when nothing else does."""
    found = tuple(one for code, rule in DIAGNOSES.items() if code not in FALLBACKS for one in rule(symptoms))
    return found or next((told for code in FALLBACKS if (told := tuple(DIAGNOSES[code](symptoms)))), ())
