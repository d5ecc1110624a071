"""Files of a project that say what a conda environment holds: environment.yml, locks, pixi.toml."""

import posixpath
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from windlass.core.credentials import find_credentials, hide_credentials
from windlass.core.environment import ReadFile
from windlass.core.secret_words import find_secrets
from windlass.errors import PlanError

PLACES = ("/", "~", "$")  # with these begins a folder at the site
_SUFFIXES = (".yml", ".yaml", ".lock", ".txt", ".toml")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_EXPLICIT = re.compile(r"^@EXPLICIT\s*$", re.MULTILINE)
# The unified lock of conda-lock: every package has its manager and its platform.
_LOCKED = re.compile(r"^\s*(?:- )?manager: (?:conda|pip)\s*$", re.MULTILINE)
_SUBDIR = re.compile(
    r"/((?:linux|osx|win)-[a-z0-9]+)/[^/\s]+\.(?:conda|tar\.bz2)|^\s*platform: ([a-z]+-[a-z0-9]+)\s*$", re.M
)
_PIP = re.compile(r"^(\s*)-\s*['\"]?pip['\"]?\s*:\s*(?:#.*)?$")
_ITEM = re.compile(r"^(\s*)-\s+(.*?)\s*$")
_INCLUDE = re.compile(r"(?:-r|--requirement|-c|--constraint)[ =]?\s*(?:file:)?([^\s#]+)")
_OF_THE_PROJECT = re.compile(r"(?:-e|--editable)\b.*|\.{1,2}(?:/.*)?(?:\[.*\])?|file:.*|\S+\s*@\s*file:.*")
SUBDIRS = {"x86_64": "linux-64", "aarch64": "linux-aarch64", "ppc64le": "linux-ppc64le"}


class Source(StrEnum):
    """What such a file is; each client reads some of them."""

    YAML = "environment.yml"
    EXPLICIT = "explicit list"  # `conda list --explicit`: addresses, nothing is solved
    LOCK = "conda-lock.yml"
    PIXI = "pixi.toml"


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is built, by a client that knows `source`."""

    source: Source
    file: str  # the first of `files`
    files: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # as they are laid for the client
    environment: str = "default"  # of pixi's
    is_locked: bool = False  # by pixi.lock
    needs_internet: bool = True


def read_wanted(value: str, read: ReadFile, platform: str) -> Wanted | None:
    """None: `conda = VALUE` names an environment that is at the site already."""
    name, _, inner = value.partition(":")
    if value.startswith(PLACES) or not name.endswith(_SUFFIXES):
        _check_name(value)
        return None
    path = posixpath.normpath(name)
    text = read(path)
    if text is None:
        hint = 'conda = "environment.yml" names a file of the project, conda = "NAME" an environment of the site'
        raise PlanError(f"environment.conda: there is no file {name} in the project", hint=hint)
    if posixpath.basename(path) in ("pixi.toml", "pixi.lock", "pyproject.toml"):
        wanted = _read_pixi(path, inner or "default", read)
    else:
        wanted = _read_conda(path, text, read)
    for one, content in wanted.files.items():
        _refuse_secrets(one, content)
    _refuse_other_platform(path, wanted, platform)
    return wanted


def _check_name(value: str) -> None:
    if not value.startswith(PLACES) and not _NAME.fullmatch(value):
        hint = 'a file of the project ("environment.yml"), a folder at the site ("/scratch/env"), or a name ("train")'
        raise PlanError(f"environment.conda = {value[:80]!r} is no name of an environment", hint=hint)


def _read_conda(path: str, text: str, read: ReadFile) -> Wanted:
    if _EXPLICIT.search(text):
        return Wanted(
            source=Source.EXPLICIT, file="explicit.txt", files={"explicit.txt": text}, needs_internet=_is_far(text)
        )
    if _LOCKED.search(text):
        # libmamba knows it by the end of its name
        return Wanted(
            source=Source.LOCK, file="conda-lock.yml", files={"conda-lock.yml": text}, needs_internet=_is_far(text)
        )
    if not path.endswith((".yml", ".yaml")) or not re.search(r"^dependencies\s*:", text, re.MULTILINE):
        hint = "environment.yml has a list `dependencies:`, an explicit list the line @EXPLICIT (conda list --explicit)"
        raise PlanError(f"{path} is neither an environment.yml nor a lock of conda's", hint=hint)
    files = {path: text} | dict(_load_included(path, text, read))
    return Wanted(
        source=Source.YAML, file=path, files=files, needs_internet=bool(_list_pip(text)) or not _is_near(text)
    )


def _load_included(path: str, text: str, read: ReadFile) -> Iterator[tuple[str, str]]:
    """What the pip part of environment.yml reads besides; in a requirements file includes may go on."""
    left = [(path, line, item) for line, item in _list_pip(text)]
    seen = {path}
    while left:
        where, line, item = left.pop(0)
        if _OF_THE_PROJECT.fullmatch(item):
            message = (
                f"{where}:{line}: {hide_credentials(item)!r} is the project's own code, "
                "which is not there when the environment is built"
            )
            raise PlanError(
                message, hint='remove the line, and give runs [run.env] PYTHONPATH = "src": code comes with each run'
            )
        if not (include := _INCLUDE.match(item)) or "://" in include[1]:
            continue
        name = posixpath.normpath(posixpath.join(posixpath.dirname(where), include[1].strip("'\"")))
        if name in seen:
            continue
        seen.add(name)
        content = read(name)
        if content is None:
            raise PlanError(f"{where}:{line} reads {name}, and there is no such file in the project")
        yield name, content
        left += [(name, number, one.strip()) for number, one in enumerate(content.splitlines(), 1)]


def _list_pip(text: str) -> list[tuple[int, str]]:
    """(line, item) of the list below `- pip:`."""
    items: list[tuple[int, str]] = []
    inside: int | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if pip := _PIP.match(line):
            inside = len(pip[1])
        elif inside is not None and line.strip() and not line.lstrip().startswith("#"):
            item = _ITEM.match(line)
            if item is None or len(item[1]) <= inside:
                inside = None
            else:
                items.append((number, re.sub(r"\s+#.*$", "", item[2]).strip("'\"")))
    return items


def _list_channels(text: str) -> list[str]:
    """Of environment.yml, written as a block or in brackets."""
    if short := re.search(r"^channels\s*:\s*\[(.*?)\]", text, re.MULTILINE | re.DOTALL):
        return [one.strip().strip("'\"") for one in short[1].split(",") if one.strip()]
    block = re.search(r"^channels\s*:\s*(?:#.*)?\n((?:[ \t]*(?:-.*|#.*)?\n)*)", text + "\n", re.MULTILINE)
    found = (_ITEM.match(line) for line in block[1].splitlines()) if block else ()
    return [re.sub(r"\s+#.*$", "", one[2]).strip("'\"") for one in found if one]


def _is_near(text: str) -> bool:
    """Every channel is a folder of the site's."""
    channels = [one for one in _list_channels(text) if one != "nodefaults"]
    return bool(channels) and all(one.startswith(("file:", "/")) for one in channels)


def _is_far(text: str) -> bool:
    return re.search(r"\bhttps?://", text) is not None


def _read_pixi(path: str, environment: str, read: ReadFile) -> Wanted:
    folder = posixpath.dirname(path)
    names = ("pixi.toml", "pyproject.toml") if path.endswith("pixi.lock") else (posixpath.basename(path),)
    found = ((name, read(posixpath.join(folder, name))) for name in names)
    manifest, text = next(((name, one) for name, one in found if one is not None), (names[0], None))
    if text is None:
        raise PlanError(f"{path} needs its pixi.toml or pyproject.toml beside it, and there is none in the project")
    table = _read_manifest(manifest, text)
    if not _NAME.fullmatch(environment):
        raise PlanError(f"{environment[:80]!r} is no name of an environment of {manifest}")
    known = {"default", *_get_table(table, "environments")}
    if environment not in known:
        hint = f"it has {', '.join(sorted(known))}"
        raise PlanError(f"{manifest} has no environment {environment!r}", hint=hint)
    files = {manifest: text}
    lock = read(posixpath.join(folder, "pixi.lock"))
    if lock is not None:
        files["pixi.lock"] = lock
    return Wanted(
        source=Source.PIXI,
        file=manifest,
        files=files,
        environment=environment,
        is_locked=lock is not None,
        needs_internet=_is_far(lock) if lock is not None else True,
    )


def _read_manifest(name: str, text: str) -> Mapping[str, Any]:
    try:
        table: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"{name} cannot be read: {error}") from error
    if name == "pyproject.toml":
        table = _get_table(table, "tool").get("pixi")
        if not isinstance(table, dict):
            hint = f'venv = "{name}" builds a virtual environment from it'
            raise PlanError(f"{name} has no [tool.pixi], which conda = {name!r} needs", hint=hint)
    for package, spec in _list_pypi(table):
        if isinstance(spec, dict) and "path" in spec:
            message = (
                f"{name}: {package} = {{ path = {spec['path']!r} }} is the project's own code, which is not there "
            )
            hint = 'leave it out, and give runs [run.env] PYTHONPATH = "src": code comes with each run'
            raise PlanError(message + "when the environment is built", hint=hint)
    return table  # type: ignore[no-any-return]


def _get_table(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = table.get(key)
    return found if isinstance(found, dict) else {}


def _list_pypi(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Of the manifest and of each of its features and targets."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from value.items() if key == "pypi-dependencies" else _list_pypi(value)


def _refuse_secrets(name: str, text: str) -> None:
    """A file of a build lies at the site, and clients print the addresses they ask."""
    lines = [*(one.line for one in find_credentials(text)), *(one.line for one in find_secrets(text))]
    if not lines:
        return
    hint = "keep it at the site, where the client looks for it itself: in ~/.condarc, ~/.netrc or ~/.pip/pip.conf"
    raise PlanError(
        f"{name}:{min(lines)} holds a token or password, which would be copied to the site with the file",
        hint=hint,
        done="nothing was sent",
    )


def _refuse_other_platform(path: str, wanted: Wanted, platform: str) -> None:
    """A lock is for the platforms it was made for."""
    needed = SUBDIRS.get(platform)
    if needed is None:
        return
    if wanted.source is Source.PIXI:
        table = _read_manifest(wanted.file, wanted.files[wanted.file])
        listed = (_get_table(table, "workspace") or _get_table(table, "project")).get("platforms")
        found = {one for one in listed if isinstance(one, str)} if isinstance(listed, list) else set()
    elif wanted.source in (Source.EXPLICIT, Source.LOCK):
        found = {first or second for first, second in _SUBDIR.findall(wanted.files[wanted.file])}
    else:
        found = set()
    if found and needed not in found:
        hint = f"make it for {needed} too: conda-lock -p {needed}; of pixi: pixi workspace platform add {needed}"
        raise PlanError(f"{path} is for {', '.join(sorted(found))}, and the nodes are {platform} ({needed})", hint=hint)
