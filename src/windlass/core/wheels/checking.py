"""Whether a wheelhouse has all that is asked for: which wheel each requirement gets, what is missing, what instead."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from windlass.core.wheels.house import House, filter_versions, pick_wheel
from windlass.core.wheels.names import Wheel, normal_name
from windlass.core.wheels.platform import Platform, make_interpreter, make_markers
from windlass.core.wheels.requirements import Requirements, holds

_MOST_ROUNDS = 60
_MOST_STEPS_BACK = 200

Metadata = Mapping[str, tuple[str, ...]]  # path of a wheel, and its lines Requires-Dist


class State(StrEnum):
    TAKEN = "taken"
    INSTALLED = "installed"  # a module brings it
    MISSING = "missing"  # no wheel of that name
    OTHER_VERSION = "other version"
    OTHER_PYTHON = "other python"
    OTHER_PLATFORM = "other platform"  # another processor, or a newer C library
    CONFLICT = "conflict"  # each of those who ask could be served, but not all


@dataclass(frozen=True, kw_only=True)
class Need:
    """Somebody asks for a package."""

    requirement: Requirement
    by: str  # "requirements.txt:3", "torch 2.1.2"
    parent: str | None = None  # the name of the package that asks


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One package, and what becomes of it."""

    name: str
    wanted: tuple[str, ...]  # as they were written
    by: tuple[str, ...]
    state: State
    version: str | None = None
    wheel: str | None = None  # the file that would be taken
    path: str | None = None
    is_dependency: bool = False
    there: tuple[str, ...] = ()  # what is there instead
    fix: str | None = None

    @property
    def is_well(self) -> bool:
        return self.state in (State.TAKEN, State.INSTALLED)


@dataclass(frozen=True, kw_only=True)
class Report:
    entries: tuple[Entry, ...]
    unread: tuple[str, ...] = ()  # paths of wheels whose dependencies are not known yet

    @property
    def missing(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if not entry.is_well)


@dataclass(frozen=True, kw_only=True)
class _Question:
    wanted: Requirements
    house: House
    platform: Platform
    metadata: Metadata
    refused: frozenset[Wheel] = frozenset()  # tried before: what they need is not there
    markers: dict[str, str] = field(default_factory=dict)

    def list_candidates(self, name: str) -> tuple[Wheel, ...]:
        return tuple(one for one in self.house.by_name.get(name, ()) if one not in self.refused)


@dataclass(frozen=True, kw_only=True)
class _Answer:
    needs: Mapping[str, tuple[Need, ...]]
    picks: Mapping[str, Wheel | str | None]  # a text: the version that is there without a wheel


def check_house(wanted: Requirements, house: House, platform: Platform, metadata: Metadata) -> Report:
    """With what is known so far: ask for the metadata of `unread`, then once more.

    Like pip, an older version of a package is tried where what the newest needs is not there.
    """
    markers = make_markers(platform)
    first: tuple[_Question, _Answer] | None = None
    refused: frozenset[Wheel] = frozenset()
    for _ in range(_MOST_STEPS_BACK):
        question = _Question(
            wanted=wanted, house=house, platform=platform, metadata=metadata, refused=refused, markers=markers
        )
        answer = _settle(question)
        first = first or (question, answer)
        if _list_unread(question, answer):
            return _make_report(question, answer)
        back = _find_step_back(question, answer)
        if back is None:
            is_well = all(one is not None for one in answer.picks.values())
            return _make_report(question, answer) if is_well else _make_report(*first)
        refused |= {back}
    return _make_report(*first) if first else Report(entries=())


def _settle(question: _Question) -> _Answer:
    """Choose for what is asked, see what the chosen ask for, until nothing changes."""
    needs = _gather(_list_roots(question))
    picks: dict[str, Wheel | str | None] = {}
    for _ in range(_MOST_ROUNDS):
        picks = {name: _choose(question, name, some) for name, some in needs.items()}
        further = _gather([*_list_roots(question), *_list_dependencies(question, picks, needs)])
        if further == needs:
            break
        needs = further
    return _Answer(needs=needs, picks={name: picks.get(name) for name in needs})


def _list_roots(question: _Question) -> list[Need]:
    lines = question.wanted.lines
    return [
        Need(requirement=line.requirement, by=line.where) for line in lines if holds(line.requirement, question.markers)
    ]


def _gather(needs: list[Need]) -> dict[str, tuple[Need, ...]]:
    found: dict[str, list[Need]] = {}
    for need in needs:
        found.setdefault(normal_name(need.requirement.name), []).append(need)
    return {name: tuple(dict.fromkeys(some)) for name, some in found.items()}


def _choose(question: _Question, name: str, needs: tuple[Need, ...]) -> Wheel | str | None:
    specifiers = _list_specifiers(question, name, needs)
    installed = question.house.find_installed(name, specifiers)
    if installed is not None:
        return installed
    return pick_wheel(question.list_candidates(name), specifiers, question.platform)


def _list_specifiers(question: _Question, name: str, needs: tuple[Need, ...]) -> list[SpecifierSet]:
    """Of all who ask, and of the constraints."""
    bounds = [
        line.requirement.specifier
        for line in question.wanted.constraints
        if line.name == name and holds(line.requirement, question.markers)
    ]
    return [*(need.requirement.specifier for need in needs), *bounds]


def _list_dependencies(
    question: _Question, picks: Mapping[str, Wheel | str | None], needs: Mapping[str, tuple[Need, ...]]
) -> Iterator[Need]:
    for name, pick in picks.items():
        if not isinstance(pick, Wheel):
            continue
        extras = {extra for need in needs[name] for extra in need.requirement.extras} | {""}
        for text in question.metadata.get(pick.path, ()):
            try:
                requirement = Requirement(text)
            except InvalidRequirement:  # pip passes over such a line of an old wheel as well
                continue
            if any(holds(requirement, question.markers, extra) for extra in sorted(extras)):
                yield Need(requirement=requirement, by=f"{name} {pick.version}", parent=name)


def _list_unread(question: _Question, answer: _Answer) -> tuple[str, ...]:
    wheels = [pick for pick in answer.picks.values() if isinstance(pick, Wheel) and pick.file]
    return tuple(wheel.path for wheel in wheels if wheel.path not in question.metadata)


def _find_step_back(question: _Question, answer: _Answer) -> Wheel | None:
    """A chosen wheel whose needs cannot be met, where another version of it could be taken in its place."""
    for name, pick in answer.picks.items():
        if pick is not None:
            continue
        for need in answer.needs[name]:
            parent = answer.picks.get(need.parent or "")
            if not isinstance(parent, Wheel):
                continue
            specifiers = _list_specifiers(question, parent.name, answer.needs[parent.name])
            others = [one for one in question.list_candidates(parent.name) if one != parent]
            if pick_wheel(others, specifiers, question.platform):
                return parent
    return None


def _make_report(question: _Question, answer: _Answer) -> Report:
    entries = [_make_entry(question, answer, name) for name in answer.needs]
    entries.sort(key=lambda one: (one.is_dependency, one.name))
    return Report(entries=tuple(entries), unread=_list_unread(question, answer))


def _make_entry(question: _Question, answer: _Answer, name: str) -> Entry:
    from windlass.core.wheels.advice import advise

    needs, pick = answer.needs[name], answer.picks[name]
    base = Entry(
        name=name,
        wanted=tuple(dict.fromkeys(_format_wanted(need.requirement) for need in needs)),
        by=tuple(dict.fromkeys(need.by for need in needs)),
        state=State.MISSING,
        is_dependency=all(need.parent for need in needs),
    )
    if isinstance(pick, Wheel):
        return replace(base, state=State.TAKEN, version=str(pick.version), wheel=pick.file or None, path=pick.path)
    if pick is not None:
        return replace(base, state=State.INSTALLED, version=pick)
    specifiers = _list_specifiers(question, name, needs)
    state = find_state(question.house.by_name.get(name, ()), specifiers, question.platform)
    there, fix = advise(base, state, question.house, specifiers, question.platform)
    return replace(base, state=state, there=there, fix=fix)


def find_state(wheels: tuple[Wheel, ...], specifiers: list[SpecifierSet], platform: Platform) -> State:
    """Why none of these can be taken."""
    if not wheels:
        return State.MISSING
    allowed = filter_versions({one.version for one in wheels}, specifiers)
    right = [one for one in wheels if one.version in allowed]
    if not right:
        fitting: set[Version] = {one.version for one in wheels if one.find_place(platform) is not None}
        each = [filter_versions(fitting, [one]) for one in specifiers]
        return State.CONFLICT if len(specifiers) > 1 and all(each) else State.OTHER_VERSION
    python = make_interpreter(platform.python)
    is_for_us = any({python, f"py{platform.python[0]}", "py2.py3"} & one.pythons or _is_stable(one) for one in right)
    return State.OTHER_PLATFORM if is_for_us else State.OTHER_PYTHON


def _is_stable(wheel: Wheel) -> bool:
    return any("-abi3-" in tag for tag in wheel.tags)


def _format_wanted(requirement: Requirement) -> str:
    """Without its marker, which holds."""
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    return f"{requirement.name}{extras}{requirement.specifier}"
