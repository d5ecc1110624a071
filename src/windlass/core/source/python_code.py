"""Python source as a tree with names resolved, whatever somebody put into the file. Nothing is run."""

import ast
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from windlass.core.source.python_module import Call, Place, PythonModule, Setting, Text

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.IfExp, ast.BoolOp, ast.Match, ast.ExceptHandler)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_PARSERS = frozenset({"parse_args", "parse_known_args", "parse_args_into_dataclasses"})
_MOST_GUARDS = 50


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
        self.mentions: dict[Place, set[str]] = {}
        self.tests: list[ast.expr] = []
        self.fields: list[ast.AnnAssign] = []
        self.stored: set[str] = set()
        self.namespaces: set[str] = set()
        self.docstrings = set(_find_docstrings(tree))

    def read(self) -> PythonModule:
        nodes = list(_walk(self.tree))
        for node, _ in nodes:
            self._read_import(node)
        for node, place in nodes:
            self._read_node(node, place)
        functions = [one for one in self.tree.body if isinstance(one, _FUNCTIONS)]
        # `try: import wandb … except ImportError: wandb = None` says nothing of which it is.
        other = {*self.aliases, *(one.name for one in functions)}
        once = {name: found[0] for name, found in self.values.items() if len(found) == 1 and name not in other}
        return PythonModule(
            calls=tuple(sorted(self.calls, key=lambda one: (one.line, one.column))),
            texts=tuple(sorted(self.texts, key=lambda one: (one.line, one.column))),
            imports=tuple(self.imports),
            assigned={name: value for name, value in once.items() if value is not None},
            settings=tuple(sorted(self.settings, key=lambda one: one.value.lineno)),
            variables=self._find_variables(),
            mentions={where: frozenset(words) for where, words in self.mentions.items()},
            tests=tuple(self.tests),
            fields=tuple(self.fields),
            stored=frozenset(self.stored),
            namespaces=frozenset(self.namespaces),
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
            case ast.Attribute(attr=name, ctx=context):
                self._mention(name, place)
                if not isinstance(context, ast.Load):
                    self.stored.add(name)
            case ast.If(test=test) | ast.IfExp(test=test):
                self.tests.append(test)
            case ast.ClassDef(decorator_list=[_, *_] as marks, body=body) if "dataclass" in map(_name_of, marks):
                self.fields += [one for one in body if isinstance(one, ast.AnnAssign)]
            case ast.NamedExpr(target=target):
                self._bind([target], None)
            case ast.arg(arg=name):
                self.values.setdefault(name, []).append(None)
            case ast.Assign(targets=targets, value=value):
                self._bind(targets, value)
                self._set(targets, value, place)
                self._name_options(targets, value)
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
        self.mentions.setdefault(place, set()).add(word)

    def _bind(self, targets: list[ast.expr], value: ast.expr | None) -> None:
        for target in targets:
            if isinstance(target, ast.Name):
                self.values.setdefault(target.id, []).append(value)
            elif isinstance(target, ast.Tuple | ast.List):
                self._bind(target.elts, None)
            elif isinstance(target, ast.Starred):
                self._bind([target.value], None)

    def _name_options(self, targets: list[ast.expr], value: ast.expr) -> None:
        """`args = parser.parse_args()`, `args, rest = parser.parse_known_args()`"""
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _PARSERS:
            for target in targets:
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                self.namespaces |= {one.id for one in names if isinstance(one, ast.Name)}

    def _set(self, targets: list[ast.expr], value: ast.expr, place: Place) -> None:
        for target in targets:
            if isinstance(target, ast.Subscript) and self._resolve(target.value) == "os.environ":
                self.settings.append(Setting(name=str(_constant(target.slice)), value=value, place=place))

    def _resolve(self, node: ast.expr) -> str | None:
        parts: list[str] = []
        match node:
            # A member that is chosen while the program runs: models.__dict__[args.arch], getattr(models, args.arch)
            case ast.Subscript(value=ast.Attribute(value=home, attr="__dict__")):
                parts, node = ["?"], home
            case ast.Call(func=ast.Name(id="getattr"), args=[home, _, *_]):
                parts, node = ["?"], home
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
        is_own = isinstance(node, _FUNCTIONS) and _is_called_by_name(node, is_top)
        name = getattr(node, "name", None) if is_own else place.function
        place = replace(place, is_certain=False, in_loop=False, function=name)
    elif isinstance(node, ast.If):
        inside = replace(place, is_certain=False, tested=place.tested | _find_texts(node.test))
        switched = replace(inside, switches=place.switches | frozenset(_find_switches(node.test)))
        taken, other = _guard(switched, node.test, holds=True), _guard(inside, node.test, holds=False)
        yield from ((child, taken) for child in node.body)
        yield from ((child, other) for child in node.orelse)
        yield node.test, inside
        return
    elif isinstance(node, ast.IfExp):
        place = replace(place, is_certain=False)
        yield node.test, place
        yield node.body, _guard(place, node.test, holds=True)
        yield node.orelse, _guard(place, node.test, holds=False)
        return
    elif isinstance(node, _BRANCHES):
        place = replace(place, is_certain=False, in_loop=place.in_loop or isinstance(node, _LOOPS))
    yield from ((child, place) for child in ast.iter_child_nodes(node))


def _is_called_by_name(node: ast.FunctionDef | ast.AsyncFunctionDef, tree: ast.Module) -> bool:
    """A plain function of the module, or a class method; other methods and decorated ones a framework may call."""
    if not node.decorator_list:
        return node in tree.body
    if any(getattr(one, "id", None) not in {"classmethod", "staticmethod"} for one in node.decorator_list):
        return False
    return any(node in one.body for one in tree.body if isinstance(one, ast.ClassDef))


def _guard(place: Place, test: ast.expr, *, holds: bool) -> Place:
    # A chain of thousands of `elif` would make sets of thousands.
    return replace(place, guards=place.guards | {(test, holds)}) if len(place.guards) < _MOST_GUARDS else place


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


def _name_of(mark: ast.expr) -> str | None:
    """`@dataclass`, `@dataclasses.dataclass(frozen=True)` -> dataclass"""
    node = mark.func if isinstance(mark, ast.Call) else mark
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
