"""What a project asks for: requirements.txt with all that it includes, pyproject.toml, uv.lock; as one flat list."""

import posixpath
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from packaging.requirements import InvalidRequirement, Requirement

from windlass.core.credentials import find_credentials, hide_credentials
from windlass.core.shell import quote
from windlass.core.wheels.names import normal_name
from windlass.core.wheels.platform import Platform, make_markers
from windlass.core.wheels.python_needed import PythonNeeded
from windlass.errors import RequirementsInvalid

ReadFile = Callable[[str], str | None]  # the text of a file of the project; None: there is none

_FILE = re.compile(r"(?P<path>[^\[\]]*?(?P<base>[^/\[\]]+))(?:\[(?P<extras>[^\[\]]*)\])?")
_PLACES = ("/", "~", "$", "file:")  # with these begins what is no folder of the project
_COMMIT = re.compile(r"@[0-9a-f]{40}(?:#.*)?$|#.*sha256=|\.whl(?:#.*)?$")
_HASH = re.compile(r" \\\n    --hash=[a-z0-9]+:[0-9a-fA-F]+")


@dataclass(frozen=True, kw_only=True)
class Line:
    """One requirement, where it stands."""

    requirement: Requirement
    where: str  # "requirements.txt:3"
    hashes: tuple[str, ...] = ()  # "sha256:..."

    @property
    def name(self) -> str:
        return normal_name(self.requirement.name)

    def __str__(self) -> str:
        return str(self.requirement)


@dataclass(frozen=True, kw_only=True)
class Option:
    """A line about where packages come from: the name of the option without dashes, and its value."""

    name: str  # "index-url", "extra-index-url", "find-links", "no-index", "pre", ...
    value: str = ""
    where: str = ""

    @property
    def has_credentials(self) -> bool:
        """Written out; `${TOKEN}` is filled in by pip and uv themselves, where they run."""
        return bool(find_credentials(self.value))

    def __str__(self) -> str:
        return f"--{self.name} {hide_credentials(self.value)}".rstrip()


@dataclass(frozen=True, kw_only=True)
class Requirements:
    """All of them, flat."""

    file: str
    lines: tuple[Line, ...] = ()
    constraints: tuple[Line, ...] = ()
    options: tuple[Option, ...] = ()
    python: PythonNeeded | None = None  # requires-python
    told: tuple[str, ...] = ()  # what was left out, and why


def is_requirements(name: str) -> bool:
    """Whether a `venv` names a file that lists packages; False: a folder at the site."""
    match = _FILE.fullmatch(name)
    return match is not None and _find_reader(match["base"]) is not None


def read_requirements(name: str, read: ReadFile, *, with_addresses: bool = False) -> Requirements:
    """name: as in [environment] venv: a file, with extras or groups behind it as in pyproject.toml[train].

    with_addresses: git repositories and files on the web may be asked for; else they are refused.
    """
    match = _FILE.fullmatch(name.strip())
    reader = _find_reader(match["base"]) if match else None
    if match is None or reader is None:
        raise RequirementsInvalid(
            f"{name!r} is no list of packages that Windlass reads",
            hint='venv = "requirements.txt", "pyproject.toml", "pyproject.toml[train]" or "uv.lock"',
        )
    path, extras = match["path"], _split_extras(match["extras"])
    text = read(path)
    if text is None:
        raise RequirementsInvalid(
            f"there is no file {path} in the project, or it cannot be read as text",
            hint=f"pip freeze > {quote(path)}" if path.endswith(".txt") else None,
        )
    found = replace(reader(path, text, extras, read), file=name)
    return _settle_addresses(found, is_admitted=with_addresses)


def _settle_addresses(found: Requirements, *, is_admitted: bool) -> Requirements:
    from windlass.core.wheels.texts import refuse_address, refuse_local

    told = list(found.told)
    for line in (*found.lines, *found.constraints):
        url = line.requirement.url
        if url is None:
            continue
        if url.startswith("file:"):
            raise refuse_local(str(line), line.where)
        if not is_admitted or find_credentials(url):
            raise refuse_address(line.name, url, line.where, has_secret=is_admitted)
        if not _COMMIT.search(url) and not line.hashes:
            told.append(f"{line.where}: {line.name} is not pinned: it is what {url} gives on that day")
    return replace(found, told=tuple(dict.fromkeys(told)))


def is_of_project(option: Option) -> bool:
    """A folder of the project's, by its path in there."""
    return option.name == "find-links" and not option.value.startswith(_PLACES) and "://" not in option.value


def place_links(found: Requirements, project: str) -> Requirements:
    """With the folders of wheels in the project as they lie on this laptop."""
    options = (
        replace(one, value=posixpath.join(project, one.value)) if is_of_project(one) else one for one in found.options
    )
    return replace(found, options=tuple(options))


def join_link(path: str, value: str) -> str:
    """As pip reads it: beside the file that names it."""
    if value.startswith(_PLACES) or "://" in value:
        return value
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), value))


def make_line(text: str, where: str, hashes: tuple[str, ...] = ()) -> Line:
    """Or an error for people."""
    try:
        found = Requirement(text)
        if not str(found).isprintable():  # an address may hold a line break, and pip reads what we write by lines
            raise InvalidRequirement("it has a line break or another sign that cannot be shown")
        return Line(requirement=found, where=where, hashes=hashes)
    except (InvalidRequirement, RecursionError) as problem:
        first = str(problem).splitlines()[0]
        raise RequirementsInvalid(
            f"{where}: {hide_credentials(text)!r} is no requirement: {hide_credentials(first)}",
            hint='as in "numpy==1.26.4" or "torch>=2.1,<2.5"',
        ) from None


def list_for(lines: Iterable[Line], platform: Platform) -> tuple[Line, ...]:
    """Those whose markers hold there."""
    markers = make_markers(platform)
    return tuple(line for line in lines if holds(line.requirement, markers))


def holds(requirement: Requirement, markers: dict[str, str], extra: str = "") -> bool:
    """markers: of `make_markers`."""
    from packaging.markers import UndefinedComparison, UndefinedEnvironmentName

    if requirement.marker is None:
        return True
    try:
        return requirement.marker.evaluate({**markers, "extra": extra})
    except (UndefinedComparison, UndefinedEnvironmentName):  # it says nothing that can be compared: pip takes it too
        return True


def format_requirements(found: Requirements, *, with_indexes: bool = False) -> str:
    """One flat file for pip at the site. Where packages come from is left out, or told without credentials."""
    lines = [_format_option(one) for one in found.options if with_indexes or not _is_about_indexes(one)]
    return "".join(f"{line}\n" for line in (*lines, *map(format_line, found.lines)))


def strip_hashes(text: str) -> str:
    """Of what `format_requirements` made: the wheels of a site are other builds than those of an index."""
    return _HASH.sub("", text)


def format_constraints(found: Requirements) -> str:
    """Empty where there are none."""
    return "".join(f"{format_line(line)}\n" for line in found.constraints)


def format_for_laptop(found: Requirements) -> str:
    """The same with all that is known of indexes, credentials too: for pip on the laptop, and no other eyes."""
    forms = ("no-binary", "only-binary", "prefer-binary")  # here only wheels are taken
    lines = [f"--{one.name} {one.value}".rstrip() for one in found.options if one.name not in forms]
    return "".join(f"{line}\n" for line in (*lines, *map(format_line, found.lines)))


def format_line(line: Line) -> str:
    return " \\\n    ".join((str(line.requirement), *(f"--hash={one}" for one in line.hashes)))


def _is_about_indexes(option: Option) -> bool:
    return option.name not in ("pre", "no-binary", "only-binary", "prefer-binary")


def _format_option(option: Option) -> str:
    if option.has_credentials:
        raise RequirementsInvalid(
            f"{option.where}: {option} has credentials, and those are not sent to a site",
            hint="write ${INDEX_USER}:${INDEX_TOKEN} there, and export both where pip runs: in the login shell of the "
            'site, or here with wheels = "laptop" in [environment]',
        )
    return f"--{option.name} {option.value}".rstrip()


def _split_extras(text: str | None) -> tuple[str, ...]:
    return tuple(word for part in (text or "").split(",") if (word := part.strip()))


Reader = Callable[[str, str, tuple[str, ...], ReadFile], Requirements]


def _find_reader(base: str) -> Reader | None:
    from windlass.core.wheels.projects import read_project
    from windlass.core.wheels.texts import read_text
    from windlass.core.wheels.uv_locks import read_uv_lock

    if base == "pyproject.toml":
        return read_project
    if base == "uv.lock":
        return read_uv_lock
    return read_text if base.endswith((".txt", ".in", ".lock")) else None
