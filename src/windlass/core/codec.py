"""Plans, records and facts as JSON and back: one place, so that files at a site and on the laptop agree."""

from pathlib import PurePath
from typing import TypeVar

import msgspec

from windlass.errors import WindlassError

T = TypeVar("T")


def to_json(value: object) -> bytes:
    """Stable bytes: keys in the order of the fields, indented for people."""
    return msgspec.json.format(msgspec.json.encode(value, enc_hook=_encode), indent=2) + b"\n"


def from_json(text: bytes, kind: type[T], *, error: type[WindlassError], what: str) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise error(f"{what} cannot be read: {problem}") from problem


def _encode(value: object) -> object:
    if isinstance(value, PurePath):
        return str(value)
    if hasattr(value, "items"):  # MappingProxyType
        return dict(value.items())
    raise NotImplementedError(f"{type(value)} has no JSON form")
