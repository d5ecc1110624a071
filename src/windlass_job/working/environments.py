"""Verbs of long work: environments, built aside and put in place whole.

ROOT/envs/ID/env.json   what it is; written last
ROOT/envs/ID/current    -> build-N
ROOT/envs/ID/build-N/   what a build made; the one before it is kept for jobs that still run in it
ROOT/envs/ID/source-N/  what it was made from: build.sh and its files
ROOT/envs/ID/build.log  what the last build said
ROOT/envs/ID/tmp-N/     its TMPDIR: /tmp of a login node is small
ROOT/envs/.locks/ID/    who builds, packs or removes it: one at a time, on all hosts; N is the number of its claim
"""

import base64
import os
import pkgutil
import shutil
import signal
import stat
import subprocess
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from windlass_job import disk, faults, wire
from windlass_job.working.behind import Progress
from windlass_job.working.env_log import LogReader, find_cause
from windlass_job.working.env_process import run_script
from windlass_job.working.env_users import find_users
from windlass_job.working.gpu_code import find_gpu_code
from windlass_job.working.holding import Holding, wait_until_held

_BUILD, _SOURCE, _TEMP = b"build-", b"source-", b"tmp-"
_LOCKS = b".locks"
_REMOVED = b".removed-"
_SCRIPT = b"build.sh"
_PROBE, _PROBED, _FACTS = b"windlass_probe.py", b"probed.json", b"facts.json"
_RESOLVE = b"windlass_resolve.py"
_LAID = {_PROBE: "env_probe.py", b"windlass_gpu_code.py": "gpu_code.py", _RESOLVE: "image_digest.py"}
_SYNC_S = 60
# Of the shell that started us: they would make a new Python look for its packages elsewhere.
_NOT_PASSED_ON = ("PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "__PYVENV_LAUNCHER__")
_OF_PROBE = ("python", "glibc", "packages", "outer", "gpu_code", "made_for", "platform")
_CARD_KINDS = {
    "kind": str,
    "path": str,
    "modules": list,
    "packages": dict,
    "outer": list,
    "gpu_code": dict,
    "made_for": dict,
    "bytes": int,
    "files": int,
}
_OF_US = ("id", "kind", "path", "made", "packed")


class BuildFailed(Exception):
    """The script of a build ended badly."""

    def __init__(self, answer: "Dict[str, Any]") -> None:
        Exception.__init__(self, answer["problem"])
        self.answer = answer


FAILURES = (BuildFailed,)


def explain(error: Exception) -> "Dict[str, Any]":
    assert isinstance(error, BuildFailed)
    return error.answer


def _build(request: "Dict[str, Any]", progress: Progress) -> "Dict[str, Any]":
    """is_new False: another had built it by the time we could begin."""
    folder = find_folder(request)
    with hold(folder, "built", progress) as holding:
        found = load_card(folder)
        if found is not None and not request.get("again"):
            return {"built": found, "is_new": False}
        disk.make_folders(folder)
        _remove_strays(folder, holding, request)
        _check_space(folder, int(request.get("needs_bytes") or 0))
        return {"built": _build_as(holding, folder, request, holding.guard(progress)), "is_new": True}


def _build_as(holding: Holding, folder: bytes, request: "Dict[str, Any]", progress: Progress) -> "Dict[str, Any]":
    """Under the number of the claim, which nobody had before: nothing of one that was killed can write there."""
    number = holding.number
    try:
        prefix = _lay(folder, number, request)
        faults.pass_point("env-laid")
        _run(folder, number, request, progress)
        faults.pass_point("env-ran")
        card = _make_card(prefix, folder, number, request)
        _bring_to_disk(prefix)
        faults.pass_point("env-built")
        holding.check()
        disk.replace_link(_make_way(folder, wire.ENV_CURRENT), os.path.basename(prefix))
        faults.pass_point("env-swapped")
        holding.check()
        disk.replace(_make_way(folder, wire.ENV_CARD), disk.make_json(card))
        faults.pass_point("env-told")
    except BaseException:
        if _read_current(folder) != number:
            _remove_build(folder, number)
        raise
    finally:
        _remove_tree(_name(folder, _TEMP, number))
    _remove_strays(folder, holding, request)
    return card


def _make_way(folder: bytes, name: str) -> bytes:
    """The path; a folder that somebody made of the link or the card cannot be replaced by a file."""
    path = os.path.join(folder, disk.as_path(name))
    if os.path.isdir(path) and not os.path.islink(path):
        _remove_tree(path)
    return path


def _lay(folder: bytes, number: int, request: "Dict[str, Any]") -> bytes:
    source, prefix = _name(folder, _SOURCE, number), _name(folder, _BUILD, number)
    for path in (prefix, source, _name(folder, _TEMP, number)):
        os.mkdir(path)
    files = {name: base64.b64decode(text) for name, text in (request.get("files") or {}).items()}
    for name, content in files.items():
        path = disk.join_inside(source, name)
        disk.make_folders(os.path.dirname(path))
        disk.write_new(path, content)
    disk.write_new(os.path.join(source, _SCRIPT), request["script"].encode("utf-8"), 0o700)
    for name, program in sorted(_LAID.items()):
        disk.write_new(os.path.join(source, name), pkgutil.get_data("windlass_job.working", program) or b"")
    return prefix


def _run(folder: bytes, number: int, request: "Dict[str, Any]", progress: Progress) -> None:
    source, prefix = _name(folder, _SOURCE, number), _name(folder, _BUILD, number)
    log = os.path.join(folder, disk.as_path(wire.ENV_LOG))
    env = {name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON}
    env[wire.ENV_PREFIX] = disk.as_text(prefix)
    env["TMPDIR"] = disk.as_text(_name(folder, _TEMP, number))
    env[wire.ENV_ROOT] = disk.as_text(os.path.dirname(os.path.dirname(folder)))
    env[wire.ENV_WHEELS] = "/".join([env[wire.ENV_ROOT], wire.WHEELS, request["id"]])
    env[wire.ENV_PROBE] = disk.as_text(os.path.join(source, _PROBE))
    env[wire.ENV_RESOLVE] = disk.as_text(os.path.join(source, _RESOLVE))
    env[wire.ENV_PROBED] = disk.as_text(os.path.join(source, _PROBED))
    env[wire.ENV_FACTS] = disk.as_text(os.path.join(source, _FACTS))
    reader = LogReader(log)

    def look() -> None:
        reader.read_on()
        progress(reader.lines, 0, reader.last)

    code = run_script(["bash", "-l", disk.as_text(_SCRIPT)], source, env, log, look)
    if code:
        answer = _explain_end(code, log)
        if _is_full(folder):  # then the log could not be written either
            words = "no space left on device, or the quota is used up: {}".format(_up(folder))
            answer.update(kind="no-space", problem=words)
        raise BuildFailed(answer)


def _explain_end(code: int, log: bytes) -> "Dict[str, Any]":
    kind, line, tail = find_cause(log)
    if code in (-signal.SIGKILL, 128 + signal.SIGKILL) and kind == "build-failed":
        line = "the build was killed, as login nodes do with what uses too much memory; it said last: " + line
    return {"kind": kind, "problem": line, "line": line, "tail": tail, "exit_code": code, "log": disk.as_text(log)}


def _is_full(folder: bytes) -> bool:
    """Quotas too, which only a write meets."""
    path = os.path.join(folder, b".full-" + disk.make_suffix())
    try:
        disk.write_new(path, bytes(64 << 10))
        disk.flush(path)
    except OSError as error:
        return error.errno in disk.NO_SPACE
    finally:
        disk.remove_if_there(path)
    return False


def _make_card(prefix: bytes, folder: bytes, number: int, request: "Dict[str, Any]") -> "Dict[str, Any]":
    """As `core.environment.Built` reads it."""
    source = _name(folder, _SOURCE, number)
    told = disk.read_json(os.path.join(source, _PROBED)) or {}
    facts = disk.read_json(os.path.join(source, _FACTS)) or {}
    path = os.path.join(prefix, disk.as_path(request["path"])) if request.get("path") else prefix
    if not os.path.lexists(path):
        answer = {"kind": "build-failed", "problem": "the build ended well but left no {}".format(request["path"])}
        raise BuildFailed(dict(answer, line=answer["problem"], tail=[]))
    files, size = count(prefix)
    card = dict(request.get("card") or {}, id=request["id"], path=disk.as_text(path), made=time.time())
    card.update(files=files, bytes=size, platform=os.uname()[4])
    card.update({name: told[name] for name in _OF_PROBE if told.get(name)})
    # What a framework says itself counts more than what its file says.
    card["gpu_code"] = dict(find_gpu_code(disk.as_text(path)), **(told.get("gpu_code") or {}))
    card.update({name: value for name, value in facts.items() if name not in _OF_US})
    return card


def _bring_to_disk(prefix: bytes) -> None:
    """One call for all of its files; a coreutils without -f, or a server that takes too long, has to do without."""
    try:
        subprocess.run(["sync", "-f", prefix], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=_SYNC_S)
    except (OSError, subprocess.TimeoutExpired):
        pass


def _remove(request: "Dict[str, Any]", progress: Progress) -> "Dict[str, Any]":
    """With the wheels that were sent for it, or only_wheels. A run that uses it keeps it.

    runs: those that the laptop knows to wait or run.
    """
    folder = find_folder(request)
    root = os.path.dirname(os.path.dirname(folder))
    wheels = os.path.join(root, disk.as_path(wire.WHEELS), disk.as_path(request["id"]))
    with hold(folder, "removed", progress) as holding:
        doomed = [one for one in ([wheels] if request.get("only_wheels") else [folder, wheels]) if os.path.isdir(one)]
        if not doomed:
            what = "are no wheels of" if request.get("only_wheels") else "is no environment"
            raise disk.Refused("not-found", "there {} {} in {}".format(what, request["id"], disk.as_text(root)))
        users = find_users(root, request)
        if users:
            raise disk.Refused("in-use", "{} is used by {}".format(request["id"], ", ".join(users)))
        counted = [count(one) for one in doomed]
        holding.check()
        if folder in doomed:
            os.rename(folder, os.path.join(os.path.dirname(folder), _REMOVED + disk.make_suffix()))
        _remove_tree(wheels)
        for one in os.listdir(os.path.dirname(folder)):
            if one.startswith(_REMOVED):  # ours, and what a removal that was killed left
                _remove_tree(os.path.join(os.path.dirname(folder), one))
        return {"files": sum(files for files, _ in counted), "bytes": sum(size for _, size in counted)}


def find_folder(request: "Dict[str, Any]") -> bytes:
    envs = os.path.join(disk.expand_root(request["root"]), disk.as_path(wire.ENVS))
    if "/" in request["id"] or request["id"].startswith("."):
        raise disk.Refused("failed", "{!r} is no name of an environment".format(request["id"]))
    return disk.join_inside(envs, request["id"])


def hold(folder: bytes, purpose: str, progress: Progress) -> Holding:
    """Alone on all hosts of the site. Outside of the folder, which may be removed meanwhile."""
    place = os.path.join(os.path.dirname(folder), _LOCKS, os.path.basename(folder))
    words = "{} is being {}".format(disk.as_text(os.path.basename(folder)), purpose)
    floor = max(_list_builds(folder), default=0) if os.path.isdir(folder) else 0
    return wait_until_held(place, words, lambda waiting: progress(0, 0, waiting), floor)


def load_card(folder: bytes) -> "Optional[Dict[str, Any]]":
    """None unless it is whole: what `current` leads to is what the card tells of, in the words that we write."""
    try:
        card = disk.read_json(os.path.join(folder, disk.as_path(wire.ENV_CARD)))
    except OSError:  # somebody made a folder of it, or took our rights away
        return None
    number = _read_current(folder)
    if card is None or number is None or card.get("id") != disk.as_text(os.path.basename(folder)):
        return None
    if any(not isinstance(card.get(name, kind()), kind) for name, kind in _CARD_KINDS.items()):
        return None
    if not isinstance(card.get("packed") or "", str):
        return None
    prefix = disk.as_text(_name(folder, _BUILD, number))
    path = str(card.get("path"))
    return card if (path + "/").startswith(prefix + "/") and os.path.exists(disk.as_path(path)) else None


def _read_current(folder: bytes) -> "Optional[int]":
    try:
        name = os.readlink(os.path.join(folder, disk.as_path(wire.ENV_CURRENT)))
    except OSError:
        return None
    return _read_number(os.path.basename(name))


def _list_builds(folder: bytes) -> "List[int]":
    """Also those of which only a part is left."""
    numbers = (_read_number(name) for name in os.listdir(folder))
    return sorted({number for number in numbers if number is not None})


def _read_number(name: bytes) -> "Optional[int]":
    for start in (_BUILD, _SOURCE, _TEMP):
        if name.startswith(start) and name[len(start) :].isdigit():
            return int(name[len(start) :])
    return None


def _remove_strays(folder: bytes, holding: Holding, request: "Dict[str, Any]") -> None:
    """All but the one in use and the one before it: builds that were killed, and old ones that no run is in.

    What somebody on another host was making when it fell silent is left to itself for a while: it may wake up.
    """
    holding.check()
    current = _read_current(folder) or 0
    older = [number for number in _list_builds(folder) if number < current]
    has_users = bool(older[:-1]) and bool(find_users(os.path.dirname(os.path.dirname(folder)), request))
    kept = [current] + (older if has_users else older[-1:])
    for number in _list_builds(folder):
        if holding.lingers(number):
            continue
        _remove_tree(_name(folder, _TEMP, number))
        if number not in kept:
            _remove_build(folder, number)


def _remove_build(folder: bytes, number: int) -> None:
    for start in (_BUILD, _SOURCE, _TEMP):
        _remove_tree(_name(folder, start, number))


def _remove_tree(path: bytes) -> None:
    """Also where folders were made read-only. What cannot be removed now is tried again by the next build."""

    def mend(function: "Callable[[Any], Any]", name: "Any", _: "Any") -> None:
        try:
            for folder in (os.path.dirname(name), name):
                if os.path.isdir(folder) and not os.path.islink(folder):
                    os.chmod(folder, stat.S_IRWXU)
            function(name)
        except OSError:
            pass

    for _ in range(3):  # once more for the content of folders that could not be listed
        if os.path.lexists(path):
            shutil.rmtree(path, onerror=mend)


def _check_space(folder: bytes, needs: int) -> None:
    """A quota is not seen here; it shows in the log."""
    about = os.statvfs(folder)
    free = about.f_bavail * about.f_frsize
    if free < needs:
        words = "{} has {:.1f} GB free, and the build needs about {:.1f} GB"
        raise disk.Refused("no-space", words.format(_up(folder), free / 1e9, needs / 1e9))


def count(folder: bytes) -> "Tuple[int, int]":
    """Files and their bytes; one with many names is counted once."""
    seen = set()
    files = size = 0
    for about in _walk(folder):
        if about.st_nlink > 1:
            if (about.st_dev, about.st_ino) in seen:
                continue
            seen.add((about.st_dev, about.st_ino))
        files += 1
        size += about.st_size
    return files, size


def _walk(folder: bytes) -> "Iterator[os.stat_result]":
    left = [folder]
    while left:
        try:
            entries = list(os.scandir(left.pop()))
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                left.append(entry.path)
            else:
                yield entry.stat(follow_symlinks=False)


def _name(folder: bytes, start: bytes, number: int) -> bytes:
    return os.path.join(folder, start + str(number).encode("ascii"))


def _up(folder: bytes) -> str:
    return disk.as_text(os.path.dirname(folder))


VERBS = {
    "build-env": _build,
    "remove-env": _remove,
}  # type: Dict[str, Callable[[Dict[str, Any], Progress], Dict[str, Any]]]
