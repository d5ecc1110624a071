"""Long work at a site: on a login or transfer node, started by the laptop, or as a job.

It goes on when the laptop is closed. `progress.json` in its folder tells how far it is, `result.json` how it ended; a
file `stop` beside them ends it at the next sign of life. What it writes can be gone on with by the same request.
"""

import argparse
import errno
import importlib
import json
import os
import shutil
import sys
import time
import traceback
from typing import Any, Callable, Dict, List, Mapping

from windlass_job import disk, wire
from windlass_job.working.holding import Holding, Lost, hold_now

REQUEST = b"request.json"
PROGRESS = b"progress.json"
RESULT = b"result.json"
STOP = b"stop"
LOG = b"log"
_CLAIMS = b"claims"
_TELL_S = 0.5
_KEEP_S = 24 * 3600
_NICE = 10  # others work on this node too

Progress = Callable[..., None]  # bytes or lines done, of all (0: nobody knows), and the last words about it


class Stopped(Exception):
    """The laptop asked for it."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", help="holds request.json; the work goes on behind this command")
    parser.add_argument("--request", help="what to do, as JSON; the work is done before this command ends")
    parser.add_argument("--request-file", help="the same, in a file")


def run(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    if options.folder:
        return _start_behind(os.fsencode(options.folder))
    if options.request_file:
        request = disk.read_json(os.fsencode(options.request_file)) or {}
    else:
        request = json.loads(options.request)
    result = _do(request, _tell_lines(time.monotonic))
    sys.stdout.write(json.dumps(result, sort_keys=True) + "\n")
    return 0 if result.get("ok") else 1


def _start_behind(folder: bytes) -> int:
    """Prints `started`, or `running` where another does this very work already."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        word = os.read(reader, 100).decode("ascii")
        sys.stdout.write(word + "\n")
        return 0 if word else 1
    os.close(reader)
    os.setsid()
    holding = hold_now(os.path.join(folder, _CLAIMS), "this work is done")
    if holding is None:
        os.write(writer, b"running")
        os._exit(0)
    for name in (RESULT, STOP, PROGRESS):
        disk.remove_if_there(os.path.join(folder, name))
    os.write(writer, b"started")
    os.close(writer)
    _let_go_of_the_terminal(folder)
    _work(folder, holding)
    holding.let_go()
    os._exit(0)


def _work(folder: bytes, holding: Holding) -> None:
    try:
        os.nice(_NICE)
        _remove_old(os.path.dirname(folder))
        request = disk.read_json(os.path.join(folder, REQUEST)) or {}
        result = _do(dict(request, folder=disk.as_text(folder)), holding.guard(_tell_file(folder)))
    except BaseException as error:  # whatever it was, the laptop that looks must be told
        traceback.print_exc()
        result = {"ok": False, "problem": "{}: {}".format(type(error).__name__, error)}
    try:
        holding.check()
        disk.replace(os.path.join(folder, RESULT), disk.make_json(result), 0o600)
    except (OSError, Lost):  # Lost: the one that took over tells
        traceback.print_exc()


# In which module of this room a verb lies. Only that one is imported.
_MODULES = {
    "verify": "data",
    "pack": "data",
    "try-pack": "data",
    "extract": "data",
    "sample": "data",
    "prefetch": "prefetch",
    "build-env": "environments",
    "remove-env": "environments",
    "pack-env": "env_packing",
    "walk": "walking",
}


def _do(request: "Dict[str, Any]", progress: Progress) -> "Dict[str, Any]":
    """The result as JSON; what a user can cause comes back as a problem in words."""
    verb = request["verb"]
    module = importlib.import_module("windlass_job.working." + _MODULES[verb])
    try:
        values = module.VERBS[verb](request, progress)
        return dict(values, ok=True)
    except Stopped:
        return {"ok": False, "kind": "stopped", "problem": "it was stopped"}
    except disk.Refused as error:
        return {"ok": False, "kind": error.kind, "problem": error.problem, "is_refusal": True}
    except Lost as error:
        return {"ok": False, "kind": "lost", "problem": str(error)}
    except module.FAILURES as error:
        return dict(module.explain(error), ok=False)
    except OSError as error:
        kind = "no-space" if error.errno in disk.NO_SPACE else "not-found" if error.errno == errno.ENOENT else "failed"
        place = disk.as_text(os.fsencode(error.filename)) + ": " if error.filename else ""
        return {"ok": False, "kind": kind, "problem": place + (error.strerror or str(error)).lower()}


def _tell_file(folder: bytes) -> Progress:
    """How far it is, twice a second at most; not flushed, because only a laptop that looks now needs it."""
    path, stop, last = os.path.join(folder, PROGRESS), os.path.join(folder, STOP), [0.0]

    def tell(done: int, total: int, words: str = "") -> None:
        now = time.monotonic()
        if now - last[0] < _TELL_S:
            return
        last[0] = now
        if os.path.exists(stop):
            raise Stopped
        aside = path + b"." + disk.make_suffix()  # its own: on another host somebody may be at it too
        # For no other eyes: what a command printed last may be a secret.
        disk.write_new(aside, disk.make_json({"done": [done, total], "time": time.time(), "words": words}), 0o600)
        os.rename(aside, path)

    return tell


def _tell_lines(clock: "Callable[[], float]") -> Progress:
    """A line every ten seconds into the job's log."""
    last = [clock()]

    def tell(done: int, total: int, words: str = "") -> None:
        if clock() - last[0] > 10:
            last[0] = clock()
            sys.stdout.write((words or "{} of {} MB".format(done >> 20, total >> 20)) + "\n")
            sys.stdout.flush()

    return tell


def _let_go_of_the_terminal(folder: bytes) -> None:
    log = os.open(os.path.join(folder, LOG), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)


def _remove_old(folder: bytes) -> None:
    """Work of other days whose end was told long ago."""
    for name in _list(folder):
        path = os.path.join(folder, name)
        try:
            if time.time() - os.stat(os.path.join(path, RESULT)).st_mtime > _KEEP_S:
                shutil.rmtree(path, ignore_errors=True)
        except OSError:  # still at work, or not ours
            pass
    _remove_old_samples(os.path.join(folder, disk.as_path(wire.SAMPLES)))


def _remove_old_samples(folder: bytes) -> None:
    """They were fetched when they were taken."""
    for name in _list(folder):
        path = os.path.join(folder, name)
        try:
            if time.time() - os.stat(path).st_mtime > _KEEP_S:
                shutil.rmtree(path, ignore_errors=True)
        except OSError:
            pass


def _list(folder: bytes) -> "List[bytes]":
    try:
        return os.listdir(folder)
    except OSError:
        return []
