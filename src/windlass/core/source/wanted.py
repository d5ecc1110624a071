"""Which versions of a package a run gets: by the very list that its environment is built from, where there is one."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from windlass.core.case import Case
from windlass.core.environment import Recipe
from windlass.core.run import Wheels
from windlass.core.source.pins import (
    CONDA_LOCKS,
    Pin,
    find_other_index,
    find_pins,
    make_pin,
    normal_name,
    read_conda_files,
    read_index,
)

if TYPE_CHECKING:  # it needs a library that costs the start of every command
    from windlass.core.wheels.requirements import Line, Requirements

# Where nobody knows yet which it will be, only what holds for all of them counts.
_PYTHONS = tuple(f"3.{minor}" for minor in range(6, 16))
_INDEXES = ("index-url", "extra-index-url", "find-links")
_MACHINES = ("x86_64", "aarch64", "ppc64le")


def find_wanted(case: Case, names: tuple[str, ...], machine: str | None = None) -> tuple[Pin, ...]:
    """The first counts. Empty: it is not asked for, or that depends on what is not known.

    machine: of the nodes; None: not known.
    """
    recipe = find_listed(case)
    if recipe is None:
        wanted = case.spec.environment
        return find_pins(case.code, names, first=wanted.venv or wanted.conda)
    known = {normal_name(name) for name in names}
    if recipe.read_private is None:
        return _find_in_conda(recipe.files, known)
    found = recipe.read_private()
    if takes_wheels_of_the_house(case):
        found = replace(found, options=())  # no index is asked
    return _find_in_list(found, known, _list_pythons(case), (machine,) if machine else _MACHINES)


def find_listed(case: Case) -> Recipe | None:
    """What is built from a list. None: the run takes what is there, and files of the project only hint at that."""
    seen = case.environment
    if seen is None or (seen.is_left_out and seen.is_asked):  # on one's own machine what one is in comes along
        return None
    is_read = seen.recipe.read_private is not None or case.spec.environment.conda is not None
    return seen.recipe if seen.recipe.files and is_read else None


def takes_wheels_of_the_house(case: Case) -> bool:
    """Those were built by the centre for its own GPUs and nodes: no table of ours knows them."""
    if case.site.software.wheelhouse is None:
        return False
    return find_listed(case) is None or case.spec.environment.wheels in (Wheels.AUTO, Wheels.WHEELHOUSE)


def _find_in_conda(files: Mapping[str, str], names: set[str]) -> tuple[Pin, ...]:
    """A lock may hold several environments: only what all of them say is known."""
    found = tuple(pin for pin in read_conda_files(files) if pin.name in names)
    is_locked = not CONDA_LOCKS.isdisjoint(files)
    return () if is_locked and len({(pin.specifiers, pin.build) for pin in found}) > 1 else found


def _find_in_list(
    found: "Requirements", names: set[str], pythons: Iterable[str], machines: Iterable[str]
) -> tuple[Pin, ...]:
    """One that has all that its lines and constraints say together, as pip takes it."""
    from windlass.core.wheels.platform import make_markers, make_platform
    from windlass.core.wheels.requirements import holds

    places = [make_markers(make_platform(python, machine, None)) for python in pythons for machine in machines]

    def choose(lines: "tuple[Line, ...]") -> "list[Line] | None":
        """None: nobody knows yet whether they count."""
        chosen = []
        for line in (one for one in lines if one.name in names):
            answers = {holds(line.requirement, markers) for markers in places}
            if len(answers) > 1:
                return None
            chosen += [line] if True in answers else []
        return chosen

    lines, constraints = choose(found.lines), choose(found.constraints)
    if not lines or constraints is None or any(line.requirement.url for line in lines):
        return ()
    specifiers = ",".join(str(one.requirement.specifier) for one in (*lines, *constraints) if one.requirement.specifier)
    addresses = [one.value for one in found.options if one.name in _INDEXES]
    pin = make_pin(lines[0].where, f"{lines[0].requirement.name}{specifiers}", build=read_index(addresses))
    return (replace(pin, other_index=find_other_index(addresses)),)


def _list_pythons(case: Case) -> tuple[str, ...]:
    seen = case.environment
    built = seen.built if seen is not None else None
    known = (built.python if built else None) or case.spec.environment.python or (seen.python if seen else None)
    return (known,) if known else _PYTHONS
