"""Which files of a project are sent: the decision for each path, before anything is read.

`include` wins over `exclude`, .gitignore and the lists below. A secret comes back only by a pattern that names it
(`.env`, `keys/*.pem`), never by one that merely covers its folder (`config/**`): nobody sends a key by accident.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from windlass.core.credentials import hide_found
from windlass.core.ignore import Patterns, escape
from windlass.core.run import RunSpec
from windlass.core.secret_words import hide_secrets
from windlass.core.snapshot import LeftOut, LeftOutReason

# Made again from other files, or useless at the site; .git itself is never sent at all.
JUNK_FOLDERS = frozenset(
    {
        "__pycache__",
        "node_modules",
        ".venv",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
        ".hypothesis",
        ".tox",
        ".nox",
        ".eggs",
        ".ipynb_checkpoints",
        ".hg",
        ".svn",
        ".bzr",
        ".import_linter_cache",
        ".pytype",
        ".pyre",
        ".direnv",
        "__MACOSX",
    }
)
JUNK_FILES = frozenset({".DS_Store", "Thumbs.db"})
NEVER = frozenset({".git"})

# A folder with one of these inside is a Python environment, whatever its name.
ENVIRONMENT_MARKS = ("pyvenv.cfg", "conda-meta/history")

SECRET_FOLDERS = frozenset({".aws", ".ssh", ".gnupg", ".azure", ".kaggle", ".kube"})
_SECRET_FILE = re.compile(
    r"""\.env(?!\.(example|sample|template|dist)$|ironment).*
    | .*\.(pem|key|p12|pfx|ppk|jks|keystore|kdbx)
    | id_(rsa|dsa|ecdsa|ed25519)(_sk)?([._-](?!pub$).*)?
    | [._]netrc | \.pgpass | \.pypirc | \.git-credentials | \.htpasswd | kaggle\.json
    | (credentials|client_secret|service[-_]account).*\.json
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)

# At the start of a line it is a key; elsewhere (a JSON value, but also a program that looks for keys) it must go on
# as one.
_KEY_LINE = rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
_KEY_INSIDE = _KEY_LINE + rb"(?:\s|\\r|\\n)*[A-Za-z0-9+/=]{24}"
_PRIVATE_KEY = re.compile(rb"(?:^|\n)[ \t]*" + _KEY_LINE + rb"|" + _KEY_INSIDE + rb"|^PuTTY-User-Key-File")
_KEY_IN_DIFF = re.compile(rb"^[-+ ][ \t]*" + _KEY_LINE + rb"|" + _KEY_INSIDE, re.MULTILINE)
HEAD_BYTES = 4096  # how much of a file is looked at


def holds_private_key(head: bytes) -> bool:
    return b"KEY" in head[:HEAD_BYTES].upper() and _PRIVATE_KEY.search(head[:HEAD_BYTES]) is not None


def drop_private_keys(diff: bytes) -> tuple[bytes, int]:
    """A diff without the files in which a private key shows, and how many those were."""
    sections = re.split(rb"^(?=diff --git )", diff, flags=re.MULTILINE)
    kept = [section for section in sections if not _KEY_IN_DIFF.search(section)]
    return b"".join(kept), len(sections) - len(kept)


def hide_removed(diff: bytes) -> tuple[bytes, int]:
    """A diff with *** for the secrets of lines that are gone, and how many lines those were: no file sent has them."""
    lines = diff.split(b"\n")
    hidden = [_hide_line(line) if line.startswith(b"-") and not line.startswith(b"--- ") else line for line in lines]
    return b"\n".join(hidden), sum(one is not other for one, other in zip(lines, hidden, strict=True))


def _hide_line(line: bytes) -> bytes:
    text = line.decode("latin-1")  # whatever it is: the same bytes come back
    hidden = hide_found(hide_secrets(text))
    return line if hidden == text else hidden.encode("latin-1")


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What the user and the lists above say; `environments` are folders found to be Python environments.

    packed: folders found to be data sets of ours, which no source of [data] names, nor the command, nor the code.
    """

    include: Patterns
    exclude: Patterns
    environments: frozenset[str] = frozenset()
    packed: frozenset[str] = frozenset()
    _junk: dict[str, bool] = field(default_factory=dict, repr=False, compare=False)

    def decide(self, path: str, *, is_tracked: bool = False) -> LeftOut | bool:
        """True: sent; False: left out without a word; otherwise left out, and the user is told."""
        parts = path.split("/")
        if not NEVER.isdisjoint(parts):
            return False
        if not is_utf8(path):
            return LeftOut(path=path, reason=LeftOutReason.NAME)
        if not self.include.matches(path):
            if self.is_junk_folder(path.rpartition("/")[0]) or parts[-1] in JUNK_FILES:
                told = LeftOut(path=path, reason=LeftOutReason.REBUILT, pattern=make_exact_pattern(path))
                return told if is_tracked else False
            if self.exclude.matches(path):
                return False
            if (folder := path.rpartition("/")[0]) in self.packed:  # a data set has no folders inside
                return LeftOut(path=folder + "/", reason=LeftOutReason.PACKED, pattern=f"{escape(folder)}/**")
        secret = find_secret(parts)
        if secret and not self._is_wanted(secret, path):
            return make_secret(path)
        return True

    def wants_secret(self, path: str) -> bool:
        return self.include.name(path)

    def is_junk_folder(self, folder: str) -> bool:
        """Whether a folder, or one above it, is in the lists."""
        unknown = []
        while folder and folder not in self._junk:
            unknown.append(folder)
            folder = folder.rpartition("/")[0]
        is_junk = self._junk[folder] if folder else False
        for one in reversed(unknown):
            is_listed = one.rpartition("/")[2] in JUNK_FOLDERS or one in self.environments
            is_junk = self._junk[one] = is_junk or is_listed
        return is_junk

    def _is_wanted(self, secret: str, path: str) -> bool:
        return self.include.name(path) or (secret != path and self.include.name(secret, is_folder=True))


def find_secret(parts: list[str]) -> str | None:
    """The file, or the folder above it, whose name says that it holds secrets."""
    for depth, part in enumerate(parts[:-1], start=1):
        if part in SECRET_FOLDERS:
            return "/".join(parts[:depth])
    return "/".join(parts) if _SECRET_FILE.fullmatch(parts[-1]) else None


def make_secret(path: str) -> LeftOut:
    return LeftOut(path=path, reason=LeftOutReason.SECRET, pattern=make_exact_pattern(path))


def make_exact_pattern(path: str) -> str:
    return escape(path) if "/" in path else "/" + escape(path)


def find_environments(paths: Iterable[str]) -> frozenset[str]:
    """The folders among these files that are Python environments."""
    found = set()
    for path in paths:
        for mark in ENVIRONMENT_MARKS:
            if path.endswith("/" + mark):
                found.add(path[: -len(mark) - 1])
    return frozenset(found)


def is_utf8(path: str) -> bool:
    if path.isascii():
        return True
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def list_outputs(spec: RunSpec) -> list[str]:
    """Folders that a run fills: its checkpoints, and results named as whole folders ("runs/**").

    What an earlier try left in them on the laptop must not pass for the run's own.
    """
    folders = [spec.checkpoint.folder or ""] + [one.removesuffix("/**") for one in spec.results if one.endswith("/**")]
    plain = [
        one.strip("/") for one in folders if one and not one.startswith(("/", "$", "~")) and not set(one) & set("*?[")
    ]
    base = "" if spec.workdir in ("", ".") else f"/{spec.workdir.strip('/')}"
    return [f"{base}/{one}/" for one in dict.fromkeys(plain) if one not in ("", ".") and ".." not in one.split("/")]
