"""Verb of long work: weights and data sets fetched into ROOT/caches, and loaded once with the network off.

ROOT/caches/NAME/              of each library: huggingface, torch, keras ...
ROOT/caches/files/ID/          what a project keeps in folders of its own
ROOT/caches/prefetch-ID.json   what was fetched, and whether it was verified; written last
ROOT/caches/prefetch-ID.log    what the command said
ROOT/caches/.prefetch-ID/N/    the project's code while it runs; removed afterwards. N: of the claim
ROOT/caches/.locks/            who is at it: one at a time, on all hosts
"""

import os
import pkgutil
import re
import shutil
import signal
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List, Optional

from windlass_job import disk, wire
from windlass_job.deputy_blobs import get_content
from windlass_job.secrets_file import read_secrets
from windlass_job.working.behind import Progress
from windlass_job.working.env_log import LogReader, find_cause
from windlass_job.working.env_process import run_script
from windlass_job.working.holding import Holding, wait_until_held
from windlass_job.working.prefetch_card import is_card

_KEPT = b"files"
_SHORTEST = 6  # of a secret; what is shorter stands in every second line by chance
_LOCKS = b".locks"
_NAMESPACE = "a network namespace without a way out"
_REFUSED = "refused connections, because this system has no namespaces for users"
_BOX = "a container without a network"
_NO_BOX = "refused connections, because the container does not start without a network"
_NOT_HOOKED = "it cannot be verified: nothing here takes the network away, and its Python does not read PYTHONPATH"
_CLOSED = "http://127.0.0.1:9"
_EXCEPTION = re.compile(r"[\w.]+(?:Error|Exception|NotFound|Enabled)\b: ")
_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy")
_NOT_PASSED_ON = ("PYTHONHOME", "__PYVENV_LAUNCHER__", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE")


class TooLong(Exception):
    """The command did not come to its end in time."""


class PrefetchFailed(Exception):
    """The command that fetches ended badly."""

    def __init__(self, answer: "Dict[str, Any]") -> None:
        Exception.__init__(self, answer["problem"])
        self.answer = answer


FAILURES = (PrefetchFailed,)


def explain(error: Exception) -> "Dict[str, Any]":
    assert isinstance(error, PrefetchFailed)
    return error.answer


def _prefetch(request: "Dict[str, Any]", progress: Progress) -> "Dict[str, Any]":
    """fetch, lay, verify: what the request has of them, in this order. `card` is what is known before."""
    root = disk.expand_root(request["root"])
    try:
        # Once, before anything else: the laptop that laid them may take them away while another is waited for.
        work = _Work(root, request, _load_secrets(request.get("secrets")), progress)
        return {"card": _work(work, request)}
    finally:
        if request.get("secrets"):
            disk.remove_if_there(disk.as_path(request["secrets"]))


def _work(work: "_Work", request: "Dict[str, Any]") -> "Dict[str, Any]":
    with work.take():
        try:
            return _do_steps(work, request)
        finally:
            work.clean_up()


def _do_steps(work: "_Work", request: "Dict[str, Any]") -> "Dict[str, Any]":
    is_new = bool(request.get("fetch") or request.get("lay"))
    card = work.make_card() if is_new else work.load_card() or work.make_card()
    if request.get("fetch"):
        card.update(work.fetch(request["fetch"]))
    if request.get("lay"):
        card.update(work.lay(request["lay"]))
    work.save_card(card)
    if request.get("verify"):
        card.update(work.verify(request["verify"]))
        work.save_card(card)
    return card


class _Work:
    """One project's prefetch."""

    def __init__(self, root: bytes, request: "Dict[str, Any]", secrets: "Dict[str, str]", progress: Progress) -> None:
        self._root = root
        self._request = request
        self._secrets = secrets
        self._progress = progress
        self._caches = os.path.join(root, disk.as_path(wire.CACHES))
        name = disk.as_path("prefetch-" + request["id"])
        self._place = os.path.join(self._caches, _LOCKS, name)
        self._folders = os.path.join(self._caches, b"." + name)
        self._folder = self._folders  # `take` gives us one of our own in it
        self._card = os.path.join(self._caches, name + b".json")
        self._log = os.path.join(self._caches, name + b".log")
        self._hidden = sorted((one for one in secrets.values() if len(one) >= _SHORTEST), key=len, reverse=True)

    def take(self) -> Holding:
        """Another laptop may be at it, on another host."""
        words = "prefetch {} is being done".format(self._request["id"])
        self._holding = wait_until_held(self._place, words, lambda waiting: self._progress(0, 0, waiting))
        self._progress = self._holding.guard(self._progress)
        self._folder = os.path.join(self._folders, str(self._holding.number).encode("ascii"))
        self._code = os.path.join(self._folder, disk.as_path(wire.CODE))
        disk.make_folders(self._folder)
        return self._holding

    def make_card(self) -> "Dict[str, Any]":
        """Of what lies in the caches already, whoever put it there."""
        return dict({"ended": "done"}, **dict(self._tell_fetched(self._count()), **self._request["card"]))

    def load_card(self) -> "Optional[Dict[str, Any]]":
        """None where it does not tell what was fetched: then it is made anew."""
        card = disk.read_json(self._card) if os.path.isfile(self._card) else None
        return card if is_card(card) else None

    def save_card(self, card: "Dict[str, Any]") -> None:
        self._holding.check()
        if os.path.isdir(self._card) and not os.path.islink(self._card):
            shutil.rmtree(self._card)  # somebody's folder in its place
        disk.replace(self._card, disk.make_json(card))

    def clean_up(self) -> None:
        """Ours, and what others left who were killed; not of one that only fell silent."""
        for name in os.listdir(self._folders):
            if not (name.isdigit() and self._holding.lingers(int(name))):
                shutil.rmtree(os.path.join(self._folders, name), ignore_errors=True)

    # ---- fetching

    def fetch(self, step: "Dict[str, Any]") -> "Dict[str, Any]":
        before = self._count()
        for name in self._request["folders"]:
            disk.make_folders(disk.join_inside(self._caches, name))
        ended = self._run(step, self._make_env())
        if ended["ended"] == "limit" and not step["record"]:
            ended["line"] = "it was not through after {} s".format(int(step["limit_s"]))
        if ended.get("line"):
            raise PrefetchFailed(dict(ended, kind="fetch-failed", problem=ended["line"]))
        return dict(self._tell_fetched(before), ended=ended["ended"])

    def lay(self, step: "Dict[str, Any]") -> "Dict[str, Any]":
        """Files that were sent as a data set, out of their shards; and the links between them."""
        from windlass_job.shards.extracting import extract

        before = self._count()
        packed = disk.expand_root(step["packed"])
        total = int(step["bytes"])
        done = extract(packed, self._caches, (), True, lambda _, size: self._progress(size, total, "unpacking"))
        if done.damaged:
            problem = "{} is damaged".format(done.damaged[0])
            raise PrefetchFailed({"kind": "fetch-failed", "problem": problem, "line": problem, "tail": []})
        for name, target in step["links"].items():
            _make_link(disk.join_inside(self._caches, name), disk.as_path(target), self._caches)
        return self._tell_fetched(before)

    def _tell_fetched(self, before: int) -> "Dict[str, Any]":
        return {
            "caches": self._measure(),
            "new_bytes": max(0, self._count() - before),
            "made": time.time(),
            "files": self._request["files"],
            "verified": None,
            "problem": None,
        }

    # ---- loading it with the network off

    def verify(self, step: "Dict[str, Any]") -> "Dict[str, Any]":
        if step["may_unshare"]:
            inside = self._go_offline()
            return self._load_offline(step, inside, _NAMESPACE) if inside else self._load_refused(step, _REFUSED)
        found = self._load_in_container(step)
        return found if found is not None else self._load_refused(step, _NO_BOX)

    def _load_offline(self, step: "Dict[str, Any]", inside: "List[str]", how: str) -> "Dict[str, Any]":
        return self._judge(step, self._run(step, self._make_env(), inside), how)

    def _load_in_container(self, step: "Dict[str, Any]") -> "Optional[Dict[str, Any]]":
        """None where it had a network all the same, or could not be started without."""
        mark = os.path.join(self._folder, b"offline")
        disk.remove_if_there(mark)
        env = dict(self._make_env(), **step.get("offline_env") or {})
        env[wire.ENV_OFFLINE] = disk.as_text(mark)
        ended = self._run(step, env)
        return self._judge(step, ended, _BOX) if os.path.exists(mark) else None

    def _load_refused(self, step: "Dict[str, Any]", how: str) -> "Dict[str, Any]":
        mark = os.path.join(self._folder, b"hooked")
        disk.remove_if_there(mark)
        env = dict(self._make_env(), **_make_refusals())
        env["WINDLASS_HOOKED"] = disk.as_text(mark)
        ended = self._run(step, env)
        if ended["ended"] in ("done", "step") and not os.path.exists(mark):
            return {"verified": None, "problem": _NOT_HOOKED}
        return self._judge(step, ended, how)

    def _judge(self, step: "Dict[str, Any]", ended: "Dict[str, Any]", how: str) -> "Dict[str, Any]":
        if ended["ended"] in ("done", "step"):
            found = {"how": how, "made": time.time(), "ended": ended["ended"], "files": self._request["files"]}
            return {"verified": found, "problem": None}
        words = "it was not through after {} s".format(int(step["limit_s"]))
        return {"verified": None, "problem": ended["line"] or words}

    def _go_offline(self) -> "List[str]":
        """Words before a command that take the network away from it; none where the system does not let us."""
        path = self._lay_source("without_network.py", b"without_network.py")
        words = [sys.executable, "-I", disk.as_text(path)]
        try:
            code = subprocess.call(words + ["true"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20)
        except (OSError, subprocess.TimeoutExpired):
            return []
        return words if code == 0 else []

    # ---- running

    def _run(
        self, step: "Dict[str, Any]", env: "Dict[str, str]", inside: "Optional[List[str]]" = None
    ) -> "Dict[str, Any]":
        """How it ended, and the first line that tells what went wrong."""
        self._lay_code()
        script = os.path.join(self._folder, b"command.sh")
        disk.replace(script, step["script"].encode("utf-8"), 0o700)
        mark = os.path.join(self._folder, b"first-step")
        disk.remove_if_there(mark)
        env["WINDLASS_RECORD"] = disk.as_text(mark) if step["record"] else ""
        reader, began = LogReader(self._log), time.monotonic()
        limit_s = float(step["limit_s"])

        def look() -> None:
            reader.read_on()
            self._progress(reader.lines, 0, self._hide(reader.last))
            if time.monotonic() - began > limit_s:
                raise TooLong

        workdir = os.path.normpath(os.path.join(self._code, disk.as_path(self._request["workdir"])))
        shell = ["bash", "-l"] if step["login_shell"] else ["bash"]
        try:
            code = run_script((inside or []) + shell + [disk.as_text(script)], workdir, env, self._log, look)
        except TooLong:
            return {"ended": "limit", "line": "", "tail": [self._hide(one) for one in _read_tail(self._log)]}
        if os.path.exists(mark):
            return {"ended": "step", "line": ""}
        if code == 0:
            return {"ended": "done", "line": ""}
        _, line, tail = find_cause(self._log)
        line, tail = self._hide(line), [self._hide(one) for one in tail]
        line = _find_exception(tail) or line or "it ended with exit code {}, and said nothing".format(code)
        if code in (-signal.SIGKILL, 128 + signal.SIGKILL):
            line = "it was killed, as login nodes do with what uses too much memory; it said last: " + line
        return {"ended": "failed", "line": line, "tail": tail, "exit_code": code, "log": disk.as_text(self._log)}

    def _hide(self, text: str) -> str:
        """What the command says may hold a secret that it was given, and the card is for everybody's eyes."""
        for secret in self._hidden:
            text = text.replace(secret, "***")
        return text

    def _make_env(self) -> "Dict[str, str]":
        env = {name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON}
        env.update(self._secrets)
        hook = self._lay_source("first_step.py", b"hook/sitecustomize.py")
        # The script puts it before PYTHONPATH as the last it does: modules, containers and runs set that one too.
        env[wire.ENV_HOOK] = os.pathsep.join([disk.as_text(os.path.dirname(hook)), _find_package()])
        env["PYTHONUNBUFFERED"] = "1"
        return env

    def _lay_source(self, module: str, name: bytes) -> bytes:
        path = os.path.join(self._folder, name)
        disk.make_folders(os.path.dirname(path))
        disk.replace(path, pkgutil.get_data("windlass_job.working", module) or b"")
        return path

    def _lay_code(self) -> None:
        """As a run has it, new for each command: one must not find what another left beside the code."""
        shutil.rmtree(self._code, ignore_errors=True)
        os.mkdir(self._code)
        links = []
        for file in self._request["manifest"]["files"]:
            path = disk.join_inside(self._code, file["path"])
            disk.make_folders(os.path.dirname(path))
            if file.get("link") is not None:
                links.append((disk.as_path(file["link"]), path))
                continue
            disk.write_new(path, get_content(self._root, {}, file["sha256"]), file.get("mode") or 0o644)
        for target, path in links:
            os.symlink(target, path)
        workdir = os.path.join(self._code, disk.as_path(self._request["workdir"]))
        for name in self._request["paths"]:
            self._keep_elsewhere(os.path.normpath(workdir), name)

    def _keep_elsewhere(self, workdir: bytes, name: str) -> None:
        target = disk.join_inside(os.path.join(self._caches, _KEPT, disk.as_path(self._request["id"])), name)
        path = disk.join_inside(workdir, name)
        if os.path.lexists(path):
            problem = "{} of [prefetch] paths is among the files of the project itself".format(name)
            raise disk.Refused("failed", problem + ": name a folder that is only filled by what is fetched")
        disk.make_folders(target)
        disk.make_folders(os.path.dirname(path))
        os.symlink(target, path)

    def _count(self) -> int:
        return sum(one["bytes"] for one in self._measure().values())

    def _measure(self) -> "Dict[str, Dict[str, int]]":
        """Folders with something in them."""
        found = {}
        kept = os.path.join(_KEPT, disk.as_path(self._request["id"]))
        for name in [disk.as_path(one) for one in self._request["folders"]] + [kept]:
            files = size = 0
            for folder, _, names in os.walk(os.path.join(self._caches, name)):
                for one in names:
                    try:
                        size += os.lstat(os.path.join(folder, one)).st_size
                    except OSError:  # another job renamed it meanwhile
                        continue
                    files += 1
            if files:
                found[disk.as_text(name.split(b"/")[0])] = {"files": files, "bytes": size}
        return found


def _make_refusals() -> "Dict[str, str]":
    """For a system without namespaces: a hook in every Python, and what other programs ask before they connect."""
    made = {"WINDLASS_NO_NETWORK": "1", "no_proxy": "localhost,127.0.0.1", "NO_PROXY": "localhost,127.0.0.1"}
    for name in _PROXIES:
        made[name] = made[name.upper()] = _CLOSED
    return made


def _load_secrets(path: "Optional[str]") -> "Dict[str, str]":
    """As the agent reads them in a job; the file stays until the end: the work may be killed and begun again."""
    if not path:
        return {}
    return read_secrets(disk.read_bytes(disk.as_path(path)).decode("utf-8"))[0]


def _make_link(path: bytes, target: bytes, top: bytes) -> None:
    """Only one that stays inside, as a hub's own links do."""
    real = os.path.normpath(os.path.join(os.path.dirname(path), target))
    if os.path.isabs(target) or not real.startswith(top + b"/"):
        raise disk.Refused("failed", "{} leads out of the caches".format(disk.as_text(path)))
    disk.make_folders(os.path.dirname(path))
    disk.replace_link(path, target)


def _find_exception(tail: "List[str]") -> str:
    """The last one: of several that follow from one another it says what was wanted."""
    return next((line for line in reversed(tail) if _EXCEPTION.match(line)), "")


def _read_tail(log: bytes) -> "List[str]":
    return find_cause(log)[2]


def _find_package() -> str:
    """The zip we were started from, or the folder: so that the training can import windlass_job."""
    import windlass_job

    return os.path.dirname(os.path.dirname(os.path.abspath(windlass_job.__file__)))


VERBS: "Dict[str, Callable[[Dict[str, Any], Progress], Dict[str, Any]]]" = {"prefetch": _prefetch}
