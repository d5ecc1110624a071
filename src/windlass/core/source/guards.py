"""Whether a branch is certainly not taken: conditions over constants and options. Nothing is run."""

import ast
import operator
from collections.abc import Callable
from enum import Enum
from typing import Final

_DEEPEST = 25
_COMPARISONS: dict[type[ast.cmpop], Callable[[object, object], object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_ORDERS: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class Unknown(Enum):
    """It cannot be told; no value of the code's is this one."""

    UNKNOWN = 0


UNKNOWN: Final = Unknown.UNKNOWN
Lookup = Callable[[ast.expr], object]  # of a name or an attribute


def evaluate(node: ast.expr | None, find: Lookup, depth: int = 0) -> object:
    """The value of an expression, as far as it follows from what `find` knows; else UNKNOWN."""
    if node is None or depth > _DEEPEST:
        return UNKNOWN
    match node:
        case ast.Constant(value=constant):
            return constant
        case ast.Name() | ast.Attribute():
            return find(node)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            value = evaluate(operand, find, depth + 1)
            return UNKNOWN if value is UNKNOWN else not value
        case ast.BoolOp(op=op, values=values):
            return _combine([evaluate(one, find, depth + 1) for one in values], is_and=isinstance(op, ast.And))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compare(op, evaluate(left, find, depth + 1), _evaluate_group(right, find, depth + 1))
        case ast.Call(func=ast.Attribute(value=home, attr=method), args=[given], keywords=[]):
            return _ask(evaluate(home, find, depth + 1), method, _evaluate_group(given, find, depth + 1))
        case ast.Call(func=ast.Attribute(value=home, attr="lower"), args=[], keywords=[]):
            value = evaluate(home, find, depth + 1)
            return value.lower() if isinstance(value, str) else UNKNOWN
    return UNKNOWN


def _combine(values: list[object], *, is_and: bool) -> object:
    """One that decides is enough, whatever the others are."""
    if any(value is not UNKNOWN and bool(value) is not is_and for value in values):
        return not is_and
    return UNKNOWN if any(value is UNKNOWN for value in values) else is_and


def _evaluate_group(node: ast.expr, find: Lookup, depth: int) -> object:
    """A value, or a tuple of values: `in ("a", "b")`."""
    if not isinstance(node, ast.Tuple | ast.List | ast.Set):
        return evaluate(node, find, depth)
    values = tuple(evaluate(one, find, depth + 1) for one in node.elts)
    return UNKNOWN if any(value is UNKNOWN for value in values) else values


def _compare(op: ast.cmpop, left: object, right: object) -> object:
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    if isinstance(op, ast.In | ast.NotIn):
        if isinstance(right, tuple) or (isinstance(left, str) and isinstance(right, str)):
            return (left in right) is isinstance(op, ast.In)
        return UNKNOWN
    if type(op) in _COMPARISONS:
        return _COMPARISONS[type(op)](left, right)
    if type(op) in _ORDERS and isinstance(left, int | float) and isinstance(right, int | float):
        return _ORDERS[type(op)](left, right)
    return UNKNOWN


def _ask(value: object, method: str, given: object) -> object:
    if not isinstance(value, str) or method not in {"startswith", "endswith"}:
        return UNKNOWN
    wanted = given if isinstance(given, tuple) else (given,)
    if not all(isinstance(one, str) for one in wanted):
        return UNKNOWN
    texts = tuple(str(one) for one in wanted)
    return value.startswith(texts) if method == "startswith" else value.endswith(texts)
