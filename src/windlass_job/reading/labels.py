"""The labels of samples: numbers of classes, or a column of numbers, whole or not. One kind for the whole data set."""

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional, Union

    from windlass_job.reading.shards import Selection, Shards

    Source = Union[Shards, Selection]

_LOOKED_AT = 10000  # samples, spread over all


class Labels:
    """rule: the name of a column; None for the classes."""

    def __init__(self, source: "Source", rule: "Optional[str]") -> None:
        self.rule = rule
        self.are_floats = rule is not None and _has_fractions(source, rule)

    def find(self, source: "Source", number: int) -> "Union[int, float]":
        """Of a sample without one -1, or NaN among fractions."""
        if self.rule is None:
            label = source.label(number)
            return -1 if label is None else label
        found = _read(source.columns(number).get(self.rule), self.rule)
        if self.are_floats:
            return math.nan if found is None else float(found)
        if isinstance(found, float):
            raise ValueError(
                "its {} is {}, and those of the {} samples that were looked at are whole numbers: write them all with "
                "a point".format(self.rule, found, _LOOKED_AT)
            )
        return -1 if found is None else found


def _has_fractions(source: "Source", rule: str) -> bool:
    step = max(1, len(source) // _LOOKED_AT)
    return any(
        isinstance(_read(source.columns(number).get(rule), rule), float) for number in range(0, len(source), step)
    )


def _read(value: "Any", rule: str) -> "Union[int, float, None]":
    """Tables hold texts, JSON numbers; an empty cell is none."""
    if value is None or value == "":
        return None
    if isinstance(value, float):
        return value
    try:
        return int(value)
    except (TypeError, ValueError):
        pass
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError("labels are numbers, and the column {} has {!r}".format(rule, value))
