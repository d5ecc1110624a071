"""Loaded by every Python of a rehearsal where no namespaces can be had: refuses connections to other machines.

Whoever has a sitecustomize of their own keeps it: the next one on the path is loaded too.
"""

import importlib.machinery
import importlib.util
import os
import pathlib
import socket
import sys
from typing import Any

_HERE = pathlib.Path(__file__).resolve().parent
_NEAR = ("127.", "::1", "localhost", "0.0.0.0", "::")
_connect, _connect_ex, _getaddrinfo = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo


def _is_near(address: Any) -> bool:
    if not isinstance(address, tuple):
        return True
    host = str(address[0])
    return host.startswith(_NEAR) or host == "" or host == socket.gethostname()


def _note(host: Any) -> None:
    path = os.environ.get("WINDLASS_REHEARSAL_QUESTIONS")
    if path:
        try:
            with open(path, "a") as file:
                file.write(str(host) + "\n")
        except OSError:
            pass


def _guarded(plain: Any) -> Any:
    def connect(self: Any, address: Any) -> Any:
        if not _is_near(address):
            _note(address[0])
            raise OSError(101, "Network is unreachable (refused by the rehearsal)")
        return plain(self, address)

    return connect


def _lookup(host: Any, *rest: Any, **named: Any) -> Any:
    name = host.decode() if isinstance(host, bytes) else host
    if name and "." in name and not _is_near((name,)) and not name.replace(".", "").isdigit():
        _note(name)
        raise socket.gaierror(-3, "Temporary failure in name resolution")
    return _getaddrinfo(host, *rest, **named)


# Replacing methods is what this module is for.
socket.socket.connect = _guarded(_connect)  # type: ignore[method-assign]
socket.socket.connect_ex = _guarded(_connect_ex)  # type: ignore[method-assign]
socket.getaddrinfo = _lookup

_others = [folder for folder in sys.path if pathlib.Path(folder or ".").resolve() != _HERE]
_next = importlib.machinery.PathFinder.find_spec("sitecustomize", _others)
if _next is not None and _next.loader is not None:
    _next.loader.exec_module(importlib.util.module_from_spec(_next))
