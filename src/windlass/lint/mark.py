"""What a rule says about one place of a script, and how the place would be mended."""

from dataclasses import dataclass

from windlass.core.finding import Severity


@dataclass(frozen=True, kw_only=True)
class Edit:
    """Letters `start` to `end` of the file become `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Mark:
    severity: Severity
    message: str
    line: int = 1
    column: int = 1
    length: int = 1
    hint: str | None = None
    fix: tuple[Edit, ...] = ()  # only what is certainly meant
    code: str = ""  # filled in from the catalogue
    why: str = ""  # the first line of the rule's docstring
