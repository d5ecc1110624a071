"""Secrets as shell scripts write them, beside those of `secret_words`: nothing is refused here, so less will do."""

import re

from windlass.core.secret_words import HIDDEN, cover_secrets

_NO_VARIABLE = r"\$(?![A-Za-z_{(\d@*])"
_TYPED = (
    rf"""(?:"(?P<double>(?:\\.|[^"\\$`\n]|{_NO_VARIABLE})+)|'(?P<single>[^'\n]+)"""
    rf"""|(?P<bare>(?![-<*{{])(?:\\.|[^\s'"\\$`;&|()<>]|{_NO_VARIABLE})+))"""
)
_SURE = "password|passwd|passphrase|secret"
_NAMED = re.compile(
    rf"(?i)(?<![\w${{-])(?:--?(?:[a-z0-9]+[-_])*(?:(?P<sure_option>{_SURE})|token|pat|pass|(?:api)?key)(?:=|\s+)"
    rf"|(?:[a-z0-9]*_)*(?:(?P<sure_name>{_SURE}|pwd)|token|pat|pass|(?:api)?key|auth|credentials?)\d{{0,2}}=){_TYPED}"
)
_OF_CURL = re.compile(
    r"(?<=\s)(?:-[a-zA-Z]{0,6}[uU]\s*|--(?:proxy-)?user(?:=|\s+))['\"]?[^\s:'\"]+:(?P<bare>[^\s'\"$<*{][^\s'\"]*)"
)
_IN_ADDRESS = re.compile(r"//[^/\s:@'\"<>]*:(?P<bare>[^/\s@'\"`$<*{][^/\s@'\"`]*)@(?=[\w.$\[{-])")
_BEARER = re.compile(r"(?i)\b(?:bearer|basic)\s+(?P<bare>(?=[\w.~+/=-]*\d)[\w.~+/=-]{16,})")
# Programs with a form of their own. Not of each other's line: what stands between is short, and ends no command.
_BETWEEN = r"[^\n;|&]{0,200}?"
_NAME = r"[^\s\\]{1,200}+"
_BLANKS = r"(?:\s|\\n){1,20}+"
_OF_PROGRAMS = tuple(
    re.compile(rf"{before}{_TYPED}")
    for before in (
        rf"(?:\bmachine{_BLANKS}{_NAME}|\bdefault){_BLANKS}login{_BLANKS}{_NAME}{_BLANKS}password{_BLANKS}",
        rf"\baws\s{_BETWEEN}\bset\s+[\w.-]*(?:aws_secret_access_key|aws_session_token)\s+",
        r"\b(?:docker|podman|buildah|skopeo|nerdctl|oras|helm|apptainer|singularity|az|oc)\s+(?:(?:remote|registry)\s+)?"
        rf"login\s{_BETWEEN}(?<=\s)-p(?:=|\s*)",
        r"\bsshpass\s+(?:-v\s+)?-p\s*",
        rf"\b(?:mysql|mariadb)\w*\s{_BETWEEN}(?<=\s)-p",
        rf"\bsmbclient\s{_BETWEEN}(?<=\s)-U\s*[^\s%'\"]{{1,100}}%",
        rf"\blftp\s{_BETWEEN}(?<=\s)-u\s*[^\s,'\"]{{1,100}},",
        r"\b(?:PGPASSWORD|SSHPASS|MYSQL_PWD)=",
    )
)
_PLACEHOLDER = re.compile(r"[A-Z_]+|x+|\.+|your[\w-]*")
_REFERENCE = re.compile(r"(?i)[.~]?/.*|(?:env|file|command|fd):.*|true|false|none|null")
_WORDS = re.compile(r"(?i)\w+\.[a-z]{2,5}|[a-z]+(?:[-_.][a-z0-9]{1,12})+")


def find_secret_spans(text: str) -> list[tuple[int, int]]:
    """Where secrets begin and end, in order."""
    found = [match.span() for match in re.finditer(r"\0(?:[\0\n]*\0)?", cover_secrets(text, "\0"))]
    for pattern in (_NAMED, _OF_CURL, _IN_ADDRESS, _BEARER, *_OF_PROGRAMS):
        found += [match.span(match.lastgroup or 0) for match in pattern.finditer(text) if _is_secret(match)]
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(found):
        if merged and begin < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def hide_in_shell(text: str) -> str:
    """The same text with *** for each secret."""
    for begin, end in reversed(find_secret_spans(text)):
        text = text[:begin] + HIDDEN + text[end:]
    return text


def _is_secret(match: re.Match[str]) -> bool:
    if match.re is _OF_CURL:
        before = match.string[max(0, match.start() - 2000) : match.start()]
        return re.search(r"\bcurl\b", re.split(r"(?<!\\)\n|[;|&]", before)[-1]) is not None
    value = match[match.lastgroup or 0]
    if match.re in _OF_PROGRAMS:
        return _PLACEHOLDER.fullmatch(value) is None
    if match.re is not _NAMED or _REFERENCE.fullmatch(value):
        return match.re is not _NAMED
    if match["sure_option"] or match["sure_name"]:
        return len(value) > 3
    is_random = any(map(str.isdigit, value)) and any(map(str.isalpha, value)) and not _WORDS.fullmatch(value)
    return len(value) > 9 and is_random
