"""Python source as a tree with names resolved, whatever somebody put into the file. Nothing is run."""

import ast
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.IfExp, ast.BoolOp, ast.Match, ast.ExceptHandler)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where in its file something stands."""

    is_certain: bool = True  # reached whenever the file is run: in no branch and no function
    in_main: bool = False  # below `if __name__ == "__main__"`
    in_loop: bool = False
    function: str | None = None  # the function of the module that it is in; None: code that may always be reached
    switches: frozenset[str] = frozenset()  # what must be true around it: `if args.log:`
    tested: frozenset[str] = frozenset()  # texts in the conditions around it: `if "RANK" not in os.environ`


@dataclass(frozen=True, kw_only=True)
class Call:
    name: str  # with the imports resolved: "transformers.AutoModel.from_pretrained"
    node: ast.Call
    place: Place

    @property
    def line(self) -> int:
        return self.node.lineno

    @property
    def column(self) -> int:
        return self.node.col_offset + 1

    def keyword(self, *names: str) -> ast.expr | None:
        return next((one.value for one in self.node.keywords if one.arg in names), None)

    def argument(self, position: int, *names: str) -> ast.expr | None:
        """By position or by one of its names."""
        if position < len(self.node.args):
            return self.node.args[position]
        return self.keyword(*names)


@dataclass(frozen=True, kw_only=True)
class Text:
    """A string that is no docstring."""

    value: str
    line: int
    column: int
    place: Place


@dataclass(frozen=True, kw_only=True)
class Setting:
    """`os.environ[NAME] = value`"""

    name: str
    value: ast.expr
    place: Place

    @property
    def is_default(self) -> bool:
        """Only where nobody else has set it."""
        return self.name in self.place.tested


@dataclass(frozen=True, kw_only=True, eq=False)
class PythonModule:
    """What the checks ask about one file."""

    problem: tuple[int, str] | None = None  # it cannot be read as Python: line and why
    calls: tuple[Call, ...] = ()
    texts: tuple[Text, ...] = ()
    imports: tuple[tuple[int, str, tuple[str, ...]], ...] = ()  # level of a relative one, module, names
    assigned: Mapping[str, ast.expr] = field(default_factory=dict)  # names that are set exactly once
    settings: tuple[Setting, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)  # of the environment, set by the code
    mentions: Mapping[str | None, frozenset[str]] = field(default_factory=dict)  # function -> words used in it
    main_mentions: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()  # of the module, without a decorator
    bound: frozenset[str] = frozenset()  # names the file gives a meaning of its own

    @property
    def modules(self) -> frozenset[str]:
        """The first words of all that is imported."""
        return frozenset(module.partition(".")[0] for level, module, _ in self.imports if not level)

    def find_constant(self, node: ast.expr | None) -> object:
        """The value of a literal, or of a name that was given one once; None when it cannot be told."""
        for _ in range(5):
            if isinstance(node, ast.Constant):
                return node.value
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
                value = self.find_constant(node.operand)
                return -value if isinstance(value, int | float) else None
            if not isinstance(node, ast.Name):
                return None
            node = self.assigned.get(node.id)
        return None

    def find_beginning(self, node: ast.expr | None) -> str | None:
        """The text an expression begins with: all of a literal, the front of an f-string or of a sum."""
        for _ in range(20):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod | ast.Div):
                node = node.left
            elif isinstance(node, ast.JoinedStr) and node.values:
                node = node.values[0]
            elif isinstance(node, ast.Name) and node.id in self.assigned:
                node = self.assigned[node.id]
            else:
                break
        value = self.find_constant(node)
        return value if isinstance(value, str) else None


@lru_cache(maxsize=512)
def read_python(text: str) -> PythonModule:
    """Never raises: what cannot be parsed has a `problem` and nothing else."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a "\d" in somebody's file is not ours to tell
            tree = ast.parse(text.removeprefix("\ufeff"))
    except SyntaxError as error:
        return PythonModule(problem=(error.lineno or 1, error.msg))
    except (ValueError, RecursionError, MemoryError) as error:
        return PythonModule(problem=(1, str(error) or "it is nested too deeply"))
    return _Reader(tree).read()


def format_node(node: ast.expr | None) -> str:
    """The expression as source; nothing for one that is nested too deeply."""
    try:
        return ast.unparse(node) if node is not None else ""
    except RecursionError:
        return ""


class _Reader:
    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.aliases: dict[str, str] = {}
        self.stars: list[str] = []
        self.imports: list[tuple[int, str, tuple[str, ...]]] = []
        self.calls: list[Call] = []
        self.texts: list[Text] = []
        self.values: dict[str, list[ast.expr | None]] = {}
        self.settings: list[Setting] = []
        self.mentions: dict[str | None, set[str]] = {}
        self.main_mentions: set[str] = set()
        self.docstrings = set(_find_docstrings(tree))

    def read(self) -> PythonModule:
        nodes = list(_walk(self.tree))
        for node, _ in nodes:
            self._read_import(node)
        for node, place in nodes:
            self._read_node(node, place)
        once = {name: found[0] for name, found in self.values.items() if len(found) == 1}
        functions = [one for one in self.tree.body if isinstance(one, _FUNCTIONS)]
        return PythonModule(
            calls=tuple(sorted(self.calls, key=lambda one: (one.line, one.column))),
            texts=tuple(sorted(self.texts, key=lambda one: (one.line, one.column))),
            imports=tuple(self.imports),
            assigned={name: value for name, value in once.items() if value is not None},
            settings=tuple(sorted(self.settings, key=lambda one: one.value.lineno)),
            variables=self._find_variables(),
            mentions={where: frozenset(words) for where, words in self.mentions.items()},
            main_mentions=frozenset(self.main_mentions),
            functions=frozenset(one.name for one in functions if not one.decorator_list),
            bound=frozenset(self.values) | {one.name for one in functions},
        )

    def _read_import(self, node: ast.AST) -> None:
        match node:
            case ast.Import(names=names):
                for one in names:
                    self.imports.append((0, one.name, ()))
                    self.aliases[one.asname or one.name.partition(".")[0]] = (
                        one.name if one.asname else one.name.partition(".")[0]
                    )
            case ast.ImportFrom(module=module, names=names, level=level):
                self.imports.append((level, module or "", tuple(one.name for one in names)))
                home = "." * level + (module or "")
                self.stars += [home for one in names if one.name == "*"]
                self.aliases.update({one.asname or one.name: f"{home}.{one.name}" for one in names if one.name != "*"})

    def _read_node(self, node: ast.AST, place: Place) -> None:
        match node:
            case ast.Call(func=func):
                if name := self._resolve(func):
                    self.calls.append(Call(name=name, node=node, place=place))
            case ast.Constant(value=str(value)) if id(node) not in self.docstrings:
                found = Text(value=value, line=node.lineno, column=node.col_offset + 1, place=place)
                self.texts.append(found)
                self._mention(value, place)
            case ast.Name(id=name, ctx=ast.Load()):
                self._mention(name, place)
            case ast.Name(id=name):
                self.values.setdefault(name, [])
            case ast.Attribute(attr=name):
                self._mention(name, place)
            case ast.arg(arg=name):
                self.values.setdefault(name, []).append(None)
            case ast.Assign(targets=targets, value=value):
                self._bind(targets, value)
                self._set(targets, value, place)
            case ast.AnnAssign(target=target, value=given):
                self._bind([target], given)
            case ast.AugAssign(target=target):
                self._bind([target], None)
            case ast.For(target=target) | ast.AsyncFor(target=target) | ast.comprehension(target=target):
                self._bind([target], None)
            case ast.withitem(optional_vars=ast.expr() as target):
                self._bind([target], None)

    def _mention(self, word: str, place: Place) -> None:
        if not word.isidentifier():
            return
        if place.in_main:
            self.main_mentions.add(word)
        else:
            self.mentions.setdefault(place.function, set()).add(word)

    def _bind(self, targets: list[ast.expr], value: ast.expr | None) -> None:
        for target in targets:
            if isinstance(target, ast.Name):
                self.values.setdefault(target.id, []).append(value)
            elif isinstance(target, ast.Tuple | ast.List):
                self._bind(target.elts, None)

    def _set(self, targets: list[ast.expr], value: ast.expr, place: Place) -> None:
        for target in targets:
            if isinstance(target, ast.Subscript) and self._resolve(target.value) == "os.environ":
                self.settings.append(Setting(name=str(_constant(target.slice)), value=value, place=place))

    def _resolve(self, node: ast.expr) -> str | None:
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name):
            first = self.aliases.get(node.id, node.id)
            if first == node.id and self.stars and node.id not in self.aliases and not parts:
                first = f"{self.stars[-1]}.*.{node.id}"  # it may come from there
            parts.append(first)
        elif parts:
            parts.append("?")  # a method of something that was called or indexed
        return ".".join(reversed(parts)) or None

    def _find_variables(self) -> dict[str, str]:
        found = {one.name: str(value) for one in self.settings if (value := _constant(one.value)) is not None}
        for call in self.calls:
            if call.name in ("os.environ.setdefault", "os.putenv") and len(call.node.args) == 2:
                found[str(_constant(call.node.args[0]))] = str(_constant(call.node.args[1]))
            elif call.name == "os.environ.update" and call.node.args and isinstance(call.node.args[0], ast.Dict):
                pairs = zip(call.node.args[0].keys, call.node.args[0].values, strict=True)
                found |= {str(_constant(key)): str(_constant(value)) for key, value in pairs}
        return found


def _walk(tree: ast.Module) -> Iterator[tuple[ast.AST, Place]]:
    """All nodes with their places; without recursion, because files can be nested deeply."""
    waiting: list[tuple[ast.AST, Place]] = [(tree, Place())]
    while waiting:
        node, place = waiting.pop()
        yield node, place
        waiting.extend(_place_children(node, place, is_top=tree))


def _place_children(node: ast.AST, place: Place, *, is_top: ast.Module) -> Iterator[tuple[ast.AST, Place]]:
    if isinstance(node, ast.If) and _is_main_guard(node.test):
        yield from ((child, replace(place, in_main=True)) for child in node.body)
        yield from ((child, place) for child in node.orelse)
        return
    if isinstance(node, (*_FUNCTIONS, ast.Lambda)):
        is_own = node in is_top.body and isinstance(node, _FUNCTIONS) and not node.decorator_list
        name = getattr(node, "name", None) if is_own else place.function
        place = replace(place, is_certain=False, in_loop=False, function=name)
    elif isinstance(node, ast.If):
        inside = replace(place, is_certain=False, tested=place.tested | _find_texts(node.test))
        switched = replace(inside, switches=place.switches | frozenset(_find_switches(node.test)))
        yield from ((child, switched) for child in node.body)
        yield from ((child, inside) for child in (node.test, *node.orelse))
        return
    elif isinstance(node, _BRANCHES):
        place = replace(place, is_certain=False, in_loop=place.in_loop or isinstance(node, _LOOPS))
    yield from ((child, place) for child in ast.iter_child_nodes(node))


def _is_main_guard(test: ast.expr) -> bool:
    match test:
        case ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant(value="__main__")]):
            return True
        case ast.Compare(left=ast.Constant(value="__main__"), ops=[ast.Eq()], comparators=[ast.Name(id="__name__")]):
            return True
    return False


def _find_switches(test: ast.expr) -> Iterator[str]:
    """`args.log and is_first` -> log, is_first"""
    for one in test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else (test,):
        if isinstance(one, ast.Attribute):
            yield one.attr
        elif isinstance(one, ast.Name):
            yield one.id


def _find_texts(test: ast.expr) -> set[str]:
    constants = (node.value for node in ast.walk(test) if isinstance(node, ast.Constant))
    return {value for value in constants if isinstance(value, str)}


def _find_docstrings(tree: ast.Module) -> Iterator[int]:
    """Strings that stand alone: docstrings, and code that was put out of use by quotes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant | ast.JoinedStr):
            yield id(node.value)


def _constant(node: ast.expr | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None
