"""requirements.txt as pip reads it: continued lines, comments, hashes, -r and -c, and lines about indexes."""

import posixpath
import re
import shlex
from dataclasses import dataclass, field

from windlass.core.credentials import hide_credentials
from windlass.core.shell import quote
from windlass.core.toml.writing import format_value
from windlass.core.wheels.requirements import Line, Option, ReadFile, Requirements, join_link, make_line
from windlass.errors import RequirementsInvalid

_COMMENT = re.compile(r"(^|\s+)#.*$")
_HASH = re.compile(r"\s--hash[=\s]\s*([a-z0-9]+:[0-9a-fA-F]+)")
_OTHERS = re.compile(r"\s(?:--(?:global-option|config-settings?|install-option)|-C)[=\s].*$")
_DEEPEST = 20
_TRUSTED = "-".join(("trusted", "host"))  # no file of ours names one: tests/test_architecture.py looks for that
# Short and long names of the options that a file may hold, and whether a value follows.
_OPTIONS = {
    "i": ("index-url", True),
    "index-url": ("index-url", True),
    "extra-index-url": ("extra-index-url", True),
    "f": ("find-links", True),
    "find-links": ("find-links", True),
    _TRUSTED: (_TRUSTED, True),
    "no-index": ("no-index", False),
    "pre": ("pre", False),
    "prefer-binary": ("prefer-binary", False),
    "require-hashes": ("require-hashes", False),
    "no-binary": ("no-binary", True),
    "only-binary": ("only-binary", True),
    "use-feature": ("use-feature", True),
}
_INCLUDES = {"r": "requirement", "requirement": "requirement", "c": "constraint", "constraint": "constraint"}
_ADDRESS = re.compile(r"(?:git\+)?(?:https?|ssh)://\S+\s*$")
_LOCAL = re.compile(r"(?:\.{0,2}/|\.$|\.\[|file:|[\w.-]+/)")


@dataclass
class _Found:
    lines: list[Line] = field(default_factory=list)
    constraints: list[Line] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    told: list[str] = field(default_factory=list)


def read_text(path: str, text: str, extras: tuple[str, ...], read: ReadFile) -> Requirements:
    if extras:
        raise RequirementsInvalid(
            f"{path} has no extras: [{', '.join(extras)}] means nothing for it", hint=f"venv = {format_value(path)}"
        )
    found = _Found()
    _read(path, text, read, found, above=(), is_constraint=False)
    return Requirements(
        file=path,
        lines=tuple(dict.fromkeys(found.lines)),
        constraints=tuple(dict.fromkeys(found.constraints)),
        options=tuple(dict.fromkeys(found.options)),
        told=tuple(dict.fromkeys(found.told)),
    )


def _read(path: str, text: str, read: ReadFile, found: _Found, *, above: tuple[str, ...], is_constraint: bool) -> None:
    for number, line in _join_lines(text):
        where = f"{path}:{number}"
        if not line.startswith("-"):
            one = _read_line(line, where)
            (found.constraints if is_constraint else found.lines).append(one)
            continue
        name, value = _split_option(line, where)
        if name in _INCLUDES:
            _refuse_web(value, where)
            inner = posixpath.normpath(posixpath.join(posixpath.dirname(path), value))
            content = _open(inner, where, read, (*above, path))
            kind = is_constraint or _INCLUDES[name] == "constraint"
            _read(inner, content, read, found, above=(*above, path), is_constraint=kind)
        elif name in _OPTIONS:
            is_link = _OPTIONS[name][0] == "find-links" and value
            _take_option(_OPTIONS[name], join_link(path, value) if is_link else value, where, found)
        elif name in ("e", "editable"):
            raise refuse_local(value, where)
        else:
            raise RequirementsInvalid(
                f"{where}: pip knows no option {line.split()[0].partition('=')[0]} in such a file",
                hint=f"take the line out of {path}",
            )


def _take_option(known: tuple[str, bool], value: str, where: str, found: _Found) -> None:
    name, has_value = known
    if has_value != bool(value):
        needs = "needs a value" if has_value else "takes no value"
        raise RequirementsInvalid(f"{where}: --{name} {needs}", hint="take the line out, or mend it")
    if name in ("require-hashes", "use-feature"):
        return  # hashes are required where all lines have them
    option = Option(name=name, value=value, where=where)
    found.options.append(option)
    if name.endswith("index-url") or name == "find-links":
        found.told.append(f"{where}: {option} is used where there is internet, and by no wheelhouse")


def _join_lines(text: str) -> list[tuple[int, str]]:
    """Numbers of first lines; continued ones joined, comments gone. A comment ends a continued line, as for pip."""
    joined: list[tuple[int, str]] = []
    held, first = "", 0
    for number, raw in enumerate(text.lstrip("\ufeff").splitlines(), 1):
        first = first or number
        line = raw.rstrip("\r")
        if line.endswith("\\") and not line.lstrip().startswith("#"):
            held += line[:-1]
            continue
        whole = _COMMENT.sub("", held + line).strip()
        if whole:
            joined.append((first, whole))
        held, first = "", 0
    whole = _COMMENT.sub("", held).strip()
    return [*joined, (first, whole)] if whole else joined


def _read_line(line: str, where: str) -> Line:
    hashes = tuple(_HASH.findall(line))
    text = _OTHERS.sub("", _HASH.sub("", line)).strip()
    if _LOCAL.match(text):
        raise refuse_local(text, where)
    return make_line(_name_address(text), where, hashes)


def _name_address(text: str) -> str:
    """An address alone, with the name that stands in it: of a wheel, or behind #egg=."""
    address, _, marker = text.partition(" ;")
    if not _ADDRESS.match(address):
        return text
    egg = re.search(r"[#&]egg=([A-Za-z0-9][\w.-]*)", address)
    wheel = re.search(r"/([A-Za-z0-9][\w.]*)-\d[^/]*\.whl(?:#|$)", address)
    name = egg or wheel
    return f"{name[1]} @ {address.strip()}" + (f" ; {marker}" if marker else "") if name else text


def _split_option(line: str, where: str) -> tuple[str, str]:
    """-r x, -rx, --requirement x, --requirement=x"""
    try:
        words = shlex.split(line, comments=False)
    except ValueError:
        raise RequirementsInvalid(f"{where}: a quote is not closed") from None
    word, rest = words[0], words[1:]
    if word.startswith("--"):
        name, _, value = word[2:].partition("=")
    else:
        name, value = word[1:2], word[2:].removeprefix("=")
    return name, value or " ".join(rest)


def _open(path: str, where: str, read: ReadFile, above: tuple[str, ...]) -> str:
    if path in above or len(above) > _DEEPEST:
        raise RequirementsInvalid(f"{where}: {path} includes itself: {' -> '.join((*above, path))}")
    text = read(path)
    if text is None:
        raise RequirementsInvalid(f"{where}: there is no file {path} in the project, or it cannot be read as text")
    return text


def _refuse_web(value: str, where: str) -> None:
    if "://" not in value:
        return
    shown = hide_credentials(value)
    way = "curl --netrc" if shown != value else "curl"  # which finds the password in ~/.netrc
    raise RequirementsInvalid(
        f"{where}: {shown} lies on the web, and only files of the project are read",
        hint=f"download it into the project: {way} -LO {quote(shown.replace('***@', ''))}",
        done="nothing was sent",
    )


def refuse_local(text: str, where: str) -> RequirementsInvalid:
    return RequirementsInvalid(
        f"{where}: {hide_credentials(text)} is a project on this laptop, and no package with a name",
        hint="take the line out: your code travels with the run; or name its wheel",
        done="nothing was built",
    )


def refuse_address(name: str, url: str, where: str, *, has_secret: bool = False) -> RequirementsInvalid:
    """A package that is no release of an index: only where the login node fetches it itself nobody has to know more."""
    what = "a git repository" if url.startswith("git+") else "an address"
    shown = hide_credentials(url)
    if has_secret:
        hint = "write ${NAME} in place of the password, and export it in the login shell of the site"
        return RequirementsInvalid(
            f"{where}: {name} comes from {what}, {shown}, whose password would be copied to the site",
            hint=hint,
            done="nothing was built",
        )
    return RequirementsInvalid(
        f"{where}: {name} comes from {what}, {shown}, and not from an index",
        hint='wheels = "pypi" in [environment]: the login node fetches and builds it; or its wheel, as NAME==VERSION',
        done="nothing was built",
    )
