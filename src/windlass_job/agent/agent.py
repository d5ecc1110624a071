"""The agent: runs the command as the job, passes on the end of time, leaves a record, exits as the command did.

It takes the link and puts up the fence, prepares, runs the command (again where it broke down and that is worth it),
writes down how it ended, and sees to the links that follow. It is never the reason that a training dies, but for one:
another job has taken over.
"""

import argparse
import os
import platform
import signal
import threading
import time
from typing import Any, Dict, List, Mapping, Optional

from windlass_job import fence, slurm, wire
from windlass_job.agent import replanning, taking
from windlass_job.agent.environment import make_environment
from windlass_job.agent.gpus import tell_missing
from windlass_job.agent.judging import Judge
from windlass_job.agent.own_environment import remove_own_environment
from windlass_job.agent.report import Report, list_modules
from windlass_job.agent.samplers import Samplers
from windlass_job.agent.spending import Spending
from windlass_job.agent.streams import StreamWatch, watch_streams
from windlass_job.bounded import describe, repeat, say
from windlass_job.command import ALERT_S, KILL_S, Command, as_exit_code, follow
from windlass_job.disk import make_suffix
from windlass_job.events import Recorder
from windlass_job.signals import Signals, read_signal
from windlass_job.starting import ports

FIRST_BEAT_S = 6.0  # then ever more rarely: a progress that was just told is worth a look


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--notice-signal", default="USR1", help="sent by Slurm when the time is nearly up")
    parser.add_argument("--stop-signal", default="TERM", help="what the command then gets")
    parser.add_argument("--done-file", help="is there when the training is finished")
    parser.add_argument("--done-pattern", help="a regular expression for what it prints when it is finished")
    parser.add_argument("--restart", action="store_true", help="start a command again that broke down after saving")
    parser.add_argument("--gpus", type=int, default=0, help="how many this node should have")
    parser.add_argument("--network-test", action="store_true", help="first see whether all nodes can talk")
    parser.add_argument("--replace-nodes", action="store_true", help="submit again without those that cannot")
    parser.add_argument("--data", help="JSON: what the nodes are to hold of it, and what is brought back from them")
    parser.add_argument("--allowed", type=float, help="seconds that all jobs of this run together may last")
    parser.add_argument("--budget", help="the same as the user wrote it, such as 200 GPU-h")
    parser.add_argument("--heartbeat", type=float, default=30.0, help="seconds")
    parser.add_argument("--fence-interval", type=float, default=5.0, help="seconds between two looks at the claims")
    parser.add_argument("--gauge-interval", type=float, default=15.0, help="seconds; 0 for none")
    parser.add_argument(
        "--save-interval", type=float, default=60.0, help="seconds between two looks for what was saved"
    )
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
        # What we learn on the way is added. Slurm has no word of its own for a start that it has forgotten.
        self._env: Dict[str, str] = dict(env, **{wire.ENV_START: make_suffix().decode()})
        self._folder = env.get(wire.ENV_RUN_DIR) or None
        self._job = slurm.get_job(env)
        link = slurm.read_number(env, wire.ENV_LINK, 1)
        self._recorder = Recorder(self._folder, {"link": link, "job": self._job, "node": slurm.load_node(env)})
        self._spending = Spending(env, options.allowed)
        self._report = Report(self._recorder, env, options.patience, self._spending)
        self._judge = Judge(options, self._env, recorder=self._recorder, report=self._report, signals=self.signals)
        self._fence: Optional[fence.Fence] = None
        self._ports: Optional[ports.PortBlock] = None
        self._staging: Optional[Any] = None  # a room that most jobs never enter
        self._samplers: Optional[Samplers] = None
        self._streams: Optional[StreamWatch] = None
        self._keepers = self._start_keepers() if options.data else None
        self.command: Optional[Command] = None
        if self._folder is None:
            self._recorder.note("{} is not set: nothing is recorded".format(wire.ENV_RUN_DIR))

    def run(self) -> int:
        taken = taking.take_link(self._env, self._options, recorder=self._recorder, report=self._report)
        if taken is None:
            self._report.flush(self._report.get_last_s())
            return 0
        self._begin(taken)
        left = None if self.signals.is_cancelled else self._prepare(taken)
        if left is None and self.signals.is_cancelled:
            return self._end(wire.TERMINATED, 128 + signal.SIGTERM)
        return self._run_command() if left is None else left

    def _begin(self, taken: taking.Taken) -> None:
        env, claim = self._env, taken.claim
        env.update({wire.ENV_LINK: str(claim.link), wire.ENV_ATTEMPT: str(claim.attempt)})
        self._fence = taken.fence
        if self._fence is not None:
            self._fence.watch(self._options.fence_interval, self.signals.wake)
        self._recorder.common["link"] = claim.link
        self._recorder.event(
            wire.LINK_STARTED,
            python=platform.python_version(),
            modules=list_modules(env),
            nodes=env.get("SLURM_JOB_NODELIST"),
            cpus=env.get("SLURM_CPUS_ON_NODE"),
            restart=slurm.read_number(env, "SLURM_RESTART_COUNT", 0),
            attempt=claim.attempt,
        )
        self._spending.begin_link(taken.previous)
        self._report.begin(claim)
        self._report.status["successors"] = taken.previous.get("successors") or []
        self._judge.begin_link(taken)
        self._report.put(wire.RUNNING)

    def _prepare(self, taken: taking.Taken) -> Optional[int]:
        """What is done before the command starts; an exit code where it is not to start."""
        if self._judge.has_stalled():
            return self._end(wire.FAILED, wire.EXIT_STALLED, reason=wire.STALLED)
        if self._spending.is_too_little:
            return self._leave_spent()
        older = taking.find_alive(taken)
        if older is not None and self._fence is not None:
            self._recorder.note("another start of this run was alive just now: it gets time to see that it is over")
            self._fence.wait_for_older(older, self._options.fence_interval, self.signals)
        self._take_ports()
        missing = tell_missing(self._env, self._options.gpus)
        if missing:
            self._recorder.note(missing)
        left = self._check_nodes() if self._options.network_test else None
        return self._stage_data() if left is None and self._options.data else left

    def _leave_spent(self) -> int:
        """Nothing was started: what is left would not do."""
        reason = wire.BUDGET_USED_UP.format(words=self._judge.name_budget())
        self._recorder.note(reason + ": this link does not start")
        return self._end(wire.SPENT, wire.EXIT_SPENT, reason=reason)

    def _start_keepers(self) -> Optional[Any]:
        """At once: they need a moment, and wait for orders. They leave when this process does."""
        from windlass_job.staging import crew

        try:
            return crew.start(self._env) if self._folder is not None else None
        except OSError as error:
            self._recorder.note("the data is read where it lies: {}".format(describe(error)))
            return None

    def _stage_data(self) -> Optional[int]:
        from windlass_job.staging import directing

        if self._keepers is None:
            return None
        started = self._report.status["started"]
        self._staging = directing.Staging(self._options.data, self._env, self._recorder, started)
        problem = self._staging.stage(self._keepers, lambda: self.signals.is_cancelled or self.signals.is_noticed)
        if problem is None or self.signals.is_cancelled:
            return None
        self._recorder.note(problem)
        return self._end(wire.FAILED, wire.EXIT_DATA, exit_code=wire.EXIT_DATA, reason=problem)

    def _check_nodes(self) -> Optional[int]:
        from windlass_job.network import sick_nodes  # most jobs have one node, and need not wait for it

        may_replace = self._options.replace_nodes
        leaving = sick_nodes.check_nodes(
            self._folder, self._env, may_replace=may_replace, recorder=self._recorder, signals=self.signals
        )
        return None if leaving is None else self._end(leaving.outcome, leaving.exit_code, **leaving.values)

    def _take_ports(self) -> None:
        job = self._env.get("SLURM_JOB_ID", "")
        if not job.isdigit():
            return
        self._ports = ports.take_block(int(job))
        if self._ports is None:
            self._recorder.note("no ports are free for this job: MASTER_PORT may be taken")
            return
        self._env.update(ports.make_variables(self._env, self._ports.first))

    def _run_command(self) -> int:
        self._streams = watch_streams(self._folder)
        while True:
            if self._fence is not None and self._fence.lost_to is not None:
                return self._leave_fenced_off(self._fence)
            number = self._judge.begin_try()
            self.command = self._start(number)
            if self.command is None:
                return self._end(wire.FAILED, wire.EXIT_NOT_STARTED, exit_code=wire.EXIT_NOT_STARTED)
            code = self._supervise(self.command)
            exit_code, number_of_signal = (code, None) if code >= 0 else (None, -code)
            self._recorder.event(wire.COMMAND_ENDED, exit_code=exit_code, signal=number_of_signal)
            if self._fence is not None and self._fence.is_lost_now(self._options.patience / 3):
                return self._leave_fenced_off(self._fence)
            verdict = self._judge.judge(code)
            if verdict.outcome != wire.RUNNING:
                return self._end(verdict.outcome, verdict.leave_with, **verdict.values)
            self._recorder.event(
                wire.COMMAND_RESTARTED, number=number + 1, exit_code=exit_code, signal=number_of_signal
            )

    def _start(self, number: int) -> Optional[Command]:
        argv = self._options.command
        given = {wire.ENV_TRY: str(number), wire.ENV_STOP_SIGNAL: self._options.stop_signal}
        try:
            env = make_environment(dict(self._env, **given), self._recorder.note)
            command = Command(argv, env, self._streams.stderr if self._streams is not None else None)
        except (OSError, ValueError) as error:
            self._recorder.note("cannot start {}: {}".format(argv[0], describe(error)))
            return None
        self._recorder.event(wire.COMMAND_STARTED, pid=command.pid)
        if self._staging is not None:
            self._staging.begin_bringing()
        if number == 1 and self._folder is not None:
            repeat(self._options.fence_interval, self._judge.copy_progress)
            repeat(self._options.save_interval, self._judge.copy_saved)
            if self._options.gauge_interval > 0:
                every = self._options.gauge_interval
                self._samplers = Samplers(self._env, interval_s=every, gpus=self._options.gpus)
        return command

    def _supervise(self, command: Command) -> int:
        beat_s = min(FIRST_BEAT_S, self._options.heartbeat)
        next_beat = time.monotonic() + beat_s
        while True:
            code = command.poll()
            if code is not None:
                return code
            if self._fence is not None and self._fence.lost_to is not None:
                return command.kill(KILL_S)
            if self.signals.is_noticed and not command.is_asked_to_stop:
                self._pass_on(command, "notice")
            elif self.signals.is_cancelled and not command.is_asked_to_stop:
                self._pass_on(command, "cancel")
            until = self._spending.until_notice_s
            if until is not None and until <= 0 and not command.is_asked_to_stop:
                self._pass_on(command, "budget")
            elif self._spending.is_used_up and self._report.status["stop_why"] == "budget":
                return command.kill(KILL_S)
            if self._staging is not None:
                self._staging.look_at_clock()
            if time.monotonic() >= next_beat:
                beat_s = min(2 * beat_s, self._options.heartbeat)
                next_beat = time.monotonic() + beat_s
                self._report.put(wire.RUNNING)
            left = max(0.0, next_beat - time.monotonic())
            left = min(left, until) if until is not None and until > 0 else left
            self.signals.wait(min(left, ALERT_S) if command.is_asked_to_stop else left)

    def _pass_on(self, command: Command, why: str) -> None:
        name = self._options.stop_signal
        if why == "cancel" and self._streams is not None:
            self._streams.fall_silent()
        say(self._explain_stop(why))
        self._recorder.event(wire.STOP_REQUESTED, signal=name, why=why)
        self._report.put(wire.RUNNING, stop_requested=time.time(), stop_why=why)
        if self._staging is not None:
            self._staging.bring()  # what is there: the command may not end in time
        # A cancelled job's steps have been told by Slurm itself.
        command.ask_to_stop(self._stop, (lambda: self._signal_steps(name)) if why != "cancel" else None)

    def _explain_stop(self, why: str) -> str:
        """In the log, before what a training prints when it is stopped."""
        asked = "asked the command to stop ({})".format(self._options.stop_signal)
        if why == "budget":
            return "the budget{} of this run is nearly used up: {}".format(self._judge.name_budget(), asked)
        if why != "notice":
            return "this job was told to end: " + asked
        is_last = self._report.status["link"] >= self._report.status["links"]
        return "the time of this job is nearly up: {}{}".format(asked, "" if is_last else "; the next link goes on")

    def _signal_steps(self, name: str) -> threading.Thread:
        def ask() -> None:
            problem = slurm.signal_steps(self._job, name)
            if problem:
                self._recorder.note("the steps could not be told to stop: " + problem)

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        return thread

    def _end(self, outcome: str, leave_with: int, **values: Any) -> int:
        if self._samplers is not None:
            self._samplers.end()
        if self._streams is not None:
            self._streams.end()
        if self._staging is not None:  # before the last word: results are there when the laptop hears it
            self._staging.end(is_hurried=self.signals.is_cancelled)
        is_verdict = outcome != wire.TERMINATED  # there Slurm knows better, and kills who does not leave soon
        self._report.put(outcome, is_last=is_verdict, ended=time.time(), **values)
        self._recorder.event(wire.LINK_ENDED, outcome=outcome)
        self._report.flush(self._report.get_last_s() if is_verdict else None)
        self._leave_nodes_clean()
        self._see_to_next_links(outcome)
        self._report.flush()
        if self._samplers is not None:
            self._samplers.leave()
        return leave_with

    def _leave_nodes_clean(self) -> None:
        """Of what the batch script made there before us."""
        problem = remove_own_environment(self._env, is_hurried=self.signals.is_cancelled)
        if problem:
            self._recorder.note("the environment stays on the disks of the nodes: " + problem)

    def _see_to_next_links(self, outcome: str) -> None:
        """When the status is written: whatever happens here, the laptop knows how this link ended."""
        if outcome == wire.CUT:
            replanning.go_on(self._env, self._report.status, self._recorder, lambda: self.signals.is_cancelled)
        elif outcome in (wire.DONE, wire.FAILED, wire.MOVED, wire.SPENT):
            problem = slurm.cancel_later_links(self._env)
            if problem:
                self._recorder.note("later links are still in the queue, and will end at once: " + problem)

    def _leave_fenced_off(self, lost: fence.Fence) -> int:
        """Without a status: it is the other's. The command is dead already."""
        self._recorder.may_write_status = lambda: False
        self._recorder.note("another job has taken over this run (claim {}): the command was stopped".format(lost.by))
        self._recorder.event(wire.FENCED_OFF, by=lost.by)
        if self._staging is not None:
            self._staging.leave(0.0)
        if not lost.is_lost_to_same_job(self._job):
            self._signal_steps("KILL").join(KILL_S)
        lost.tell_stopped()
        self._recorder.event(wire.LINK_ENDED, outcome=wire.FENCED)
        self._report.flush()
        return wire.EXIT_FENCED_OFF
