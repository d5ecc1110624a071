"""The agent: runs the command as the job, passes on the end of time, leaves a record, exits as the command did."""

import argparse
import os
import platform
import signal
import threading
import time
from typing import Any, Dict, List, Mapping, Optional

from windlass_job import claims, slurm, wire
from windlass_job.bounded import describe, say, within
from windlass_job.command import ALERT_S, Command, as_exit_code, follow
from windlass_job.environment import make_environment
from windlass_job.events import Recorder
from windlass_job.gauges import start_sampling
from windlass_job.signals import Signals, read_signal

SAME_MOMENT_S = 2.0
TOLD_TO_STOP = "told to stop"
KILLED = (128 + signal.SIGTERM, 128 + signal.SIGKILL)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--notice-signal", default="USR1", help="sent by Slurm when the time is nearly up")
    parser.add_argument("--stop-signal", default="TERM", help="what the command then gets")
    parser.add_argument("--heartbeat", type=float, default=30.0, help="seconds")
    parser.add_argument("--gauge-interval", type=float, default=15.0, help="seconds; 0 for none")
    parser.add_argument("--patience", type=float, default=30.0, help="seconds to wait for the run folder's disk")
    parser.add_argument("command", nargs=argparse.REMAINDER)


def run(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    """The exit code of the job."""
    agent = None
    try:
        agent = Agent(options, env)
        return agent.run()
    except Exception as error:  # a mistake of ours must not cost the training
        say("the agent failed and only the command goes on: {!r}".format(error))
        return _go_on_without(agent, options.command)


def _go_on_without(agent: "Optional[Agent]", argv: List[str]) -> int:
    if agent is None or agent.command is None:
        os.execvp(argv[0], argv)
    return as_exit_code(follow(agent.command, agent.signals, signal.SIGTERM))


class Agent:
    def __init__(self, options: argparse.Namespace, env: Mapping[str, str]) -> None:
        self._stop = read_signal(options.stop_signal)
        cancel = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        self.signals = Signals(notice=read_signal(options.notice_signal), cancel=cancel)
        self._options = options
        self._env = env
        self._folder = env.get(wire.ENV_RUN_DIR) or None
        self._link = slurm.read_number(env, wire.ENV_LINK, 1)
        self._job = slurm.read_job_id(env) or "pid-{}".format(os.getpid())
        self._node = slurm.load_node(env)
        self._recorder = Recorder(self._folder, {"link": self._link, "job": self._job, "node": self._node})
        self.command: Optional[Command] = None
        self._status: Dict[str, Any] = {}
        if self._folder is None:
            self._recorder.note("{} is not set: nothing is recorded".format(wire.ENV_RUN_DIR))

    def run(self) -> int:
        attempt = self._take_link()
        if attempt is None:
            self._flush(self._get_last_s())
            return 0
        self._begin(attempt)
        self._put_status(wire.RUNNING)
        if self.signals.is_cancelled:
            return self._end(wire.TERMINATED, 128 + signal.SIGTERM)
        self.command = self._start()
        if self.command is None:
            return self._end(wire.FAILED, wire.EXIT_NOT_STARTED, exit_code=wire.EXIT_NOT_STARTED)
        return self._finish(self._supervise(self.command))

    def _take_link(self) -> Optional[int]:
        """The number of this attempt; None when this job has nothing to do."""
        if self._folder is None:
            return 1
        try:
            answer = within(self._options.patience, self._ask_folder, self._folder)
        except OSError as error:
            self._recorder.note("the claim cannot be checked, the command runs all the same: " + describe(error))
            return 1
        if isinstance(answer, int):
            self._recorder.may_write_status = lambda: self._holds_link(answer)
            return answer
        outcome, why = answer
        self._recorder.note("not run: " + why)
        if why == TOLD_TO_STOP:
            self._tell_skipped(self._folder)
        self._recorder.event(wire.LINK_ENDED, outcome=outcome)
        return None

    def _tell_skipped(self, folder: str) -> None:
        """Slurm will say of this job that it ended well, where it could not be cancelled in time."""
        self._status = self._make_status(None)
        where = (folder, self._link, self._status["submission"], self._job)
        self._recorder.may_write_status = lambda: claims.may_tell_skipped(*where)
        self._status.update(started=None, ended=time.time(), reason=TOLD_TO_STOP)
        self._put_status(wire.SKIPPED, is_last=True)

    def _holds_link(self, attempt: int) -> bool:
        submission = slurm.read_number(self._env, wire.ENV_NUMBER, 1)
        if not claims.is_superseded(self._folder or "", self._link, submission, attempt):
            return True
        self._recorder.note("another job has taken over this link: its status is left alone")
        self._recorder.may_write_status = lambda: False
        return False

    def _ask_folder(self, folder: str) -> Any:
        submission = slurm.read_number(self._env, wire.ENV_NUMBER, 1)
        if claims.has_stop(folder, submission):
            return wire.SKIPPED, TOLD_TO_STOP
        if claims.is_final(folder, submission, self._job):
            return wire.SKIPPED, "the run has already ended"
        claim = {
            "job": self._job,
            "token": self._env.get(wire.ENV_TOKEN),
            "submission": submission,
            "node": self._node,
            "restart": slurm.read_number(self._env, "SLURM_RESTART_COUNT", 0),
            "t": time.time(),
        }
        attempt = claims.take_claim(folder, self._link, claim)
        return attempt or (wire.DUPLICATE, "another job holds link {}".format(self._link))

    def _make_status(self, attempt: Optional[int]) -> Dict[str, Any]:
        return {
            "schema": wire.PROTOCOL,
            "link": self._link,
            "links": slurm.read_number(self._env, wire.ENV_LINKS, 1),
            "submission": slurm.read_number(self._env, wire.ENV_NUMBER, 1),
            "job": self._job,
            "attempt": attempt,
            "node": self._node,
            "started": time.time(),
            "ended": None,
            "exit_code": None,
            "signal": None,
            "stop_requested": None,
        }

    def _begin(self, attempt: int) -> None:
        env = self._env
        self._status = self._make_status(attempt)
        self._recorder.event(
            wire.LINK_STARTED,
            python=platform.python_version(),
            nodes=env.get("SLURM_JOB_NODELIST"),
            cpus=env.get("SLURM_CPUS_ON_NODE"),
            restart=slurm.read_number(env, "SLURM_RESTART_COUNT", 0),
            attempt=attempt,
        )

    def _start(self) -> Optional[Command]:
        argv = self._options.command
        try:
            command = Command(argv, make_environment(self._env, self._recorder.note))
        except (OSError, ValueError) as error:
            self._recorder.note("cannot start {}: {}".format(argv[0], describe(error)))
            return None
        self._recorder.event(wire.COMMAND_STARTED, pid=command.pid)
        if self._folder is not None and self._options.gauge_interval > 0:
            start_sampling(self._folder, self._node, self._options.gauge_interval)
        return command

    def _supervise(self, command: Command) -> int:
        next_beat = time.monotonic() + self._options.heartbeat
        while True:
            code = command.poll()
            if code is not None:
                return code
            if self.signals.is_noticed and not command.is_asked_to_stop:
                self._pass_on(command, "notice")
            elif self.signals.is_cancelled and not command.is_asked_to_stop:
                self._pass_on(command, "cancel")
            if time.monotonic() >= next_beat:
                next_beat = time.monotonic() + self._options.heartbeat
                self._put_status(wire.RUNNING)
            left = max(0.0, next_beat - time.monotonic())
            self.signals.wait(min(left, ALERT_S) if command.is_asked_to_stop else left)

    def _pass_on(self, command: Command, why: str) -> None:
        name = self._options.stop_signal
        self._recorder.event(wire.STOP_REQUESTED, signal=name, why=why)
        self._status["stop_requested"] = time.time()
        self._put_status(wire.RUNNING)
        # A cancelled job's steps have been told by Slurm itself.
        command.ask_to_stop(self._stop, self._stop_steps if why == "notice" else None)

    def _stop_steps(self) -> None:
        def ask() -> None:
            problem = slurm.signal_steps(self._job, self._options.stop_signal)
            if problem:
                self._recorder.note("the steps could not be told to stop: " + problem)

        threading.Thread(target=ask, daemon=True).start()

    def _finish(self, code: int) -> int:
        """`code` as subprocess has it: negative for a signal."""
        ended = {"exit_code": code, "signal": None} if code >= 0 else {"exit_code": None, "signal": -code}
        self._recorder.event(wire.COMMAND_ENDED, **ended)
        exit_code = as_exit_code(code)
        outcome = self._judge(exit_code)
        return self._end(outcome, wire.EXIT_CUT if outcome == wire.CUT else exit_code, **ended)

    def _judge(self, exit_code: int) -> str:
        if self._status["stop_requested"] is not None:
            return wire.CUT if self.signals.is_noticed_first else wire.TERMINATED
        if exit_code == 0:
            return wire.DONE
        if exit_code in KILLED:
            # Slurm cancels steps and batch shell in no order: our own signal may still be on its way.
            self.signals.wait_for_cancel(SAME_MOMENT_S)
        return wire.TERMINATED if self.signals.is_cancelled else wire.FAILED

    def _end(self, outcome: str, leave_with: int, **values: Any) -> int:
        self._status.update(values, ended=time.time())
        is_verdict = outcome != wire.TERMINATED  # there Slurm knows better, and kills who does not leave soon
        self._put_status(outcome, is_last=is_verdict)
        self._recorder.event(wire.LINK_ENDED, outcome=outcome)
        self._flush(self._get_last_s() if is_verdict else None)
        if outcome in (wire.DONE, wire.FAILED):
            problem = slurm.cancel_later_links(self._env)
            if problem:
                self._recorder.note("later links are still in the queue, and will end at once: " + problem)
                self._flush()
        return leave_with

    def _flush(self, limit_s: Optional[float] = None) -> None:
        self._recorder.flush(self._options.patience / 3 if limit_s is None else limit_s)

    def _get_last_s(self) -> float:
        """How long we stay for the last word: never longer than the job has left."""
        left = slurm.read_time_left(self._env)
        longest: float = self._options.patience * 2 / 3
        return longest if left is None else min(longest, left)

    def _put_status(self, state: str, *, is_last: bool = False) -> None:
        now = time.time()
        status = dict(self._status, state=state, updated=now, heartbeat=now)
        self._recorder.status(status, self._get_last_s() if is_last else None)
