"""Libraries of the training, which may have them or not. They are imported when something of theirs is asked for."""

import importlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Missing(ImportError):
    """Something was asked for that needs a library which is not installed."""


def load(name: str, what: str) -> "Any":
    """The module; `what` needs it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Missing("{} needs {}, which cannot be imported here: {}".format(what, name.split(".")[0], error))


def find(name: str) -> "Any":
    """The module where it can be imported, else None."""
    try:
        return importlib.import_module(name)
    except Exception:  # a broken installation of somebody else's is as good as none
        return None


def find_loaded(name: str) -> "Any":
    """The module where the training has imported it already, else None."""
    return sys.modules.get(name)
