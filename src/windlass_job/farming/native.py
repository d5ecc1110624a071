"""`posix_spawn` of the C library, called directly.

Python's own (from 3.8 on) builds the environment and what is to be opened anew for each process, which costs a tenth of
a task, and keeps other threads waiting until the new program runs.
"""

import ctypes
import os
import signal
import sys
from typing import Dict, List, Mapping

_ROOM = 1024  # bytes for structures of the C library, of which glibc's greatest has 336
_SETPGROUP, _SETSIGDEF, _SETSIGMASK = 0x02, 0x04, 0x08
_SETSID = 0x400 if sys.platform == "darwin" else 0x80
_BACK_TO_DEFAULT = (signal.SIGPIPE, signal.SIGXFSZ)  # Python ignores them, and programs do not expect that

Env = Dict[bytes, bytes]


class Environment:
    """Of a slot: built once, and only what is of the task is changed."""

    def __init__(self, env: Env, changing: "Mapping[bytes, bytes]") -> None:
        """changing: names, and their values with a %d for what `set` is given."""
        fixed = [name + b"=" + value for name, value in env.items() if name not in changing]
        self._first = len(fixed)
        self._texts = [name.replace(b"%", b"%%") + b"=" + value for name, value in changing.items()]
        self._values = [-1] * len(changing)
        self.array = (ctypes.c_char_p * (len(fixed) + len(changing) + 1))(*fixed)

    def set(self, *values: int) -> None:
        for place, value in enumerate(values):
            if value != self._values[place]:
                self._values[place] = value
                self.array[self._first + place] = self._texts[place] % value


class Native:
    """For several threads at once. OSError when there is no such C library here."""

    def __init__(self, null: int) -> None:
        try:
            self._library = ctypes.CDLL(None)
            self._spawn = self._library.posix_spawn
        except (OSError, AttributeError) as error:
            raise OSError(str(error))
        self._null = null
        self._attributes = self._make_attributes()
        self._actions: "Dict[int, ctypes.Array[ctypes.c_char]]" = {}

    def start(self, program: bytes, argv: "List[bytes]", env: Environment, output: int) -> int:
        """Its process id. Its first process leads a session of its own, or at least a group."""
        actions = self._actions.get(output)
        if actions is None:
            actions = self._actions[output] = self._make_actions(output)
        words = (ctypes.c_char_p * (len(argv) + 1))(*argv)
        pid = ctypes.c_int()
        code = self._spawn(ctypes.byref(pid), program, actions, self._attributes, words, env.array)
        if code:
            raise OSError(code, os.strerror(code))
        return pid.value

    def _make_actions(self, output: int) -> "ctypes.Array[ctypes.c_char]":
        made, library = ctypes.create_string_buffer(_ROOM), self._library
        _check(library.posix_spawn_file_actions_init(made))
        for source, target in ((self._null, 0), (output, 1), (output, 2)):
            _check(library.posix_spawn_file_actions_adddup2(made, source, target))
        return made

    def _make_attributes(self) -> "ctypes.Array[ctypes.c_char]":
        made, none, defaults = (ctypes.create_string_buffer(_ROOM) for _ in range(3))
        library = self._library
        _check(library.posix_spawnattr_init(made))
        library.sigemptyset(none)
        library.sigemptyset(defaults)
        for number in _BACK_TO_DEFAULT:
            library.sigaddset(defaults, int(number))
        _check(library.posix_spawnattr_setsigmask(made, none))
        _check(library.posix_spawnattr_setsigdefault(made, defaults))
        usual = _SETSIGDEF | _SETSIGMASK
        if library.posix_spawnattr_setflags(made, ctypes.c_short(usual | _SETSID)):  # the C library of RHEL 7
            _check(library.posix_spawnattr_setflags(made, ctypes.c_short(usual | _SETPGROUP)))
            _check(library.posix_spawnattr_setpgroup(made, 0))
        return made


def _check(code: int) -> None:
    if code:
        raise OSError(code, os.strerror(code))
