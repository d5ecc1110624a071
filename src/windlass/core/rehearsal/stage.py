"""What a site looks like from inside its jobs, as far as its file and the last look tell: folders and variables."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from windlass.core.facts import Facts
from windlass.core.seen.areas import is_under
from windlass.core.site import Site

_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
HOME = "home"


@dataclass(frozen=True, kw_only=True)
class Folder:
    """A storage area as jobs see it."""

    name: str
    path: str
    in_jobs: bool = True
    may_write: bool = True
    quota_gb: float | None = None
    quota_files: int | None = None


def make_folders(site: Site, facts: Facts, user: str) -> tuple[Folder, ...]:
    """Every storage area, and home where the file does not name it."""
    variables = _make_known(site, facts, user)
    found = [
        Folder(
            name=area.name,
            path=fill_in(_place(area.name, area.path, variables, user), variables),
            in_jobs=area.in_jobs,
            may_write=area.name != HOME or site.rules.jobs_from_home,
            quota_gb=area.quota_gb,
            quota_files=area.quota_files,
        )
        for area in site.storage
    ]
    if not any(one.name == HOME for one in found):
        found.append(Folder(name=HOME, path=variables["HOME"], may_write=site.rules.jobs_from_home))
    return tuple(found)


def make_variables(folders: tuple[Folder, ...], site: Site, facts: Facts, user: str) -> dict[str, str]:
    """HOME, and each area by its name in capitals: SCRATCH, PROJECT, WORK …"""
    named = {one.name.upper().replace("-", "_"): one.path for one in folders}
    return {**named, **_make_known(site, facts, user)}


def make_root(site: Site, facts: Facts, variables: Mapping[str, str]) -> str:
    """Where run folders lie, with every variable filled in; one that nobody knows becomes a folder of its name."""
    if facts.root is not None:
        return facts.root
    filled = fill_in(site.root, variables)
    return _VARIABLE.sub(lambda found: f"/{found[1].lower()}", filled)


def fill_in(text: str, variables: Mapping[str, str]) -> str:
    """`$NAME` and `${NAME}` by what is known; the others stay."""
    if text == "~" or text.startswith("~/"):
        text = f"$HOME{text[1:]}"
    return _VARIABLE.sub(lambda found: variables.get(found[1], found[0]), text)


def find_folder(path: str, folders: tuple[Folder, ...]) -> Folder | None:
    """The innermost one that holds the path."""
    holding = [one for one in folders if is_under(path, one.path)]
    return max(holding, key=lambda one: len(one.path), default=None)


def _make_known(site: Site, facts: Facts, user: str) -> dict[str, str]:
    """HOME and USER; and the variable with which the root begins, where the filled-in root was seen."""
    user = facts.user or user
    written = next((one.path for one in site.storage if one.name == HOME and "$HOME" not in one.path), None)
    home = fill_in(written or "/home", {"USER": user})
    known = {"USER": user, "HOME": facts.home or (home if home.endswith(f"/{user}") else f"{home}/{user}")}
    begin = _VARIABLE.match(site.root)
    if begin and facts.root is not None and begin[1] not in known:
        rest = fill_in(site.root[begin.end() :], known)
        if rest and facts.root.endswith(rest):
            known[begin[1]] = facts.root.removesuffix(rest)
    for area in site.storage:
        variable = area.name.upper().replace("-", "_")
        known.setdefault(variable, fill_in(_place(area.name, area.path, known, user), known))
    return known


def _place(name: str, path: str, known: Mapping[str, str], user: str) -> str:
    """`path = "$SCRATCH"` says nothing about where: then it is /scratch/USER here."""
    begin = _VARIABLE.match(path)
    if begin is None or begin[1] in known:
        return path
    return f"/{name}/{user}{path[begin.end() :]}"
