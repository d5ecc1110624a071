"""The verdict on a command that has ended: whether it is started again, and what becomes of the link."""

import argparse
import time
from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple

from windlass_job import slurm, wire
from windlass_job.agent import taking, tries
from windlass_job.agent.ending import KILLED, NO_EVIDENCE, Evidence, Witness, judge
from windlass_job.agent.report import Report
from windlass_job.bounded import describe, say, within
from windlass_job.command import as_exit_code
from windlass_job.events import Recorder
from windlass_job.signals import Signals
from windlass_job.stop_marker import is_told_to_stop

SAME_MOMENT_S = 2.0
ANSWER_S = 45.0  # for Slurm to say whether this job still runs: longer than it takes to give up a node
PAUSE_S = 3.0
LOOK_S = 10.0  # for a look at what was saved

# The outcome RUNNING means: start the command again. `values` go into the status.
Verdict = NamedTuple("Verdict", [("outcome", str), ("leave_with", int), ("values", Dict[str, Any])])


class Judge:
    def __init__(
        self,
        options: argparse.Namespace,
        env: Mapping[str, str],
        *,
        recorder: Recorder,
        report: Report,
        signals: Signals,
    ) -> None:
        self._options = options
        self._env = env
        self._recorder = recorder
        self._report = report
        self._signals = signals
        self._witness = self._call_witness(env.get(wire.ENV_RUN_DIR) or None)
        self._whole_s = slurm.read_time_left(env)
        self._tries = tries.Tries()
        self._saved: Tuple[Any, Any] = (None, None)

    def _call_witness(self, folder: Optional[str]) -> Witness:
        options = self._options
        limit_s = options.patience / 3  # two searches in less than `_load_evidence` waits for all that is found
        witness = Witness(folder, slurm.get_job(self._env), options.done_file, options.done_pattern, limit_s)
        trouble = witness.find_trouble()
        if trouble is not None:
            self._recorder.note(trouble + "; the command does not count as finished unless it says so by run.done()")
        return witness

    def begin_link(self, taken: taking.Taken) -> None:
        try:
            within(LOOK_S, self._witness.begin_link)
        except OSError as error:
            self._recorder.note("whether the file that means done is an old one cannot be told: " + describe(error))
        mark = self._load_mark()
        stalled = tries.count_stalled(taken.previous, taking.read_chain_first(self._env), mark)
        self._report.status.update(mark=mark, stalled=stalled, saved=tries.find_saved(mark, None, None))

    def begin_try(self) -> int:
        """The number of this start of the command."""
        self._tries.begin(self._load_mark())
        self._report.status["tries"] = self._tries.count
        return self._tries.count

    def copy_progress(self) -> bool:
        """Into the status, for the laptop. False: look again."""
        progress = self._witness.load_progress() or None
        self._report.status["progress"] = progress
        self._tell_saved(progress or {})
        return False

    def _tell_saved(self, progress: Dict[str, Any]) -> None:
        """For whoever looks at the chain later: progress.json knows only the last one."""
        saved = progress.get("saved_step"), progress.get("saved_t")
        is_ours = progress.get("link") == self._report.status["link"]
        if saved[1] is not None and is_ours and saved != self._saved:
            self._saved = saved
            self._recorder.event(wire.SAVED, step=saved[0], seconds=progress.get("save_s"), at=saved[1])

    def copy_saved(self) -> bool:
        """When something was saved last, for the laptop. False: look again."""
        status = self._report.status
        told = self._witness.load_progress().get("saved_t")
        status["saved"] = tries.find_saved(self._load_mark(), told, status["saved"])
        return False

    def name_budget(self) -> str:
        """Behind the word: " of 200 GPU-h"."""
        return " of {}".format(self._options.budget) if self._options.budget else ""

    def has_stalled(self) -> bool:
        return bool(self._report.status["stalled"] >= tries.ENOUGH_LINKS)

    def judge(self, code: int) -> Verdict:
        """`code` as subprocess has it: negative for a signal."""
        exit_code = as_exit_code(code)
        ended = {"exit_code": code, "signal": None} if code >= 0 else {"exit_code": None, "signal": -code}
        outcome = self._judge_end(code, exit_code)
        if outcome == wire.FAILED and self._is_given_up():
            outcome = wire.TERMINATED
        if outcome == wire.FAILED and self._options.restart:
            outcome = self._judge_breakdown(code)
        if outcome == wire.DONE:
            return Verdict(outcome, 0, {"exit_code": 0})
        if outcome == wire.SPENT:
            reason = wire.BUDGET_USED_UP.format(words=self.name_budget())
            return Verdict(outcome, wire.EXIT_SPENT, dict(ended, reason=reason))
        if outcome != wire.CUT:
            return Verdict(outcome, exit_code, ended)
        self._count_stalled()
        if self.has_stalled():
            return Verdict(wire.FAILED, wire.EXIT_STALLED, dict(ended, reason=wire.STALLED))
        return Verdict(outcome, wire.EXIT_CUT, ended)

    def _is_given_up(self) -> bool:
        """Slurm ended this job before its command failed, which then proves nothing: its srun has no job any more."""
        deadline = time.monotonic() + min(ANSWER_S, slurm.read_time_left(self._env) or ANSWER_S)
        while True:
            try:
                word = slurm.find_given_up(self._env)
                break
            except FileNotFoundError:
                return False  # there is no Slurm here
            except OSError as problem:
                # A controller that starts anew, or a cable that is out: the fence then tells whether we still count.
                if time.monotonic() > deadline or self._signals.is_cancelled:
                    self._recorder.note("whether this job still counts cannot be asked: " + describe(problem))
                    return self._signals.is_cancelled
                self._signals.wait_for_any(PAUSE_S)
        if word is not None:
            self._recorder.note("Slurm has given up this job ({}): how its command ended says nothing".format(word))
        return word is not None

    def _judge_end(self, code: int, exit_code: int) -> str:
        evidence = self._load_evidence(code)
        asked_by = None
        if self._report.status["stop_why"] == "budget":
            asked_by = "budget"
        elif self._report.status["stop_requested"] is not None:
            asked_by = "notice" if self._signals.is_noticed_first else "cancel"
        elif exit_code in KILLED:
            # Slurm cancels steps and batch shell in no order: our own signal may still be on its way.
            self._signals.wait_for_cancel(SAME_MOMENT_S)
        outcome = judge(exit_code, evidence, asked_by, is_cancelled=self._signals.is_cancelled)
        if outcome == wire.DONE and asked_by is None and exit_code != 0:
            self._recorder.note("the command had finished when it aborted (exit code {}): done".format(exit_code))
        elif outcome == wire.CUT and asked_by is None:
            self._recorder.note("the command ended by itself and is not finished: the next link goes on")
        return outcome

    def _load_evidence(self, code: int) -> Evidence:
        status = self._report.status
        ours = {name: status[name] for name in ("submission", "link", "attempt")}
        ours["try"] = self._tries.count

        def look() -> Evidence:
            self.copy_progress()
            return self._witness.load_evidence(ours, code)

        try:
            found: Evidence = within(self._options.patience, look)
            return found
        except OSError as error:
            if self._witness.is_named:
                self._recorder.note("whether the command is finished cannot be read, so it is not: " + describe(error))
                return Evidence(*NO_EVIDENCE._replace(is_named=False))
            self._recorder.note("only its exit code tells how the command ended: " + describe(error))
            return NO_EVIDENCE

    def _judge_breakdown(self, code: int) -> str:
        saved = self._tries.has_saved(self._load_mark())
        if not self._tries.is_worth_another(as_exit_code(code), saved):
            return wire.FAILED
        if tries.is_too_late(slurm.read_time_left(self._env), self._whole_s):
            is_last = self._report.status["link"] >= self._report.status["links"]
            return wire.CUT if saved and not is_last else wire.FAILED
        self._signals.wait_for_any(self._tries.pause_s)
        if self._signals.is_cancelled or is_told_to_stop(self._env):
            return wire.TERMINATED
        if self._signals.is_noticed:
            return wire.CUT
        how = "ended with exit code {}".format(code) if code >= 0 else "was killed by signal {}".format(-code)
        after = " after it had saved" if saved else ""
        say("the command {}{}: started again (try {})".format(how, after, self._tries.count + 1))
        return wire.RUNNING

    def _count_stalled(self) -> None:
        status = self._report.status
        saved = tries.has_saved(tries.read_mark(status["mark"]), self._load_mark())
        status["stalled"] = status["stalled"] + 1 if saved is False else 0

    def _load_mark(self) -> tries.Mark:
        checkpoints = self._env.get(wire.ENV_CHECKPOINTS)
        try:
            found: tries.Mark = within(LOOK_S, lambda: tries.load_mark(checkpoints, self._witness.load_progress()))
            return found
        except OSError:
            return tries.UNKNOWN
