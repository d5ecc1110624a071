"""Functions and arguments as bytes: by name where the site can import them, as code where it cannot."""

import hashlib
import io
import json
import pickle
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import resources
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from windlass.edges.extras import make_extra_hint
from windlass.errors import ExtraMissing, NotSendable
from windlass_job import wire
from windlass_job.farming.chunks import call_each

# What Python 3.6 reads too, where a function is known there by its name.
_PROTOCOL = 4
_MAIN = b"__main__"


@dataclass(frozen=True, kw_only=True)
class Packed:
    """A function as it is sent, once."""

    digest: bytes
    content: bytes
    by_value: bool
    uses: tuple[object, ...] = ()  # what its code refers to: when that is another thing, it is packed anew


class Packer:
    """Remembers what it has packed: a function is pickled once, not once for each of a million calls."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, bool], Packed] = {}

    def pack_call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Call":
        packed = self._pack(function, is_each=False)
        content, is_code = pack_arguments(args, kwargs)
        if is_code and not packed.by_value:  # only the same Python reads it, which is seen by the function's head
            packed = pack_function(function, has_code=True)
        return Call(packed, packed.digest + content)

    def pack_each(self, function: Callable[..., Any], chunk: list[tuple[Any, ...]]) -> "Call":
        """All calls of a chunk as one."""
        packed = self._pack(function, is_each=True)
        content, is_code = pack_arguments((chunk,), {})
        if is_code and not packed.by_value:
            packed = pack_function(partial(call_each, function), has_code=True)
        return Call(packed, packed.digest + content)

    def _pack(self, function: Callable[..., Any], *, is_each: bool) -> Packed:
        key = (function, is_each)
        try:
            known = self._known.get(key)
        except TypeError:  # a callable that cannot be hashed
            return pack_function(partial(call_each, function) if is_each else function)
        if known is None or (known.by_value and not _are_same(known.uses, list_uses(function))):
            made = pack_function(partial(call_each, function) if is_each else function)
            known = self._known[key] = replace(made, uses=list_uses(function))
        return known


class Call(NamedTuple):
    packed: Packed
    row: bytes  # of the farm's table


def pack_function(function: Callable[..., Any], *, has_code: bool = False) -> Packed:
    """has_code: among its arguments is some."""
    name = _name(function)
    by_value = not can_go_by_name(function)
    try:
        content = _load_cloudpickle().dumps(function, _PROTOCOL) if by_value else pickle.dumps(function, _PROTOCOL)
    except ExtraMissing:
        raise
    except Exception as problem:  # whatever the objects that it refers to raise
        raise NotSendable(
            f"{name} cannot be sent: {type(problem).__name__}: {problem}",
            hint="open files, locks and connections inside the function",
        ) from problem
    by_value = by_value or has_code
    head = {"python": f"{sys.version_info[0]}.{sys.version_info[1]}", "by_value": by_value, "name": name}
    whole = json.dumps(head, sort_keys=True).encode() + b"\n" + content
    digest = hashlib.sha256(whole).hexdigest()[: wire.CALL_DIGEST].encode()
    return Packed(digest=digest, content=whole, by_value=by_value)


def _name(function: Callable[..., Any]) -> str:
    inner = function.args[0] if isinstance(function, partial) and function.func is call_each else function
    return f"{getattr(inner, '__module__', None)}.{getattr(inner, '__qualname__', repr(inner))}"


def can_go_by_name(function: Callable[..., Any]) -> bool:
    """It lies in a module that goes along or is installed there."""
    try:
        content = pickle.dumps(function, _PROTOCOL)
    except Exception:  # a lambda, a function in a function: pickle says so in several ways
        return False
    return not _has_code(content)


def _has_code(content: bytes) -> bool:
    """It names a module that the site does not have: the script, or what the user wants to go as code."""
    if _MAIN in content:
        return True
    cloudpickle = sys.modules.get("cloudpickle")
    names: set[str] = cloudpickle.list_registry_pickle_by_value() if cloudpickle is not None else set()
    return any(name.encode() in content for name in names)


def pack_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bytes, bool]:
    """And whether there is code in them: a function or class of a script has its name here only."""
    try:
        content = pickle.dumps((args, kwargs), _PROTOCOL)
    except Exception:
        content = _MAIN
    if not _has_code(content):
        return content, False
    try:
        return _load_cloudpickle().dumps((args, kwargs), _PROTOCOL), True
    except ExtraMissing:
        raise
    except Exception as problem:
        raise NotSendable(
            f"the arguments cannot be sent: {type(problem).__name__}: {problem}",
            hint="send plain values, arrays or the names of files",
        ) from problem


def list_uses(function: Callable[..., Any]) -> tuple[object, ...]:
    """Globals and variables around it that its code names, as they are now."""
    if not isinstance(function, FunctionType):
        return ()
    names, spaces = function.__code__.co_names, function.__globals__
    cells = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    return (*[spaces[name] for name in names if name in spaces], *cells, function.__code__, function.__defaults__)


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _are_same(old: tuple[object, ...], new: tuple[object, ...]) -> bool:
    return len(old) == len(new) and all(one is other for one, other in zip(old, new, strict=True))


def make_cloudpickle_zip() -> bytes:
    """The package as it is installed here: the site reads code with the one that wrote it."""
    folder = resources.files(_load_cloudpickle())
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir(), key=lambda one: one.name):
            if file.name.endswith(".py"):
                archive.writestr(zipfile.ZipInfo(f"cloudpickle/{file.name}"), file.read_bytes())
    return made.getvalue()


def _load_cloudpickle() -> ModuleType:
    try:
        import cloudpickle
    except ImportError as missing:
        raise ExtraMissing(
            "functions of a script, a notebook or a lambda are sent as code, which needs cloudpickle",
            hint=f"{make_extra_hint('futures')}, or put the function into a module of the project",
        ) from missing
    found: ModuleType = cloudpickle
    return found
