"""Options of the program that a command runs: what argparse declares, and what the words of the command give."""

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from windlass.core.source.guards import UNKNOWN
from windlass.core.source.python_module import Call, PythonModule, format_node
from windlass.core.source.shell_commands import ShellCommand

_YES = frozenset({"1", "true", "t", "yes", "y", "on"})
_NO = frozenset({"0", "false", "f", "no", "n", "off"})
_USUAL_NAMES = frozenset({"args", "opt", "opts", "flags", "FLAGS", "hparams"})
_READS_FILES = frozenset({"configargparse", "jsonargparse"})
_LONGEST_NUMBER = 300


@dataclass(frozen=True, kw_only=True)
class Words:
    """What the commands say."""

    given: Mapping[str, str] = field(default_factory=dict)  # name -> value, last one wins
    flags: frozenset[str] = frozenset()  # all options that stand there, with a value or without
    is_open: bool = False  # there is a variable among them that may hold more


@dataclass(frozen=True, kw_only=True)
class Options:
    texts: Mapping[str, str] = field(default_factory=dict)  # "num_workers" -> "4": given, or the default
    values: Mapping[str, object] = field(default_factory=dict)  # only those that are certain
    off: frozenset[str] = frozenset()  # switches that are not given
    defaults: Mapping[str, ast.expr] = field(default_factory=dict)  # of those that are not given
    namespaces: frozenset[str] = _USUAL_NAMES  # names of what a parser gave


@dataclass(frozen=True, kw_only=True)
class _Declared:
    """One add_argument."""

    dest: str
    names: frozenset[str]
    default: object  # UNKNOWN: cannot be told
    node: ast.expr | None
    action: str
    kind: str  # the name of `type`, or nothing
    is_simple: bool  # one value or none


def read_words(commands: Iterable[ShellCommand]) -> Words:
    given: dict[str, str] = {}
    flags: set[str] = set()
    unset: set[str] = set()
    known: set[str] = {"@", "*"}  # what a script is given stands in the words of who calls it
    for command in commands:
        held = [value.split() for value in command.assignments.values()]
        for words in (command.words, *held):
            given |= read_options(words)
            flags |= {_option(word.partition("=")[0]) for word in words if re.match(r"-+[A-Za-z]|[\w.]+=", word)}
        known |= set(command.assignments)
        unset |= set(_find_open(command.words[1:]))
    return Words(given=given, flags=frozenset(flags), is_open=bool(unset - known))


def read_options(words: Collection[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    last = None
    for word in words:
        name, equals, value = word.partition("=")
        if equals and re.fullmatch(r"(?:--|\+{0,2})[A-Za-z][\w.-]*", name):
            found[_option(name.rpartition(".")[2])] = value
        elif last and not word.startswith("-"):
            found[_option(last)] = word
        last = word if word.startswith("-") and not equals else None
    return found


def read_arguments(modules: Collection[PythonModule], words: Words, *, are_defaults_sure: bool = True) -> Options:
    """Defaults of argparse in the code, then what the command says: `--num-workers 4`, `-j 4`, `num_workers=4`."""
    declared = [one for module in modules for one in _find_declared(module)]
    if any(call.name.endswith("HfArgumentParser") for module in modules for call in module.calls):
        declared += [one for module in modules for one in _find_fields(module)]
    stored = frozenset().union(*(module.stored for module in modules))
    imported = frozenset().union(*(module.modules for module in modules))
    is_sure = are_defaults_sure and not words.is_open and not imported & _READS_FILES
    texts: dict[str, str] = {}
    values: dict[str, object] = {name: text for name, text in words.given.items() if _is_plain_word(text)}
    seen: dict[str, object] = {}
    for one in declared:
        texts |= _find_text(one, words)
        value = _find_value(one, words, is_sure=is_sure)
        seen[one.dest] = value if one.dest not in seen or _is_same(seen[one.dest], value) else UNKNOWN
    values = {name: value for name, value in {**values, **seen}.items() if value is not UNKNOWN and name not in stored}
    return Options(
        texts={**texts, **words.given, **_follow_aliases(declared, words)},
        values=values,
        off=frozenset(name for one in declared if _is_off(one, words) for name in {*one.names, one.dest}),
        defaults={one.dest: one.node for one in declared if one.node and not one.names & words.flags},
        namespaces=_USUAL_NAMES.union(*(module.namespaces for module in modules)),
    )


def overrides_defaults(call: Call, namespaces: Collection[str]) -> bool:
    """Something else than the command sets options: parser.set_defaults(**read), vars(args).update(read)"""
    last = call.name.rpartition(".")[2]
    if last in {"set_defaults", "Namespace"}:
        return bool(call.node.keywords)
    if last == "setattr" and call.node.args:
        return format_node(call.node.args[0]) in namespaces
    if last == "update" and isinstance(call.node.func, ast.Attribute):
        home = call.node.func.value
        match home:
            case ast.Call(func=ast.Name(id="vars"), args=[ast.Name(id=name)]):
                return name in namespaces
            case ast.Attribute(value=ast.Name(id=name), attr="__dict__"):
                return name in namespaces
    return False


def _find_declared(module: PythonModule) -> Iterator[_Declared]:
    for call in module.calls:
        names = [name for one in call.node.args if isinstance(name := module.find_constant(one), str)]
        if not call.name.endswith(".add_argument") or not names:
            continue
        written = module.find_constant(call.keyword("dest"))
        longest = next((name for name in names if name.startswith("--")), names[0])
        action = call.keyword("action")
        yield _Declared(
            dest=written if isinstance(written, str) else _option(longest),
            names=frozenset(_option(name) for name in names),
            default=_find_default(module, call, is_positional=not names[0].startswith("-")),
            node=call.keyword("default"),
            action=str(module.find_constant(action) or format_node(action).rpartition(".")[2]),
            kind=format_node(call.keyword("type"))[:100],
            is_simple=call.keyword("nargs") is None,
        )


def _find_fields(module: PythonModule) -> Iterator[_Declared]:
    """Hugging Face makes an option of each field of a data class."""
    for one in module.fields:
        node = one.value
        if isinstance(node, ast.Call):
            node = next((more.value for more in node.keywords if more.arg == "default"), node)
        kinds = re.findall(r"\b(?:str|int|float|bool)\b", format_node(one.annotation))
        if isinstance(one.target, ast.Name) and len(kinds) == 1:
            yield _Declared(
                dest=one.target.id,
                names=frozenset({one.target.id}),
                default=node.value if isinstance(node, ast.Constant) else UNKNOWN,
                node=node,
                action="",
                kind="yes or no" if kinds == ["bool"] else kinds[0],
                is_simple=True,
            )


def _find_default(module: PythonModule, call: Call, *, is_positional: bool) -> object:
    node = call.keyword("default")
    if node is not None:
        value = module.find_constant(node)
        is_none = isinstance(node, ast.Constant) and node.value is None
        return UNKNOWN if value is None and not is_none else value
    if is_positional or any(one.arg is None or one.arg == "required" for one in call.node.keywords):
        return UNKNOWN
    return {"store_true": False, "store_false": True}.get(str(module.find_constant(call.keyword("action"))))


def _find_value(one: _Declared, words: Words, *, is_sure: bool) -> object:
    shortened = {
        flag for flag in words.flags - one.names if len(flag) > 1 and any(name.startswith(flag) for name in one.names)
    }
    if one.action == "BooleanOptionalAction" and {f"no_{name}" for name in one.names} & words.flags:
        return False
    if not one.names & words.flags:
        is_text = isinstance(one.default, str) and one.kind not in {"", "str"}
        default = _convert(str(one.default), one.kind) if is_text else one.default
        return default if is_sure and not shortened else UNKNOWN
    if one.action in {"store_true", "store_false", "BooleanOptionalAction"}:
        return one.action != "store_false"
    text = next((words.given[name] for name in sorted(one.names, key=len) if name in words.given), None)
    if one.action not in {"", "store"} or not one.is_simple or text is None or "$" in text:
        return UNKNOWN
    return _convert(text, one.kind)


def _convert(text: str, kind: str) -> object:
    if kind in {"", "str"}:
        return text
    if kind == "bool":
        return bool(text)  # what argparse makes of "False", too
    try:
        if kind in {"int", "float"} and len(text) < _LONGEST_NUMBER:
            return int(text) if kind == "int" else float(text)
    except ValueError:
        return UNKNOWN
    return True if text.lower() in _YES else False if text.lower() in _NO else UNKNOWN


def _find_text(one: _Declared, words: Words) -> dict[str, str]:
    is_text = isinstance(one.default, str | int | float) and not isinstance(one.default, bool)
    return dict.fromkeys({*one.names, one.dest}, str(one.default)) if is_text else {}


def _follow_aliases(declared: Iterable[_Declared], words: Words) -> dict[str, str]:
    """`-j 16` of add_argument("-j", "--workers") is workers = 16."""
    found: dict[str, str] = {}
    for one in declared:
        for name in one.names & words.given.keys():
            found |= dict.fromkeys({*one.names, one.dest}, words.given[name])
    return found


def _is_off(one: _Declared, words: Words) -> bool:
    return one.action == "store_true" and one.default is not True and not one.names & words.flags


def _is_same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other


def _is_plain_word(text: str) -> bool:
    """It can only be a text: no number, no truth, nothing that a shell or a parser would turn into something else."""
    return text.lower() not in _YES | _NO | {"none", "null"} and re.fullmatch(r"[A-Za-z_./][\w./-]*", text) is not None


def _find_open(words: Collection[str]) -> Iterator[str]:
    """Variables that stand alone and may hold whole options: `python train.py $ARGS`."""
    last = ""
    for word in words:
        if not last.startswith("-") and (match := re.fullmatch(r"\$\{?(\w+|[@*])(?:\[[@*]\])?\}?", word)):
            yield match[1]
        last = word


def _option(word: str) -> str:
    return word.lstrip("-+").replace("-", "_")
