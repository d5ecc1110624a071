"""What Windlass uses only where it is asked for (`optuna`, `textual`): the command that brings such an extra."""

from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from windlass.core.shell import quote_all

if TYPE_CHECKING:
    from packaging.requirements import Requirement

PROJECT = "windlass"
CONSTRAINTS = "constraints.txt"


def make_checkout_arguments(checkout: PurePath, extra: str, *, is_constrained: bool) -> tuple[str, ...]:
    """For pip, in an editable checkout. Never the bare name: on the package index it is another project's."""
    constraints = ("-c", str(checkout / CONSTRAINTS)) if is_constrained else ()
    return (*constraints, "-e", f"{checkout}[{extra}]")


def list_requirements(lines: Iterable[str], extra: str) -> tuple[str, ...]:
    """Those of one extra, of the `Requires-Dist` of a wheel."""
    from packaging.requirements import Requirement

    return tuple(f"{one.name}{one.specifier}" for one in map(Requirement, lines) if _is_of(one, extra))


def format_install(python: str, arguments: Sequence[str], *, has_pip: bool) -> str:
    """A virtual environment of uv's has no pip."""
    start = (python, "-m", "pip", "install") if has_pip else ("uv", "pip", "install", "--python", python)
    return quote_all((*start, *arguments))


def _is_of(requirement: "Requirement", extra: str) -> bool:
    marker = requirement.marker
    return marker is not None and marker.evaluate({"extra": extra}) and not marker.evaluate({"extra": ""})
