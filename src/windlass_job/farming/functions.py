"""Functions that calls name, loaded once each in a warm worker: by their name, or as code that was sent along.

functions/DIGEST            a line of JSON (python, by_value, name), then the pickled function
functions/cloudpickle.zip   what loads code; of the laptop's version, since the other one may not read it
"""

import json
import os
import pickle
import sys
from typing import Any, Callable, Dict, Optional, Tuple

from windlass_job import disk, wire


class CannotLoad(Exception):
    """With what is said of each call of it; `kind` is one of wire's words, `cause` what was raised."""

    def __init__(self, kind: str, text: str, cause: "Optional[BaseException]" = None) -> None:
        Exception.__init__(self, text)
        self.kind, self.cause = kind, cause


class Functions:
    def __init__(self, folder: bytes) -> None:
        self._folder = os.path.join(folder, wire.FARM_FUNCTIONS.encode())
        self._known: "Dict[bytes, Callable[..., Any]]" = {}
        self._has_cloudpickle = False

    def load(self, digest: bytes) -> "Callable[..., Any]":
        found = self._known.get(digest)
        if found is None:
            found = self._known[digest] = self._load(digest)
        return found

    def load_arguments(self, content: bytes) -> "Tuple[Any, Any]":
        """They may hold code too."""
        if not self._has_cloudpickle and b"cloudpickle" in content:
            self._take_cloudpickle()
        args, kwargs = pickle.loads(content)
        return args, kwargs

    def dump(self, value: object) -> bytes:
        """As code where it cannot be found by its name; the laptop knows that code again."""
        try:
            return pickle.dumps(value, 4)
        except Exception:
            if not self._has_cloudpickle and not self._is_carried():
                raise
            self._take_cloudpickle()
            return bytes(sys.modules["cloudpickle"].dumps(value, 4))

    def _load(self, digest: bytes) -> "Callable[..., Any]":
        name = digest.decode("ascii", "replace")
        try:
            head, _, content = disk.read_bytes(os.path.join(self._folder, digest)).partition(b"\n")
            card = json.loads(head.decode("utf-8"))
        except (OSError, ValueError) as error:
            raise CannotLoad(wire.NO_FUNCTION, "its function {} is not there".format(name), error)
        check_version(card)
        try:
            if card["by_value"]:
                self._take_cloudpickle()
            function: "Callable[..., Any]" = pickle.loads(content)
        except Exception as error:  # whatever its modules raise when they are imported
            raise CannotLoad(wire.NO_FUNCTION, "{}: {}".format(card["name"], describe(error)), error)
        return function

    def _take_cloudpickle(self) -> None:
        if self._has_cloudpickle:
            return
        path = disk.as_text(os.path.join(self._folder, wire.FARM_CLOUDPICKLE.encode()))
        sys.path.insert(0, path)
        try:
            __import__("cloudpickle")
        finally:
            sys.path.remove(path)
        self._has_cloudpickle = True

    def _is_carried(self) -> bool:
        return os.path.exists(os.path.join(self._folder, wire.FARM_CLOUDPICKLE.encode()))


def check_version(card: "Dict[str, Any]") -> None:
    """Code is bytecode, which only its own minor version runs: another one may crash, or run something else."""
    here = "{}.{}".format(*sys.version_info[:2])
    if card["by_value"] and card["python"] != here:
        raise CannotLoad(
            wire.OTHER_PYTHON,
            "{} is sent as code of Python {}, and the environment of the run has Python {}".format(
                card["name"], card["python"], here
            ),
        )


def describe(error: BaseException) -> str:
    """Its type alone where its own text cannot be made."""
    name = type(error).__name__
    try:
        return "{}: {}".format(name, error)
    except BaseException:
        return name
