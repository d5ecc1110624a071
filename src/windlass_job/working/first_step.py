"""Laid as sitecustomize.py beside a command that is watched: it ends a training that is about to make its first step.

WINDLASS_RECORD: a file that is made then; empty: trainings are left alone. WINDLASS_NO_NETWORK: connections to other
machines are refused. WINDLASS_HOOKED: a file that tells that some Python came by here.
Whoever has a sitecustomize of their own keeps it: the next one on the path is loaded too.
"""

import importlib.machinery
import importlib.util
import os
import socket
import sys
from typing import Any, Callable

_HERE = os.path.dirname(os.path.abspath(__file__))
_NEAR = ("127.", "::1", "localhost", "0.0.0.0", "::")


def stop() -> None:
    """At once, past every handler: a framework would save, or try again."""
    path = os.environ["WINDLASS_RECORD"]
    with open(path, "w") as file:
        file.write("%d\n" % os.getpid())
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass
    os._exit(0)


def _stop_instead(module: "Any", *names: str) -> None:
    for name in names:
        owner, _, attribute = name.rpartition(".")
        holder = getattr(module, owner) if owner else module
        if hasattr(holder, attribute):
            setattr(holder, attribute, _make_stopper if module.__name__ in _MAKERS else lambda *_, **__: stop())


def _make_stopper(*_: "Any", **__: "Any") -> "Callable[..., None]":
    """In place of what makes a gradient of a function: that is done long before it is called."""
    return lambda *_, **__: stop()


# What a training calls first when its first step begins, by the module that has it.
WATCHED = {
    "windlass_job.run": ("log", "progress", "should_stop", "done"),
    "torch.autograd": ("backward",),  # Tensor.backward calls it, and so do Lightning, Accelerate and fastai
    "tensorflow.python.eager.backprop": ("GradientTape.gradient",),  # Keras and plain loops
    "jax._src.api": ("grad", "value_and_grad"),
}
_MAKERS = ("jax._src.api",)


class _Loader:
    """Loads a module as its own loader does, and then sees to it."""

    def __init__(self, loader: "Any", after: "Callable[[Any], None]") -> None:
        self._loader = loader
        self._after = after

    def __getattr__(self, name: str) -> "Any":
        return getattr(self._loader, name)

    def create_module(self, spec: "Any") -> "Any":
        return self._loader.create_module(spec)

    def exec_module(self, module: "Any") -> None:
        self._loader.exec_module(module)
        self._after(module)


class _Finder:
    """In front of all others; asks them, and wraps what they found of the modules that are watched."""

    @classmethod
    def find_spec(cls, name: str, path: "Any" = None, target: "Any" = None) -> "Any":
        if name not in WATCHED:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if finder is cls or find is None:
                continue
            spec = find(name, path, target)
            if spec is not None and hasattr(spec.loader, "exec_module"):
                spec.loader = _Loader(spec.loader, lambda module: _stop_instead(module, *WATCHED[name]))
            if spec is not None:
                return spec
        return None


def _is_near(address: "Any") -> bool:
    if not isinstance(address, tuple):
        return True
    host = str(address[0])
    return host.startswith(_NEAR) or host == "" or host == socket.gethostname()


def _refuse_connections() -> None:
    connect, connect_ex, lookup = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def guard(plain: "Any") -> "Any":
        def guarded(self: "Any", address: "Any") -> "Any":
            if not _is_near(address):
                raise OSError(101, "Network is unreachable (refused by Windlass)")
            return plain(self, address)

        return guarded

    def look_up(host: "Any", *rest: "Any", **named: "Any") -> "Any":
        name = os.fsdecode(host) if isinstance(host, bytes) else host
        if name and "." in name and not _is_near((name,)) and not name.replace(".", "").isdigit():
            raise socket.gaierror(-3, "Temporary failure in name resolution")
        return lookup(host, *rest, **named)

    socket.socket.connect = guard(connect)  # type: ignore[method-assign]
    socket.socket.connect_ex = guard(connect_ex)  # type: ignore[method-assign]
    socket.getaddrinfo = look_up


def _tell_hooked(path: str) -> None:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    except OSError:  # then it is not known, and not believed
        pass


def _load_next() -> None:
    others = [folder for folder in sys.path if os.path.abspath(folder or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if __name__ == "sitecustomize":
    if os.environ.get("WINDLASS_RECORD"):
        sys.meta_path.insert(0, _Finder)
    if os.environ.get("WINDLASS_NO_NETWORK"):
        _refuse_connections()
    if os.environ.get("WINDLASS_HOOKED"):
        _tell_hooked(os.environ["WINDLASS_HOOKED"])
    _load_next()
