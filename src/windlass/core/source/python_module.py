"""What the checks ask about one Python file: calls, texts, names, and where each stands."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

Guard = tuple[ast.expr, bool]  # a condition, and whether it must hold


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where in its file something stands."""

    is_certain: bool = True  # reached whenever the file is run: in no branch and no function
    in_main: bool = False  # below `if __name__ == "__main__"`
    in_loop: bool = False
    function: str | None = None  # the function of the module that it is in; None: code that may always be reached
    switches: frozenset[str] = frozenset()  # what must be true around it: `if args.log:`
    guards: frozenset[Guard] = frozenset()  # the conditions around it
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
    mentions: Mapping[Place, frozenset[str]] = field(default_factory=dict)  # words, by where they are used
    tests: tuple[ast.expr, ...] = ()  # the conditions of all branches
    fields: tuple[ast.AnnAssign, ...] = ()  # of data classes
    stored: frozenset[str] = frozenset()  # attributes that are given a value: `args.x = 1`
    namespaces: frozenset[str] = frozenset()  # names that hold what a parser of options gave
    functions: frozenset[str] = frozenset()  # of the module, without a decorator
    bound: frozenset[str] = frozenset()  # names the file gives a meaning of its own

    @property
    def modules(self) -> frozenset[str]:
        """The first words of all that is imported."""
        return frozenset(module.partition(".")[0] for level, module, _ in self.imports if not level)

    @property
    def words(self) -> frozenset[str]:
        return frozenset().union(*self.mentions.values())

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


def format_node(node: ast.expr | None) -> str:
    """The expression as source; nothing for one that is nested too deeply."""
    try:
        return ast.unparse(node) if node is not None else ""
    except RecursionError:
        return ""
