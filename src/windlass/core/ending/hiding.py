"""What must not leave in a bundle for others: the values of whatever is called a password, a key or a token."""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from windlass.core.secret_words import HIDDEN, hide_secrets
from windlass.core.shell import quote
from windlass.errors import PlanError

_SHORTEST = 6  # what is shorter stands in every second line by chance
_ALWAYS = re.compile(r"passw(?:or)?d|passphrase|secret|credential|token(?!s|iz)|api_?-?key", re.IGNORECASE)
# `key=` and `auth=` alone are code; in a longer name, or in capitals, they are settings.
_AS_A_WORD = re.compile(r"(?:^|[_-])(?:pat|key|auth|pass|pwd)(?:[_-]?\d+)?(?:$|[_-])", re.IGNORECASE)
_NO_SECRETS = ("PWD", "OLDPWD", "SSH_AUTH_SOCK")
# A name that begins somewhere, `=` or `:`, and a value, in quotes of some kind or up to the next gap.
_ASSIGNED = re.compile(
    r"""(?x) (?<!\w) (?P<name>[A-Za-z_][\w-]{1,80}) (?:\\?["'])? [ ]{0,3} (?:=|:(?!//)) [ ]{0,3}
        (?: (?P<quote>\\?["']) (?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\n\\]))*) | (?P<bare>[^\s"'&;,)}\]]+) )"""
)
_AS_OPTION = re.compile(
    r"""(?x) --(?P<name>[\w-]{2,80}) [ \t]+
        (?: (?P<quote>\\?["']) (?P<quoted>(?:(?!(?P=quote))[^\n])*) | (?P<bare>(?!-)[^\s"'&;|]+) )"""
)
_HEADER = re.compile(
    r"(?i)(?<!\w)(?:proxy-)?authorization[\"']?:[ ]*[\"']?(?:(?:basic|bearer|token)[ ]+)?(?P<bare>[^\s\"',]+)"
)
_REFERENCE = re.compile(r"(?:env|file|command):|\$|os\.|self\.|args\.|(?:none|null|true|false)$|\*", re.IGNORECASE)


def names_a_secret(name: str) -> bool:
    """GITHUB_PAT, db-password, apiToken; not PATH, MAX_TOKENS or a lonely `key`."""
    if name in _NO_SECRETS:
        return False
    is_compound = name.isupper() or "_" in name or "-" in name
    return bool(_ALWAYS.search(name)) or (is_compound and bool(_AS_A_WORD.search(name)))


def find_values(env: Mapping[str, str]) -> frozenset[str]:
    """Those of variables that are called so."""
    return frozenset(value for name, value in env.items() if names_a_secret(name) and not _is_reference(value))


def find_assigned(text: str) -> frozenset[str]:
    """As they stand in a script or in settings: `export GITHUB_PAT=…`, `"apiKey": "…"`."""
    return frozenset(text[begin:end] for begin, end in _find_spans(text))


def find_in_settings(text: str) -> frozenset[str]:
    """Of a TOML file, whatever way it writes them; none where it is no TOML."""
    try:
        return frozenset(_walk(tomllib.loads(text)))
    except (ValueError, RecursionError):
        return frozenset()


def hide(text: str, values: Iterable[str]) -> str:
    """The text without these values wherever they stand, without what is named a secret, and without known shapes."""
    for word in _list_spellings(frozenset(values)):
        text = text.replace(word, HIDDEN)
    pieces, last = [], 0
    for begin, end in _find_spans(text):
        if begin >= last:
            pieces += [text[last:begin], HIDDEN]
            last = end
    return hide_secrets("".join([*pieces, text[last:]]))


@lru_cache(maxsize=8)
def _list_spellings(values: frozenset[str]) -> tuple[str, ...]:
    spellings = {word for value in values if len(value) >= _SHORTEST for word in _spell(value)}
    return tuple(sorted(spellings, key=len, reverse=True))


def _spell(value: str) -> Iterator[str]:
    """As it is, as JSON and TOML write it, and as a shell does."""
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    try:
        in_shell = quote(value)
    except PlanError:
        return
    if in_shell not in (value, f"'{value}'"):
        yield in_shell
        yield json.dumps(in_shell, ensure_ascii=False)[1:-1]


def _find_spans(text: str) -> list[tuple[int, int]]:
    found = []
    for match in (*_ASSIGNED.finditer(text), *_AS_OPTION.finditer(text)):
        group = "bare" if match["quote"] is None else "quoted"
        if names_a_secret(match["name"]) and match[group] and not _is_reference(match[group]):
            found.append(match.span(group))
    found += [match.span("bare") for match in _HEADER.finditer(text) if not _is_reference(match["bare"])]
    return sorted(found, key=lambda span: (span[0], -span[1]))


def _walk(values: Mapping[str, object]) -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _walk(value)
        elif isinstance(value, str) and names_a_secret(name) and not _is_reference(value):
            yield value


def _is_reference(value: str) -> bool:
    """To a secret that stands elsewhere; or no value at all."""
    return _REFERENCE.match(value) is not None
