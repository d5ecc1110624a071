"""TOML files: loaded with every way a file can be wrong told in a sentence, and with the lines of their keys."""

import stat
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from windlass.core.toml.reading import Path as KeyPath
from windlass.core.toml.reading import format_path
from windlass.errors import ConfigError

MAX_BYTES = 1_000_000
MAX_DEPTH = 50
_DEPTH_SHOWN = 5
_BOMS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


@dataclass(frozen=True, kw_only=True)
class TomlFile:
    """`shown`: how messages call it."""

    shown: str
    text: str
    values: dict[str, object]

    @cached_property
    def _lines(self) -> dict[KeyPath, int]:
        from windlass.core.toml.lines import find_lines  # only when something is wrong, or --origin is asked

        return find_lines(self.text)

    def line_of(self, path: KeyPath) -> int | None:
        from windlass.core.toml.lines import nearest_line

        return nearest_line(self._lines, path)


def load_toml(path: Path, *, shown: str | None = None) -> TomlFile:
    """Raises ConfigError, also when the file is not there."""
    name = shown or str(path)
    return read_toml(_decode(_load_bytes(path, name), name), shown=name)


def is_there(path: Path) -> bool:
    """Also when it cannot be read, or leads nowhere: then loading it says why. Nothing of the user's is passed over."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def read_toml(text: str, *, shown: str) -> TomlFile:
    """Raises ConfigError with file and line."""
    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise ConfigError(f"{shown} is nested too deeply to be read") from None
    except ValueError as error:  # a number of 5000 digits is a plain ValueError
        raise _make_syntax_error(shown, text, str(error)) from None
    if key := _find_too_deep(values):
        raise ConfigError(f"{shown} is nested too deeply to be read: no setting has as many parts as {key}")
    return TomlFile(shown=shown, text=text, values=values)


def _find_too_deep(values: dict[str, object]) -> str | None:
    """The beginning of a key with more parts than any setting has; whoever reads on may then recurse."""
    waiting: list[tuple[KeyPath, object]] = [((), values)]
    while waiting:
        path, value = waiting.pop()
        if len(path) > MAX_DEPTH:
            return f"{format_path(path[:_DEPTH_SHOWN])}.…"
        if isinstance(value, dict):
            waiting += [((*path, key), inner) for key, inner in value.items() if isinstance(inner, dict | list)]
        elif isinstance(value, list):
            waiting += [((*path, at), one) for at, one in enumerate(value) if isinstance(one, dict | list)]
    return None


def _load_bytes(path: Path, name: str) -> bytes:
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            raise ConfigError(f"{name} is a folder, not a file")
        if not stat.S_ISREG(found.st_mode):
            raise ConfigError(f"{name} is not a regular file")
        if found.st_size > MAX_BYTES:
            raise ConfigError(
                f"{name} has {found.st_size:,} bytes; no settings are that long", hint="is it the right file?"
            )
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError(f"there is no file {name}") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(f"{name} cannot be read: {reason.lower()}") from None


def _decode(content: bytes, name: str) -> str:
    if content[:2] in _BOMS:
        raise ConfigError(f"{name} is {_BOMS[content[:2]]}, not UTF-8", hint="save it as UTF-8 in your editor")
    if b"\0" in content:
        raise ConfigError(f"{name} is not a text file", hint="is it the right file?")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        bad = content[error.start]
        raise ConfigError(
            f"{name}:{line} is not UTF-8 (byte 0x{bad:02x})", hint="save it as UTF-8 in your editor"
        ) from None


def _make_syntax_error(shown: str, text: str, words: str) -> ConfigError:
    """tomllib says `Invalid value (at line 4, column 9)`."""
    message, _, where = words.rpartition(" (at ")
    if not where.startswith(("line", "end of")):
        return ConfigError(f"{shown} is not TOML: {words[:200]}")
    numbers = [int(part) for part in where.rstrip(")").replace(",", "").split() if part.isdecimal()]
    line = numbers[0] if numbers else text.count("\n") + 1
    written = (text.splitlines() or [""])[min(line, len(text.splitlines() or [""])) - 1].strip()
    details = [f"{shown}:{line}  {_printable(written)}"] if written else []
    return ConfigError(
        f"{shown}:{line} is not TOML: {message[:1].lower()}{message[1:]}",
        details=details,
        hint=_advise(message, written),
    )


def _advise(message: str, written: str) -> str | None:
    if "nvalid value" in message and "=" in written:
        key, _, value = written.partition("=")
        value = value.strip()
        if value and value[0].isalpha():
            return f'text needs quotes: {_printable(key.strip())} = "{_printable(value)}"'
    if "overwrite a value" in message or "twice" in message:
        return "the key is there a second time; keep one of them"
    return None


def _printable(text: str) -> str:
    cut = text if len(text) <= 80 else text[:79] + "…"
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in cut)
