"""One Python file, what is known around it, and how a use of the internet in it is told."""

import ast
import re
import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from windlass.core.source.guards import UNKNOWN
from windlass.core.source.network_shell import make_shown
from windlass.core.source.python_module import Call, PythonModule, format_node
from windlass.core.source.uses import NO_VARIABLES, Use, UseKind

# What a name for a thing on disk mostly holds.
_NAMES_A_PATH = re.compile(r"path|dir|folder|ckpt|checkpoint|local|file|output|save|resume", re.IGNORECASE)
_FILE_ENDING = re.compile(r"\.(?:pt|pth|bin|ckpt|safetensors|json|gguf|h5|keras|onnx|tar|zip|model|txt|yaml)$")
_HTTP = re.compile(r"(?:https?|ftp)://([^/:\s]*)")
_NEAR = re.compile(r"localhost|127\.|0\.0\.0\.0|10\.|192\.168\.|\[|[^.]*$|\{")


@dataclass(frozen=True, kw_only=True)
class Looking:
    """One file, and what is known around it."""

    module: PythonModule
    env: Mapping[str, str] = field(default_factory=lambda: NO_VARIABLES)
    folders: Collection[str] = ()  # and modules of the project: what has such a name is not fetched
    arguments: Mapping[str, str] = field(default_factory=lambda: NO_VARIABLES)  # options of the command that runs it
    find_value: Callable[[ast.expr], object] = field(default=lambda _: UNKNOWN)  # of an option, as far as it is certain
    reports_to_wandb: bool = False  # wandb is installed, and Hugging Face's Trainer reports to it unless told not to

    def text_of(self, node: ast.expr | None) -> str | None:
        """As far as it can be told: a literal, a name with one value, an option of the command or its default."""
        found = self.module.find_beginning(node)
        if found is not None or node is None:
            return found
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None
        return self.arguments.get(name) if name else None

    def is_false(self, node: ast.expr | None) -> bool:
        return node is not None and (self.module.find_constant(node) in (False, 0) or self.find_value(node) is False)

    def is_true(self, node: ast.expr | None) -> bool:
        return node is not None and (self.module.find_constant(node) is True or self.find_value(node) is True)

    def is_empty(self, node: ast.expr | None) -> bool:
        """Not given, or certainly nothing."""
        if node is None:
            return True
        value = self.find_value(node)
        return value is not UNKNOWN and not value

    @property
    def variables(self) -> Mapping[str, str]:
        return {**self.env, **self.module.variables}

    def is_local(self, node: ast.expr | None) -> bool:
        """A path, or something that by its name is one."""
        text = self.text_of(node)
        if text is None:
            return node is None or bool(_NAMES_A_PATH.search(format_node(node)[:200]))
        beginning = text.split("/")[0]
        return (
            text.startswith(("/", ".", "~", "$", "\\"))
            or text.count("/") > 1
            or bool(_FILE_ENDING.search(text))
            or text in self.folders
            or beginning in self.folders
        )


def make_use(
    call: Call,
    kind: UseKind,
    hint: str,
    *,
    what: str | None = None,
    folder: str | None = None,
    cache: str | None = None,
    kept_as: str | None = None,
) -> Use:
    name = ".".join(part for part in call.name.split(".") if part.strip("*?"))
    short = ".".join(name.lstrip(".").split(".")[-1 if "*" in call.name else -2 :])
    return Use(
        line=call.line,
        column=call.column,
        what=make_shown(what or f"{short}({_shorten(call)})"),
        kind=kind,
        hint=make_shown(hint, longest=300),
        is_certain=call.place.is_certain and kind is UseKind.FETCH,
        folder=folder,
        cache=cache if call.keyword("cache_dir") is None else None,
        kept_as=kept_as,
    )


def in_python(line: str) -> str:
    """A line to paste into a shell."""
    if '"' not in line:
        line = line.replace("'", '"')
    return f"python -c {shlex.quote(line)}"


def goes_out(address: str) -> bool:
    match = _HTTP.match(address)
    return bool(match and match[1] and not _NEAR.match(match[1]))


def _shorten(call: Call) -> str:
    if not call.node.args:
        return "…" if call.node.keywords else ""
    first = call.node.args[0]
    shown = format_node(first) if isinstance(first, ast.Constant | ast.Name | ast.Attribute) else "…"
    return shown if len(call.node.args) + len(call.node.keywords) == 1 else f"{shown}, …"
