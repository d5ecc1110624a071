"""One node's part of a Spark cluster that lives as long as the job: `srun --ntasks-per-node=1` runs it on each.

The first node keeps the master, a worker and the command; the others keep a worker. Each of them holds a connection
to the first node: when that ends, however it ended, the cluster is over.
"""

import argparse
import hashlib
import os
import select
import shutil
import signal
import socket
import tempfile
import time
from typing import Dict, List, Mapping, Optional

from windlass_job import wire
from windlass_job.bounded import describe, say
from windlass_job.command import Command, as_exit_code, follow
from windlass_job.signals import Signals, read_signal
from windlass_job.starting import spark_parts
from windlass_job.starting.spark_parts import Daemon, name_missing
from windlass_job.starting.steps import Step, read_step

READY_S = 180.0  # a JVM on a busy shared disk takes its time
TICK_S = 0.3
# Which of the job's free ports; all others are the system's to give.
LINE, MASTER, PAGE = 0, 1, 2


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stop-signal", default="TERM", help="what the command gets when it is told to stop")
    parser.add_argument("--cores", type=int, default=1, help="of one worker")
    parser.add_argument("--memory-mb", type=int, default=0, help="of one node; 0: what Slurm says, or all of it")
    parser.add_argument("--beside", help="a folder in which Spark's programs may be")
    parser.add_argument("--ready-within", type=float, default=READY_S, help="seconds")
    parser.add_argument("command", nargs=argparse.REMAINDER)


def run(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    stop = read_signal(options.stop_signal)
    signals = Signals(notice=stop, cancel={signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
    scratch = tempfile.mkdtemp(prefix="windlass-spark-", dir=env.get("SLURM_TMPDIR") or env.get("TMPDIR") or "/tmp")
    try:
        node = Node(options, env, scratch, signals)
        return node.run()
    except Trouble as trouble:
        say(str(trouble))
        return wire.EXIT_NOT_STARTED
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


class Trouble(Exception):
    """What keeps the cluster from starting, in words."""


class Node:
    def __init__(self, options: argparse.Namespace, env: Mapping[str, str], scratch: str, signals: Signals) -> None:
        self._options = options
        self._env = env
        self._step: Step = read_step(env)
        self._host = self._step.hosts[self._step.node]
        self._scratch = scratch
        self._signals = signals
        self._daemons: List[Daemon] = []
        self._program = _find_program(env, options.beside)
        self._log_folder = self._make_log_folder()
        self._settings = self._save_settings()

    def run(self) -> int:
        try:
            return self._lead() if self._step.node == 0 else self._serve()
        finally:
            for daemon in reversed(self._daemons):
                daemon.stop()

    # ---- the first node ------------------------------------------------------------------------------

    def _lead(self) -> int:
        with _open_line(self._port(LINE)) as line:
            others = _Others(line, make_password(self._env[wire.ENV_SPARK_SECRET]))
            try:
                page = ["--webui-port", str(self._port(PAGE))]
                self._start("master", spark_parts.MASTER, ["--port", str(self._port(MASTER))] + page)
                self._start_worker()
                if not self._wait_for_workers(others):
                    return 128 + signal.SIGTERM
                return self._run_command()
            finally:
                others.close()

    def _wait_for_workers(self, others: "_Others") -> bool:
        """False: told to stop meanwhile."""
        deadline = time.monotonic() + self._options.ready_within
        wanted = len(self._step.counts)
        here: List[str] = []
        while len(here) < wanted:
            if self._signals.is_noticed or self._signals.is_cancelled:
                return False
            self._refuse_dead()
            if others.has_lost_one():
                raise Trouble(
                    "Spark's workers: {} gave up; its words are above".format(name_missing(self._step.hosts, here))
                )
            if time.monotonic() > deadline:
                raise Trouble(
                    "{} of {} Spark workers came within {:g} s; missing: {}".format(
                        len(here), wanted, self._options.ready_within, name_missing(self._step.hosts, here)
                    )
                )
            self._signals.wait(TICK_S)
            try:
                here = spark_parts.fetch_workers(self._port(PAGE))
            except OSError:
                pass  # the master is not up yet
        say("Spark is up: {} workers with {} cores each".format(wanted, self._options.cores))
        return True

    def _refuse_dead(self) -> None:
        for daemon in self._daemons:
            if not daemon.is_alive:
                raise Trouble("Spark's {} on {} {}".format(daemon.name, self._host, daemon.tell_end()))

    def _run_command(self) -> int:
        try:
            command = Command(self._options.command, self._make_env())
        except (OSError, ValueError) as error:
            raise Trouble("cannot start {}: {}".format(self._options.command[0], describe(error)))
        return as_exit_code(follow(command, self._signals, read_signal(self._options.stop_signal)))

    # ---- the others ----------------------------------------------------------------------------------

    def _serve(self) -> int:
        """Until the first node hangs up. Told to stop, a worker stays: the driver may still be saving."""
        line = self._call_first()
        if line is None:
            return 128 + signal.SIGTERM
        with line:
            line.sendall(make_password(self._env[wire.ENV_SPARK_SECRET]))
            self._start_worker()
            while not select.select([line], [], [], TICK_S)[0]:
                if not self._daemons[0].is_alive:
                    raise Trouble("Spark's worker on {} {}".format(self._host, self._daemons[0].tell_end()))
        return 0

    def _call_first(self) -> Optional[socket.socket]:
        deadline = time.monotonic() + self._options.ready_within
        while not self._signals.is_cancelled and not self._signals.is_noticed:
            try:
                return socket.create_connection((self._step.hosts[0], self._port(LINE)), timeout=TICK_S * 10)
            except OSError as error:
                if time.monotonic() > deadline:
                    raise Trouble(
                        "{} cannot reach {}, where Spark's master is: {}".format(
                            self._host, self._step.hosts[0], describe(error)
                        )
                    )
            self._signals.wait(TICK_S)
        return None

    # ---- both ----------------------------------------------------------------------------------------

    def _start_worker(self) -> None:
        share = self._share()
        words = ["--cores", str(share.cores), "--memory", "{}m".format(share.worker_mb), "--webui-port", "0"]
        words += ["--work-dir", os.path.join(self._scratch, "work"), self._master()]
        self._start("worker", spark_parts.WORKER, words)

    def _start(self, name: str, what: str, words: List[str]) -> None:
        log = os.path.join(self._log_folder, "{}-{}-{}.log".format(self._job(), self._node_name(), name))
        argv = [self._program, what, "--host", self._host, "--properties-file", self._settings] + words
        try:
            self._daemons.append(Daemon(name, argv, self._make_daemon_env(), log))
        except OSError as error:
            raise Trouble("cannot start Spark's {}: {}".format(name, describe(error)))

    def _make_daemon_env(self) -> Dict[str, str]:
        made = self._make_env()
        made.setdefault("SPARK_DAEMON_MEMORY", "512m")
        made["SPARK_LOCAL_DIRS"] = os.path.join(self._scratch, "local")
        made["SPARK_LOCAL_IP"] = "127.0.0.1"  # of their pages, which ask nobody for a password
        return made

    def _make_env(self) -> Dict[str, str]:
        made = dict(self._env, SPARK_CONF_DIR=os.path.dirname(self._settings))
        del made[wire.ENV_SPARK_SECRET]  # it is in the settings
        python = os.path.join(os.path.dirname(self._program), "python")
        if os.path.exists(python):
            made.setdefault("PYSPARK_PYTHON", python)  # else the system's, which has no pyspark
        return made

    def _save_settings(self) -> str:
        own = {
            "spark.master": self._master(),
            "spark.authenticate": "true",
            "spark.authenticate.secret": self._env[wire.ENV_SPARK_SECRET],
            "spark.driver.host": self._step.hosts[0],
            "spark.master.rest.enabled": "false",  # by default on the same port in every job, 6066
        }
        defaults = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.executor.memory": "{}m".format(self._share().executor_mb),
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": "file://" + self._log_folder,
            "spark.local.dir": os.path.join(self._scratch, "local"),
        }
        return spark_parts.save_settings(os.path.join(self._scratch, "conf"), own, defaults, self._env)

    def _make_log_folder(self) -> str:
        folder = os.path.join(self._env.get(wire.ENV_RUN_DIR) or self._scratch, wire.SPARK_LOGS)
        os.makedirs(folder, exist_ok=True)
        return folder

    def _share(self) -> spark_parts.Share:
        return spark_parts.make_share(
            self._options.cores, self._options.memory_mb or spark_parts.load_memory_mb(self._env)
        )

    def _master(self) -> str:
        return "spark://{}:{}".format(self._step.hosts[0], self._port(MASTER))

    def _port(self, which: int) -> int:
        return self._step.first_port + which

    def _job(self) -> str:
        return self._env.get("SLURM_JOB_ID", "0")

    def _node_name(self) -> str:
        return self._env.get("SLURMD_NODENAME") or self._host


class _Others:
    """The connections of the other nodes, which hear by their end that all is over. Strangers are not listened to."""

    def __init__(self, line: socket.socket, password: bytes) -> None:
        self._line = line
        self._password = password
        self._callers: List[socket.socket] = []
        self._guests: List[socket.socket] = []

    def has_lost_one(self) -> bool:
        while select.select([self._line], [], [], 0)[0]:
            self._callers.append(self._line.accept()[0])
        for caller in select.select(self._callers, [], [], 0)[0]:
            self._callers.remove(caller)
            if _receive(caller) == self._password:
                self._guests.append(caller)
            else:
                caller.close()
        return bool(select.select(self._guests, [], [], 0)[0])  # they say nothing more

    def close(self) -> None:
        for guest in self._callers + self._guests:
            guest.close()


def _receive(caller: socket.socket) -> bytes:
    try:
        return caller.recv(256)
    except OSError:
        return b""


def make_password(secret: str) -> bytes:
    """Not the secret itself: it goes over the network as it is."""
    return hashlib.sha256(b"windlass " + secret.encode("utf-8")).hexdigest().encode("ascii")


def _open_line(port: int) -> socket.socket:
    line = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        line.bind(("", port))
        line.listen(1024)
    except OSError as error:
        line.close()
        raise Trouble("Spark's nodes cannot meet: port {}: {}".format(port, describe(error)))
    return line


def _find_program(env: Mapping[str, str], beside: Optional[str]) -> str:
    found = spark_parts.find_spark_class(env, beside)
    if found is None:
        raise Trouble("spark-class is not on the PATH nor under SPARK_HOME: a module of Spark, or pip install pyspark")
    if not spark_parts.has_java(env):
        raise Trouble("Spark needs Java, and there is none: a module of Java, or JAVA_HOME in [run.env]")
    return found
