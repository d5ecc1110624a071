"""Passwords and keys in text: where they stand, and the same text without them. Values are never handed on."""

import re
from dataclasses import dataclass

HIDDEN = "***"
_LONGEST_WORD = 200

_VALUE = r"[A-Za-z0-9_\-./+=]{12,}"
# What only looks like a secret: a reference to one, or a word that a person puts in its place.
_NO_SECRET = re.compile(
    r"""(?ix) (?:your|my|the|some|insert|example|dummy|placeholder|changeme|todo|none|null|false|true|xxx) [\w\-./]*
      | [\w./-]*(?:path|file|dir|name|here|example|placeholder)
      | (?:env|file|command):.* | [./~].* | (\w)\1+ | [\w-]+\.(?:json|txt|yaml|yml|toml|pem|key|py|env)
      | [a-z_]+ (?:\.[a-z_]+)+ (?:\.\w+)* | [a-z]+(?:_[a-z]+){2,}
      | (?:os|self|args|cfg|config|conf|settings)\..* | [\d.]+(?:e[+-]?\d+)?
      | get_?\w* | [a-z]+(?:-[a-z]+){2,}(?:-\w+)?
    """
)
_NAMED = re.compile(
    r"""(?ix)
    (?P<name> (?<![\w$])[\w-]{0,40}? (?: api_?-?key | access_?-?key | secret_?-?key | private_?-?key | auth_?-?token
        | token (?!iz|s\b|s_|_?ids?\b|_?type|_?len|_?count|_?num|_?path|_?file) | passwd | password | passphrase
        | secret (?!s?_?(?:file|path|name)|ary) | credentials? ) (?:_?\d{1,2})? )
    (?P<quote1>['"]?) \s*(?:=|:\s|:(?=["'])|\s(?=hf_|ghp_|sk-))\s* (?P<quote2>[rbf]?['"]?) (?P<value>"""
    + _VALUE
    + r")"
)
_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("Hugging Face token", re.compile(r"(?<![\w-])hf_[A-Za-z0-9]{20,}(?![\w-])")),
    ("GitHub token", re.compile(r"(?<![\w-])(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{50,})(?![\w-])")),
    ("GitLab token", re.compile(r"(?<![\w-])glpat-[A-Za-z0-9_-]{20,}")),
    ("OpenAI key", re.compile(r"(?<![\w-])sk-(?:proj-|ant-)?(?=[\w-]*\d)[A-Za-z0-9_-]{20,}")),
    ("AWS key", re.compile(r"(?<![\w])(?:AKIA|ASIA)[0-9A-Z]{16}(?![\w])")),
    ("Google key", re.compile(r"(?<![\w-])AIza[0-9A-Za-z_-]{35}(?![\w-])")),
    ("Slack token", re.compile(r"(?<![\w-])xox[abprs]-[0-9A-Za-z-]{20,}")),
    ("Weights & Biases key", re.compile(r"(?i:wandb[^\n]{0,60}?)(?<![\w/-])(?P<value>[0-9a-f]{40})(?![\w-])")),
    (
        "private key",
        re.compile(
            r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?P<value>(?:\s|\\n)*[A-Za-z0-9+/=]{24}"
            r"[A-Za-z0-9+/=\s\\]*)"
        ),
    ),
    (
        "password in an address",
        re.compile(
            r"://(?!user)[^/\s:@'\"${}<>*]{1,64}:(?!pass(?:word|wd)?@|secret@|token@)(?P<value>[^/\s:@'\"${}<>*]{3,128})@[\w.-]+"
        ),
    ),
)
# Nothing above is found where none of these is.
_SIGNS = re.compile(
    r"(?i)hf_|gh[pousr]_|github_pat_|glpat-|sk-|akia|asia|aiza|xox[abprs]-|private key|://[^/\s]+@"
    r"|key|token|passw|passphrase|secret|credential|wandb"
)


@dataclass(frozen=True, kw_only=True)
class Secret:
    line: int  # from 1
    column: int
    kind: str  # "Hugging Face token", or the name it has: "WANDB_API_KEY"


def find_secrets(text: str) -> tuple[Secret, ...]:
    """By their shape or by the name they are given; a reference such as `$KEY` is none."""
    return tuple(
        Secret(
            line=text.count("\n", 0, begin) + 1,
            column=begin - (text.rfind("\n", 0, begin) + 1) + 1,
            kind=kind,
        )
        for begin, _, kind in _find_spans(text)
    )


def hide_secrets(text: str) -> str:
    """The same lines with *** for each secret."""
    pieces, last = [], 0
    for begin, end, _ in _find_spans(text):
        pieces += [text[last:begin], HIDDEN + "\n" * text.count("\n", begin, end)]
        last = end
    return "".join([*pieces, text[last:]])


def cover_secrets(text: str, letter: str) -> str:
    """The same text with `letter` for each of a secret's: every column stays where it was."""
    pieces, last = [], 0
    for begin, end, _ in _find_spans(text):
        pieces += [text[last:begin], "\n".join(letter * len(line) for line in text[begin:end].split("\n"))]
        last = end
    return "".join([*pieces, text[last:]])


def _find_spans(text: str) -> list[tuple[int, int, str]]:
    if not _SIGNS.search(text):
        return []
    spans = []
    for kind, pattern in _SHAPES:
        for match in pattern.finditer(text):
            group = "value" if "value" in pattern.groupindex else 0
            spans.append((*match.span(group), kind))
    for match in _NAMED.finditer(text):
        if _is_secret(match):
            spans.append((*match.span("value"), match["name"].strip("-_") or "secret"))
    return _without_overlap(sorted(spans, key=lambda one: (one[0], -one[1])))


def _is_secret(match: re.Match[str]) -> bool:
    value = match["value"]
    is_name = value.isupper() and value.replace("_", "").isalpha()  # KEY = "_SOME_KEY"
    is_word = len(value) <= _LONGEST_WORD and _NO_SECRET.fullmatch(value) is not None
    if is_name or is_word or "public" in match["name"].lower():
        return False
    # `token = perl6_token` is code; in quotes, or with many digits, it is a value.
    is_quoted = bool(match["quote2"])
    after = match.string[match.end() : match.end() + 1]
    if after in {"(", "["} or (after == "." and not is_quoted):
        return False
    is_shell = match["name"].isupper() and match[0][len(match["name"])] == "=" and not value.isupper()
    digits = sum(char.isdigit() for char in value)
    is_random = digits > 2 or (digits > 0 and len(value) >= 30 and not value.islower() and not value.isupper())
    return is_quoted or is_shell or is_random


def _without_overlap(spans: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    kept: list[tuple[int, int, str]] = []
    for span in spans:
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept
