"""Definitions of images (.def): the files that they copy; and no secrets, which would lie at the site and in the image.

Apptainer prints the lines of %post while it runs them, and keeps the definition inside of the image.
"""

import re
from collections.abc import Iterator

from windlass.core.credentials import find_credentials
from windlass.core.environment import ReadFile
from windlass.core.sbatch.shell_secrets import find_secret_spans
from windlass.core.secret_words import find_secrets
from windlass.core.selection import find_secret
from windlass.errors import PlanError

_SECTION = re.compile(r"^%(\w+)(?P<stage>\s+from\s)?")
# The From of the same head; {{ NAME }} is an argument of the build.
_LOCAL = re.compile(r"(?im)^bootstrap:\s*localimage[ \t]*\n(?:(?!bootstrap:|%).*\n)*?from:\s*(?P<base>[^/~${\s]\S*)")
_FROM = re.compile(r"^from:\s*(\S+)", re.IGNORECASE | re.MULTILINE)
_HEAD = re.compile(r"^(?:bootstrap|from|registry|library|mirrorurl|updateurl|confurl)\s*:", re.IGNORECASE)
# ada:word@registry/image in a head, where no scheme stands before it.
_IN_HEAD = re.compile(rf"(?m:{_HEAD.pattern})\s*(?![^\s@]*://)[^\s:@/]+:[^\s@]+@(?!sha256:)", re.IGNORECASE)
# What stands before a word that is none: adduser --disabled-password ada; GPG_KEY=...; and addresses, judged elsewhere.
_NO_SECRET = re.compile(
    r"(?i)(?:--(?:disabled?|no|without|empty|skip)[-_][\w-]+[=\s]+|(?:gpg|pgp|apt|public|host)_?key=|//[^/\s:@]*:)['\"]?$"
)
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=['\"]?$")
_IN_THE_RUN = ("environment", "runscript", "startscript", "apprun", "appenv", "test")


def read_definition(name: str, read: ReadFile) -> Iterator[tuple[str, str]]:
    """Names and texts of the definition and of the files of the project that it copies into the image."""
    text = read(name)
    if text is None:
        raise PlanError(f"environment.container = {name!r}: there is no such file in the project", hint="ls *.def")
    _refuse_secrets(name, text)
    _refuse_local_base(name, text)
    yield name, text
    for line, path in _list_copied(text):
        if find_secret(path.split("/")):
            raise _refuse(
                f"{name}:{line} copies {path} into the image, a file of secrets by its name", _BUILT_ELSEWHERE
            )
        content = read(path)
        if content is None:
            raise PlanError(
                f"{name} copies {path} into the image, which is no text file of the project below 4 MB",
                hint="fetch it in %post, or name it by its full path at the site",
            )
        if lines := [*(one.line for one in find_secrets(content)), *(one.line for one in find_credentials(content))]:
            said = f"{path}:{min(lines)} holds a secret, and {name}:{line} copies it into the image"
            raise _refuse(said, _BUILT_ELSEWHERE)
        yield path, content


def find_base(text: str) -> str | None:
    """The image that it begins with."""
    found = _FROM.search(text)
    return found[1] if found else None


def _refuse_local_base(name: str, text: str) -> None:
    """It is built at the site, in a folder where only the definition and what it copies lie."""
    if found := _LOCAL.search(text):
        base = found["base"]
        raise PlanError(
            f"{name} begins with the image {base[:200]!r}, which is no full path at the site",
            hint=f"bring it to the site once, and write its full path: From: /project/{base.rpartition('/')[2][:80]}",
            done="nothing was sent",
        )


def _list_copied(text: str) -> Iterator[tuple[int, str]]:
    """Lines and sources of %files that lie in the project."""
    for number, (section, line) in enumerate(_list_lines(text), 1):
        source = line.split()[0] if line.split() else ""
        if section == "files" and not source.startswith(("%", "/", "~", "$", "#")) and source:
            yield number, source.removeprefix("./")


def _list_lines(text: str) -> Iterator[tuple[str, str]]:
    """Each with its section; the heads of stages have none."""
    section = ""
    for line in text.splitlines():
        found = _SECTION.match(line)
        if found:
            section = "" if found["stage"] else found[1].lower()  # %files from STAGE: of an image, not of the project
        elif _HEAD.match(line):
            section = ""
        yield section, line


def _refuse_secrets(name: str, text: str) -> None:
    in_head = [text.count("\n", 0, match.start()) + 1 for match in _IN_HEAD.finditer(text)]
    lines = sorted({*in_head, *_find_lines(text)})
    if not lines:
        return
    number = lines[0]
    section, line = list(_list_lines(text))[number - 1]
    where = f"%{section}" if section else "its head"
    raise _refuse(
        f"{name}:{number} holds a password or token ({where}), which would lie at the site and in the image",
        _find_way(section, line),
    )


def _find_lines(text: str) -> list[int]:
    spans = [begin for begin, _ in find_secret_spans(text) if not _NO_SECRET.search(text[max(0, begin - 80) : begin])]
    return sorted({*(text.count("\n", 0, at) + 1 for at in spans), *(one.line for one in find_credentials(text))})


def _find_way(section: str, line: str) -> str:
    if not section:
        hosts = [one.host for one in find_credentials(line)] or re.findall(r"@([\w.-]+)", line) or ["REGISTRY"]
        return f"take it out, and log in once at the site: apptainer registry login --username USER docker://{hosts[0]}"
    if section in _IN_THE_RUN:
        spans = find_secret_spans(line)
        assigned = _ASSIGNED.search(line[: spans[0][0]]) if spans else None
        name = assigned[1] if assigned else "API_KEY"
        return f'take it out: the training has it from\n[run.secrets]\n{name} = "env:{name}"'
    return _BUILT_ELSEWHERE


_BUILT_ELSEWHERE = (
    "build the image where the secret is, and without it inside; bring the .sif to the site, and name it there: "
    'container = "$SCRATCH/image.sif"'
)


def _refuse(message: str, hint: str) -> PlanError:
    return PlanError(message, hint=hint, done="nothing was sent")
