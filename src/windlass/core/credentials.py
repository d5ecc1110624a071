"""Passwords and tokens in addresses: hidden wherever an address is shown, and found before a file is sent."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HIDDEN = "***"
_PORT = re.compile(r"\d{1,5}(?:/|$)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*$")
_HOST = re.compile(r"[\w.-]*")
_SECRET_QUERY = re.compile(r"(?i)([?&][^=&?\s]{0,40}(?:token|key|secret|password|auth|sig)[^=&?\s]{0,40}=)[^&\s]+")
_WORD = re.compile(r"\S*")
# In the text of a file an address ends at a quote too; a reference may hold blanks.
_IN_FILE = re.compile(r"(?:\$\([^()\n]{0,80}\)|\{{1,2}[^{}\n]{0,80}\}{1,2}|<\w{1,80}>|[^\s'\"`<>])*")
_QUERY = re.compile(r"(?i)[?&](?:[\w-]{0,40}[_-])?(?:token|key|apikey|secret|password|auth|sig|signature)=([^&]+)")
_OF_CONDA = re.compile(r"/t/([^/]{8,})/")
# A variable, or what people write in the place of something.
_REFERENCE = re.compile(r"\$\{\w+\}|\$[A-Za-z_]\w*|\$\(.*\)|%\w+%|\{+.*\}+|<.*>|\*+|x{3,}|\.{3,}|…")
_EXAMPLE = re.compile(r"(?i)(?:(?:your|my|the)[-_]?)?(?:user(?:name)?|pass(?:word|wd)?|pw|secret|api[-_]?key|token)")
_COMMENT = re.compile(r"(?:^|\s)#")
_BY_NAME = ("ssh", "git+ssh", "sftp", "rsync", "git", "svn+ssh")  # there a user alone is a name: git@github.com


@dataclass(frozen=True, kw_only=True)
class Credential:
    """Where it stands; its value is never handed on."""

    line: int  # from 1
    host: str


@dataclass(frozen=True, kw_only=True)
class _Address:
    begin: int  # of what follows "://", in the text
    scheme: str
    rest: str

    @property
    def info(self) -> str | None:
        """All before the last @, whatever is in the password; not a port, and not an image's digest."""
        info, at, _ = self.rest.partition("@sha256:")[0].rpartition("@")
        user = info.partition(":")[0]
        is_port = info != user and _PORT.match(self.rest, len(user) + 1)
        return info if at and user and "/" not in user and not is_port else None

    @property
    def host(self) -> str:
        found = _HOST.match(self.rest, 0 if self.info is None else len(self.info) + 1)
        return found[0] if found else ""


def hide_credentials(text: str) -> str:
    """https://user:word@host/ -> https://***@host/"""
    spans = [(one.begin, one.begin + len(one.info)) for one in _split(text, _WORD) if one.info is not None]
    return _SECRET_QUERY.sub(rf"\1{_HIDDEN}", _cover(text, spans))


def find_credentials(text: str) -> tuple[Credential, ...]:
    """Those that are written out; `${TOKEN}` and its kin are none, and neither is an example in a comment."""
    places = {one.begin: one.host for one, _, _ in _find(text)}
    return tuple(Credential(line=text.count("\n", 0, at) + 1, host=host) for at, host in sorted(places.items()))


def hide_found(text: str) -> str:
    """The same text with *** for each that `find_credentials` finds."""
    return _cover(text, [(begin, end) for _, begin, end in _find(text)])


def _cover(text: str, spans: list[tuple[int, int]]) -> str:
    pieces, last = [], 0
    for begin, end in sorted(spans):
        pieces += [text[last:begin], _HIDDEN]
        last = end
    return "".join([*pieces, text[last:]])


def _split(text: str, word: re.Pattern[str]) -> Iterator[_Address]:
    """word: what an address may consist of. By its middle: a pattern would try every letter of a long line."""
    at, scheme = 0, ""
    for place, piece in enumerate(text.split("://")):
        if place:
            found = word.match(piece)
            yield _Address(begin=at, scheme=scheme, rest=found[0] if found else "")
        tail = _SCHEME.search(piece[-16:])
        scheme = tail[0].lower() if tail else ""
        at += len(piece) + len("://")


def _find(text: str) -> Iterator[tuple[_Address, int, int]]:
    """Each with where its secret begins and ends."""
    for one in _split(text, _IN_FILE):
        line = text[max(text.rfind("\n", 0, one.begin) + 1, one.begin - 500) : one.begin]
        is_comment = _COMMENT.search(line) is not None
        for begin, end in _list_candidates(one):
            word = one.rest[begin:end]
            if not _REFERENCE.fullmatch(word) and not (is_comment and _EXAMPLE.fullmatch(word)):
                yield one, one.begin + begin, one.begin + end


def _list_candidates(one: _Address) -> Iterator[tuple[int, int]]:
    info = one.info or ""
    user, _, word = info.partition(":")
    if word:
        yield len(info) - len(word), len(info)
    elif _is_token(user) and one.scheme not in _BY_NAME:
        yield 0, len(user)
    for pattern in (_QUERY, _OF_CONDA):
        yield from (match.span(1) for match in pattern.finditer(one.rest, len(info)))


def _is_token(user: str) -> bool:
    """A name alone is none: keyrings want it in the address (oauth2accesstoken@, VssSessionToken@)."""
    return len(user) >= 32 or (len(user) >= 12 and sum(map(str.isdigit, user)) > 1)
