"""A variable in the place of each secret of a script that stays, written as the quotes around it need it."""

import re
from collections.abc import Mapping

from windlass.core.sbatch.adopted_body import Body, can_name
from windlass.core.sbatch.shell_secrets import find_secret_spans, hide_in_shell
from windlass.core.secret_words import HIDDEN

_LEFT_OUT = "SECRET_LEFT_OUT"
# How a variable is written where a secret stood, by how the place is quoted.
_WRITTEN = {"word": '"${%s}"', "double": "${%s}", "single": "'\"${%s}\"'", "dollar": "'\"${%s}\"$'", "here": "${%s}"}
_TOKENS = {"hf_": "HF_TOKEN", "gh": "GITHUB_TOKEN", "glpat-": "GITLAB_TOKEN", "sk-": "OPENAI_API_KEY"}
_PIECE = re.compile(
    r"""(?P<comment>(?<![^\s;&|()])\#[^\n]*) | (?P<single>'[^']*') | (?P<dollar>\$'(?:\\.|[^\\'])*')
      | (?P<odd>`(?:\\.|[^\\`])*`|\$\{[^}]*\}|\$\(\(.*?\)\)) | (?P<push>[$<>]?\(|") | (?P<pop>\))
      | <<(?P<tabs>-?)[ \t]*(?P<quote>['"\\]?)(?P<here>[A-Za-z_]\w*)(?P=quote)? | <<< | \\. | .""",
    re.DOTALL | re.VERBOSE,
)
_IN_DOUBLE = re.compile(
    r"""(?P<odd>`(?:\\.|[^\\`])*`|\$\{[^}]*\}|\$\(\(.*?\)\)) | (?P<push>\$\() | (?P<pop>") | \\. | .""",
    re.DOTALL | re.VERBOSE,
)


def replace_secrets(body: Body) -> tuple[str | None, dict[str, str], list[tuple[int, str, str]]]:
    """A variable for each secret in the body, from [run.secrets]: what else is on its line stays as it is."""
    secrets = dict(body.secrets)
    if body.text is None:
        return None, secrets, []
    text, left = body.text, list[tuple[int, str, str]]()
    places = _find_places(text)
    written: dict[tuple[int, int], str] = {}
    # What is assigned to a variable gives its name to the same value elsewhere.
    by_name = sorted((_find_assigned(text, span) is None, span) for span in find_secret_spans(text))
    for _, (begin, end) in by_name:
        kinds, line = set(places[begin:end]), body.first + text.count("\n", 0, begin)
        form = _WRITTEN.get(places[begin]) if len(kinds) == 1 else None
        if form is not None:
            name = _name_secret(text, (begin, end), secrets, taken=body.env)
            left.append((line, f"a secret, now ${name}", "it comes from your own environment: [run.secrets]"))
            written[begin, end] = form % name
        elif kinds == {"comment"}:
            written[begin, end] = HIDDEN
        else:
            why = f"no variable reaches this place: {_LEFT_OUT} stands there, and the line fails until you mend it"
            left.append((line, "a secret", why))
            written[begin, end] = _LEFT_OUT
    for begin, end in sorted(written, reverse=True):
        text = text[:begin] + written[begin, end] + text[end:]
    return "\n".join([*map(hide_in_shell, body.head), text]).rstrip("\n") + "\n", secrets, left


def _name_secret(text: str, span: tuple[int, int], secrets: dict[str, str], *, taken: Mapping[str, str]) -> str:
    """The variable that holds it; a new one is noted in `secrets`."""
    value = text[slice(*span)]
    known = next((name for name, one in secrets.items() if one == value), None)
    if known is not None:
        return known
    assigned = _find_assigned(text, span)
    before = re.search(r"([A-Za-z][\w-]*)['\"]?(?:[=:]\s*|\s+)['\"]?$", text[max(0, span[0] - 80) : span[0]], re.ASCII)
    said = (
        before[1].replace("-", "_").upper() if before and re.search(r"(?i)key|token|pass|secret", before[1]) else None
    )
    shaped = next((name for prefix, name in _TOKENS.items() if value.startswith(prefix)), "SECRET")
    shaped = "PASSWORD" if text[span[0] - 1 : span[0]] == ":" else shaped
    wanted = next(name for name in (assigned, said, shaped) if name and can_name(name))
    number, name = 1, wanted
    while name in secrets or name in taken or _is_used(text, name, assigned, value):
        number += 1
        name = f"{wanted}_{number}"
    secrets[name] = value
    return name


def _find_assigned(text: str, span: tuple[int, int]) -> str | None:
    """NAME where the secret is all of NAME=secret."""
    before = re.search(r"(?:^|[\s;&|(])([A-Za-z_]\w*)=['\"]?$", text[max(0, span[0] - 300) : span[0]], re.ASCII)
    is_all = re.match(r"['\"]?(?:[\s;&|)]|$)", text[span[1] : span[1] + 2])
    return before[1] if before and is_all else None


def _is_used(text: str, name: str, assigned: str | None, value: str) -> bool:
    """By the script itself, for something else."""
    if name != assigned:
        return re.search(rf"\b{name}\b", text) is not None
    other = rf"\b{name}\+?=(?!['\"]?{re.escape(value)})|\b(?:unset|read|for|local)\b[^\n;]*\b{name}\b(?!=)"
    return re.search(other, text) is not None


def _find_places(text: str) -> list[str]:
    """How each letter of a shell script stands: a key of _WRITTEN, "comment", or "odd"."""
    places: list[str] = []
    around: list[str] = []  # quotes and parentheses that are open
    waiting: list[re.Match[str]] = []  # here-documents that begin with the next line
    while len(places) < len(text):
        in_double = around[-1:] == ['"']
        match = (_IN_DOUBLE if in_double else _PIECE).match(text, len(places))
        if match is None:  # never: the last branch takes any letter
            break
        kind = match.lastgroup or ""
        if kind == "push":
            around.append(match[0])
        elif kind == "pop" and around:
            around.pop()
        elif kind == "here":
            waiting.append(match)
        plain = "double" if in_double else "word"
        places += [kind if kind in {"comment", "single", "dollar", "odd"} else plain] * len(match[0])
        if match[0] == "\n" and not in_double:
            for here in waiting:
                tabs = r"\t*" if here["tabs"] else ""
                end = re.compile(rf"^{tabs}{here['here']}$", re.MULTILINE).search(text, len(places))
                size = end.start() - len(places) if end else 0
                places += ["odd" if here["quote"] else "here"] * size
            waiting = []
    return places
