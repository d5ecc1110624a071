"""Whether sbatch can read a moment of `--begin` or `--deadline`; which moment it is does not matter here."""

import re

_CLOCK = r"(?:(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?(?:\s*[ap]m)?|midnight|noon|fika|teatime)"
_DATE = (
    r"(?:\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
    r"|(?:0[1-9]|1[0-2])/(?:0[1-9]|[12]\d|3[01])(?:/\d{2})?"
    r"|(?:0[1-9]|[12]\d|3[01])\.(?:0[1-9]|1[0-2])(?:\.\d{2})?"
    r"|(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:\d{2})?"
    r"|today|tomorrow)"
)
_MOMENT = re.compile(
    rf"(?:now(?:\s*[+-]\s*\d+(?:seconds?|minutes?|hours?|days?|weeks?)?)?|{_CLOCK}|{_DATE}(?:[t\s]\s*{_CLOCK})?)",
    re.IGNORECASE,
)


def is_moment(text: str) -> bool:
    return _MOMENT.fullmatch(text.strip()) is not None
