"""One training as it sees itself, made from the environment: what `windlass_job.run` speaks for."""

import atexit
import os
import threading
import time

from windlass_job import disk, wire
from windlass_job.bounded import say
from windlass_job.saving import metrics, stopping, world

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, Dict, Mapping, Optional, Tuple, Union

    from windlass_job.saving.checkpoints import Checkpoints

FLUSH_S = 5.0
TOLD_S = 2.0
ROOM = 1024  # bytes of progress.json from the first: a full disk lets us write over it, and gives nothing more
METRICS_FILE = "WINDLASS_METRICS_FILE"  # for metrics outside of Windlass


class Run:
    def __init__(self, env: "Mapping[str, str]") -> None:
        self.pid = os.getpid()
        self._env = env
        self.is_windlass = bool(env.get(wire.ENV_RUN_DIR))
        # A task of a farm is not the run that it runs in: of that one it must not say that it is finished.
        self._is_task = wire.ENV_TASK in env
        self._folder = (env.get(wire.ENV_RUN_DIR) or None) if not self._is_task else None
        self.order = world.read_order(env)
        self._saves: Dict[str, Checkpoints] = {}
        self._lock = threading.Lock()
        self._progress: Optional[Dict[str, Any]] = None
        self._told = 0  # how often something was told, and how much of that is written
        self._written = 0
        self._lines: Optional[metrics.Lines] = None
        self._writer = metrics.Writer([self._write_lines, self._write_progress])
        self._stopping: Optional[stopping.Stopping] = None
        self._has_told_stop = False
        atexit.register(self._leave)

    @property
    def rank(self) -> int:
        return world.find_place(self._env)[0]

    @property
    def world_size(self) -> int:
        return world.find_place(self._env)[1]

    @property
    def link(self) -> int:
        return self.order[1]

    # ---- checkpoints --------------------------------------------------------------------------------

    def checkpoint(self, folder: "Optional[Union[str, Path]]", keep: int, patience_s: float) -> "Checkpoints":
        from windlass_job.saving.checkpoints import Checkpoints, check_keep

        keep = check_keep(keep)
        self._listen()
        place = os.path.abspath(str(folder or self._env.get(wire.ENV_CHECKPOINTS) or "checkpoints"))
        if place not in self._saves:
            self._saves[place] = Checkpoints(place, keep, patience_s, self._env, self._take_saved)
        self._saves[place].keep = keep
        return self._saves[place]

    def _take_saved(self, step: int, seconds: float) -> None:
        self._listen().measure(seconds)
        self._tell(saved_step=step, save_s=round(seconds, 3), saved_t=round(time.time(), 3))
        self._writer.flush(TOLD_S)  # a link that is killed now has come this far, and the agent must know

    # ---- stopping -----------------------------------------------------------------------------------

    def should_stop(self, all_ranks: bool, least: "Optional[stopping.Least]") -> bool:
        asked = self._stopping or self._listen()
        answer = asked.ask_all(least) if all_ranks else asked.ask()
        if answer and not self._has_told_stop:
            self._has_told_stop = True
            self._tell(stopping=True)
            self._writer.flush(TOLD_S)  # whoever leaves with 0 now has not finished, and the agent must know
        return answer

    def _listen(self) -> "stopping.Stopping":
        """Outside of Windlass nobody sends a signal or sets an end."""
        if self._stopping is None:
            env = self._env if self.is_windlass else {}
            self._stopping = stopping.Stopping(env, self._load_save_s())
            if self.is_windlass:
                self._stopping.listen(env)
            if self._folder is not None:
                self._take_room()
        return self._stopping

    def _take_room(self) -> None:
        """The file is there before the disk is full."""
        if self.rank == 0 and self._load_progress() is None:
            try:
                self._put(self._make_progress())
            except OSError:
                pass  # tried again, and told, when there is something to tell

    def _load_save_s(self) -> float:
        """How long a save took in the link before this one."""
        seconds = (self._load_progress() or {}).get("save_s")
        return float(seconds) if isinstance(seconds, (int, float)) else 0.0

    # ---- what is told -------------------------------------------------------------------------------

    def log(self, step: "Any", values: "Dict[str, Any]") -> None:
        lines = self._lines or self._open_lines()
        if not lines.add(step, values):
            self._make_room(lines)

    def progress(self, done: "Any", of: "Any", unit: str) -> None:
        self._tell(done=metrics.make_plain(done), of=metrics.make_plain(of), unit=metrics.make_plain(unit))

    def tell_failed(self, tasks: int, stopped: int) -> None:
        """Of a farm, by its pilot."""
        self._tell(tasks_failed=tasks, tasks_stopped=stopped)

    def done(self) -> None:
        self._tell(finished=True)
        self.flush()

    def flush(self) -> None:
        """Until what was told is written, or a moment has passed: for who leaves without Python's own end."""
        self._writer.flush(FLUSH_S)

    def _open_lines(self) -> "metrics.Lines":
        path = self._env.get(METRICS_FILE) or None
        if path is None and self._is_task and self.rank == 0:
            path = self._env.get(wire.ENV_TASK_METRICS) or None
        if path is None and self._folder is not None:
            name = "{}.{}.jsonl".format(self.link, self.rank)
            path = os.path.join(self._folder, wire.METRICS, name)
        self._lines = metrics.Lines(path)
        self._writer.start()
        return self._lines

    def _make_room(self, lines: "metrics.Lines") -> None:
        """A loop that does nothing but tell is held up for a moment; a file system that hangs does not do that."""
        self._writer.wake()
        if lines.is_full and not lines.is_stuck:
            lines.is_stuck = not self._writer.flush(metrics.FULL_S)

    def _tell(self, **values: "Any") -> None:
        if self._folder is None or self.rank != 0:
            return
        with self._lock:
            told = self._progress or self._make_progress()
            told.update(values, t=round(time.time(), 3))
            if told["first_done"] is None and told["done"] is not None:
                told.update(first_done=told["done"], first_t=told["t"])
            self._progress = told
            self._told += 1
        self._writer.start()

    def _make_progress(self) -> "Dict[str, Any]":
        names = ("done", "of", "unit", "first_done", "first_t", "save_s", "saved_step", "saved_t")
        made: Dict[str, Any] = dict.fromkeys(names)
        submission, link, attempt = self.order
        made.update(submission=submission, link=link, attempt=attempt, stopping=False, finished=False)
        made["try"] = int(self._env.get(wire.ENV_TRY) or 1)
        return made

    # ---- the writer's thread ------------------------------------------------------------------------

    def _write_lines(self) -> None:
        if self._lines is not None:
            self._lines.write()

    def _write_progress(self) -> None:
        with self._lock:
            if self._written == self._told or self._progress is None:
                return
            count, told = self._told, dict(self._progress)
        if _read_order(self._load_progress() or {}) <= self.order:  # a fenced-off attempt has no say
            self._put(told)
        self._written = count  # not before: what could not be written is tried again

    def _put(self, told: "Dict[str, Any]") -> None:
        path = disk.as_path(os.path.join(self._folder or "", wire.PROGRESS))
        content = disk.make_json(told).ljust(ROOM)
        try:
            disk.replace(path, content)
        except OSError as error:
            if error.errno not in disk.NO_SPACE or not os.path.exists(path):
                raise
            disk.overwrite(path, content)

    def _load_progress(self) -> "Optional[Dict[str, Any]]":
        if self._folder is None:
            return None
        try:
            return disk.read_json(os.fsencode(os.path.join(self._folder, wire.PROGRESS)))
        except OSError:
            return None

    def _leave(self) -> None:
        if os.getpid() == self.pid:
            self.flush()
            self._tell_loss()

    def _tell_loss(self) -> None:
        told = self._progress or {}
        word = "finished" if told.get("finished") else "stopping" if told.get("stopping") else None
        if word is not None and self._written != self._told:
            say("the run folder did not take the word that this training is {}: its state may be wrong".format(word))


def _read_order(told: "Dict[str, Any]") -> "Tuple[int, int, int]":
    found = [told.get(name) for name in ("submission", "link", "attempt")]
    submission, link, attempt = (one if isinstance(one, int) else 0 for one in found)
    return submission, link, attempt
