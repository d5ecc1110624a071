"""JupyterLab in a job: started with a token of its own, watched, and ended when nobody has used it for long."""

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from typing import Any, Dict, List, Mapping, Optional

from windlass_job import disk, wire
from windlass_job.bounded import describe, say
from windlass_job.serving.card import Card
from windlass_job.serving.idleness import Idleness, Look, choose_pause_s, count_cpu_s, format_minutes
from windlass_job.serving.jupyter_asking import Activity, Server
from windlass_job.signals import Signals

PACKAGE = "jupyterlab"
_FIND = "import importlib.util, sys; sys.exit(0 if importlib.util.find_spec(sys.argv[1]) else 3)"
_START_S = 180.0  # on a busy shared file system Python imports for minutes
_LEAVE_S = 20.0
_LAST_MINUTES_S = 600.0
_SAME = 20  # letters of a warning: what follows counts down


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--idle", type=float, help="seconds without use after which it is ended; default: never")
    parser.add_argument("--start", type=float, default=_START_S, help="seconds in which it should answer")
    parser.add_argument("--listen", choices=("loopback", "node"), default="loopback", help="who can reach it")
    parser.add_argument("--folder", help="what it shows; default: the code of the run")


def run(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    signals = Signals(notice=signal.SIGTERM, cancel=(signal.SIGINT, signal.SIGHUP))
    return Notebook(options, dict(env), signals).run()


class Notebook:
    def __init__(self, options: argparse.Namespace, env: Dict[str, str], signals: Signals) -> None:
        self._options, self._env, self._signals = options, env, signals
        self._run_folder = env[wire.ENV_RUN_DIR]
        self._card = Card(self._run_folder, "jupyter", env)
        self._child: Optional["subprocess.Popen[bytes]"] = None
        self._config = os.path.join(self._card.folder, "jupyter_config.json")
        self._warned = ""

    def run(self) -> int:
        self._card.make_folder()
        self._card.put("starting", program=sys.executable, idle_after_s=self._options.idle)
        if subprocess.call([sys.executable, "-c", _FIND, PACKAGE], env=self._env) == 3:
            return self._fail("{} is not in the environment of this run".format(PACKAGE), wire.EXIT_ENVIRONMENT)
        token = self._card.make_token()
        address = find_address(self._env) if self._options.listen == "node" else "127.0.0.1"
        try:
            self._child = self._start(address, token)
        except OSError as error:
            return self._fail("JupyterLab could not be started: " + describe(error), wire.EXIT_NOT_STARTED)
        code = self._watch(self._child, address, token)
        self._card.forget_token()
        disk.remove_if_there(disk.as_path(self._config))
        self._card.put("idle" if code is None else "ended", problem="" if not code else "it ended with {}".format(code))
        return code or 0

    def _fail(self, problem: str, code: int) -> int:
        say(problem)
        self._card.put("failed", problem=problem)
        return code

    def _start(self, address: str, token: str) -> "subprocess.Popen[bytes]":
        runtime = os.path.join(self._card.folder, "runtime")
        os.makedirs(runtime, 0o700, exist_ok=True)
        folder = self._options.folder or os.path.join(self._run_folder, wire.CODE)
        settings = make_settings(address, find_free_port(address), token, os.path.expandvars(folder))
        disk.replace(disk.as_path(self._config), disk.make_json(settings), 0o600)
        env = dict(self._env, JUPYTER_RUNTIME_DIR=runtime, JUPYTER_PREFER_ENV_PATH="1")
        env["JUPYTER_TOKEN_FILE"] = self._card.token_path  # for versions that do not know the key of the settings
        env.update(make_home(env, self._card.folder))
        argv = [sys.executable, "-m", PACKAGE, "--no-browser", "--config=" + self._config]
        return subprocess.Popen(argv + (["--allow-root"] if os.getuid() == 0 else []), env=env, start_new_session=True)

    def _watch(self, child: "subprocess.Popen[bytes]", address: str, token: str) -> Optional[int]:
        """Its exit code; None where it was ended because nobody used it."""
        server = self._await_server(child, address, token)
        if server is None and self._is_silent(child):
            self._leave(child, None)
            return None
        idleness = Idleness(self._options.idle, time.time())
        pause_s = choose_pause_s(self._options.idle)
        while child.poll() is None:
            if self._signals.is_noticed or self._signals.is_cancelled:
                return self._leave(child, server)
            if server is not None and self._is_over(child.pid, server, idleness):
                self._leave(child, server)
                return None
            self._signals.wait(pause_s)
        return child.returncode

    def _await_server(self, child: "subprocess.Popen[bytes]", address: str, token: str) -> Optional[Server]:
        """Until it answers; None where it ended, the job is told to, or it was silent for too long."""
        began = time.monotonic()
        while self._is_silent(child) and not self._is_too_late(time.monotonic() - began):
            port = self._load_port(child.pid)
            server = Server(address, port, token, idle_s=self._options.idle) if port else None
            if server is not None and server.answers():
                self._warned = ""
                self._card.put("ready", port=port, host="" if address == "127.0.0.1" else address, warning="")
                say("JupyterLab answers on port {} of this node".format(port))
                return server
            self._signals.wait(0.3)
        return None

    def _is_silent(self, child: "subprocess.Popen[bytes]") -> bool:
        """It runs, and nobody has ended it."""
        return child.poll() is None and not self._signals.is_noticed and not self._signals.is_cancelled

    def _is_too_late(self, waited_s: float) -> bool:
        """One that never answers is used by nobody: ended as if it were idle, and not before it could start."""
        if waited_s < self._options.start:
            return False
        left_s = None if self._options.idle is None else max(self._options.idle, self._options.start) - waited_s
        if left_s is not None and left_s <= 0:
            self._warn("JupyterLab has not answered for {}: it is ended".format(format_minutes(waited_s)))
            return True
        self._warn("JupyterLab does not answer yet" + _tell_left(left_s))
        return False

    def _load_port(self, pid: int) -> Optional[int]:
        """The one it really has: where ours was taken meanwhile, it took the next."""
        told = disk.read_json(disk.as_path(os.path.join(self._card.folder, "runtime", "jpserver-{}.json".format(pid))))
        return int(told["port"]) if told and told.get("port") else None

    def _is_over(self, pid: int, server: Server, idleness: Idleness) -> bool:
        told = server.look()
        now, seen = time.time(), told or Activity(False, None)
        idleness.take(Look(now, seen.is_busy, seen.last_active, count_cpu_s(pid)))
        if idleness.is_over(now):
            self._warn("nobody has used this notebook for {}: it is ended".format(format_minutes(self._options.idle)))
            return True
        silent = "JupyterLab does not answer" + _tell_left(idleness.count_left_s(now))
        self._warn(self._find_warning(idleness, now) if told is not None else silent)
        return False

    def _find_warning(self, idleness: Idleness, now: float) -> str:
        left = idleness.count_left_s(now)
        if left is not None and idleness.is_warned(now):
            idle = format_minutes(idleness.count_idle_s(now))
            return "no cell has run for {}: in {} this notebook is ended, unless one runs".format(
                idle, format_minutes(left)
            )
        deadline = int(self._env.get(wire.ENV_DEADLINE) or 0)
        length = int(self._env.get(wire.ENV_LINK_S) or 0)
        last_s = min(_LAST_MINUTES_S, length / 4) if length else _LAST_MINUTES_S  # of a short job not from its start on
        if deadline and deadline - now < last_s:
            return "the time of this job is nearly up: in {} it ends; save your work".format(
                format_minutes(deadline - now)
            )
        return ""

    def _warn(self, words: str) -> None:
        if words[:_SAME] == self._warned[:_SAME]:
            return
        self._warned = words
        if words:
            say(words)
        self._card.put(self._card.state, warning=words)

    def _leave(self, child: "subprocess.Popen[bytes]", server: Optional[Server]) -> int:
        """Jupyter saves its sessions and ends its kernels; what stays is killed."""
        if server is not None:
            server.shut_down()
        else:
            child.terminate()
        try:
            return child.wait(_LEAVE_S)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return child.wait()


def _tell_left(left_s: Optional[float]) -> str:
    return "" if left_s is None else ": in {} this notebook is ended".format(format_minutes(left_s))


def make_settings(address: str, port: int, token: str, folder: str) -> Dict[str, Any]:
    """In a file: what stands on a command line everybody on the node can read. It takes the place of the user's own,
    which may name a certificate, a password or no token at all."""
    return {
        "ServerApp": {
            "ip": address,
            "port": port,
            "port_retries": 50,
            "open_browser": False,
            "root_dir": folder,
        },
        "IdentityProvider": {"token": token},
        # There may be no internet, and then each of these waits for it.
        "LabApp": {
            "check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
            "news_url": None,
            "extension_manager": "readonly",
        },
    }


def make_home(env: Mapping[str, str], folder: str) -> Dict[str, str]:
    """Variables for where jobs cannot write to home; none where they can."""
    home = os.path.expanduser("~")
    if os.access(home, os.W_OK | os.X_OK):
        return {}
    say("{} cannot be written to from this job: Jupyter keeps its settings in the run's folder".format(home))
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR", "JUPYTERLAB_SETTINGS_DIR")
    return {name: env.get(name) or os.path.join(folder, "home", name.lower()) for name in names}


def find_free_port(address: str) -> int:
    with socket.socket() as end:
        end.bind((address, 0))
        port: int = end.getsockname()[1]
        return port


def find_address(env: Mapping[str, str]) -> str:
    """By which the login node calls this node; all of them where its name leads only to itself."""
    name = env.get("SLURMD_NODENAME") or socket.gethostname()
    try:
        found: List[Any] = socket.getaddrinfo(name, None, socket.AF_INET)
    except OSError:
        return "0.0.0.0"
    addresses = [one[4][0] for one in found if not str(one[4][0]).startswith("127.")]
    return str(addresses[0]) if addresses else "0.0.0.0"
