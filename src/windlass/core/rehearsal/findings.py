"""What would have failed, by the code a user sees. A rule is a function: the evidence in, findings out.

The docstring of a rule is what `windlass explain CODE` prints.
"""

from collections.abc import Callable, Iterator, Sequence

from windlass.core.finding import Finding, Severity
from windlass.core.rehearsal import links, surroundings
from windlass.core.rehearsal.evidence import Evidence

Rule = Callable[[Evidence], Iterator[Finding]]

REHEARSED: dict[str, Rule] = {
    "R101": surroundings.slurm_would_refuse,
    "R102": links.link_breaks_down,
    "R103": surroundings.asks_for_the_internet,
    "R104": surroundings.writes_where_it_may_not,
    "R105": links.does_not_stop_when_asked,
    "R106": links.saves_nothing,
    "R107": links.begins_again_from_zero,
    "R108": links.saving_takes_too_long,
    "R109": surroundings.writes_outside_the_run_folder,
    "R110": surroundings.writes_more_than_the_quota,
    "R111": surroundings.memory_against_the_plan,
    "R112": surroundings.no_gpu_here,
    "R113": surroundings.could_not_be_checked,
    "R114": links.not_seen_to_the_end,
    "R115": surroundings.looks_for_files_of_the_laptop,
}
_ORDER = tuple(Severity)
_CAUSES = ("R103", "R104", "R115")  # each says why a link broke down: that it did need not be said


def judge(evidence: Evidence, checked: Sequence[Finding]) -> tuple[Finding, ...]:
    """What the checks said before and what the rehearsal showed, the worst first."""
    seen = [one for rule in REHEARSED.values() for one in rule(evidence)]
    if any(one.code in _CAUSES and one.severity is Severity.ERROR for one in seen):
        seen = [one for one in seen if one.code != "R102"]
    found = [*checked, *seen]
    return tuple(sorted(dict.fromkeys(found), key=lambda one: _ORDER.index(one.severity)))
