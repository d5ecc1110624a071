"""In which storage area of a site a path lies, as far as its name tells."""

import re
from collections.abc import Iterator

from windlass.core.facts import Facts, SeenQuota
from windlass.core.site import Area, Site

_BRACED = re.compile(r"\$\{(\w+)\}")
_USER = re.compile(r"\$USER\b")
_WORD = re.compile(r"[^\s'\"=:;,()<>|&`]+")


def find_area(path: str, site: Site, facts: Facts) -> Area | None:
    """The innermost one that holds the path."""
    full = fill_in(path, facts)
    holding = [
        (len(folder), area)
        for area in site.storage
        for folder in _list_folders(area, site, facts)
        if is_under(full, folder)
    ]
    return max(holding, key=lambda one: one[0], default=(0, None))[1]


def find_quota(area: Area | None, path: str, facts: Facts) -> SeenQuota | None:
    """What is used where the path lies: by the area's name, else by the innermost folder told of."""
    named = next((one for one in facts.quotas or () if area is not None and one.area == area.name), None)
    holding = [one for one in facts.quotas or () if is_under(fill_in(path, facts), one.path)]
    return named or max(holding, key=lambda one: len(one.path), default=None)


def is_in_home(path: str, facts: Facts) -> bool:
    full = fill_in(path, facts)
    return is_under(full, "$HOME") or (facts.home is not None and is_under(full, facts.home))


def is_under(path: str, folder: str) -> bool:
    folder = folder.rstrip("/")
    return bool(folder) and (path == folder or path.startswith(f"{folder}/"))


def fill_in(path: str, facts: Facts) -> str:
    """`~`, `$HOME` and `$USER` by what was seen; `${X}` as `$X`."""
    path = _BRACED.sub(r"$\1", path.strip())
    if facts.user:
        path = _USER.sub(lambda _: facts.user or "", path)
    if path == "~" or path.startswith("~/"):
        path = f"$HOME{path[1:]}"
    if facts.home is not None and is_under(path, "$HOME"):
        path = facts.home.rstrip("/") + path.removeprefix("$HOME")
    return path


def list_paths(text: str) -> Iterator[str]:
    """What looks like an absolute path in a line of shell: `/x/y`, `~/x`, `$SCRATCH/x`."""
    for word in _WORD.findall(text):
        if re.match(r"(?:/\w|~/|\$\{?[A-Z_]+\}?(?:/|$))", word):
            yield word


def _list_folders(area: Area, site: Site, facts: Facts) -> Iterator[str]:
    """As the file writes it, as a quota command told it, and as the site's root shows it."""
    written = fill_in(area.path, facts)
    yield written
    if area.name == "home":
        yield fill_in("$HOME", facts)
    yield from (one.path for one in facts.quotas or () if one.area == area.name)
    root = fill_in(site.root, facts)
    if facts.root is not None and is_under(root, written):
        rest = root.removeprefix(written.rstrip("/"))
        if facts.root.endswith(rest):
            yield facts.root.removesuffix(rest)
