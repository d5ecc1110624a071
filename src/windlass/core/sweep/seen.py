"""A sweep as it was last seen: what the table, the pictures and the page of the dashboard show."""

from dataclasses import dataclass

from windlass.core.sweep.template import make_filler
from windlass.core.sweep.trials import Failure, Trial, TrialState, find_best, group_failures, rank
from windlass.core.sweep.wish import Sweep

_MOST_NAMED = 12  # trials in a line


@dataclass(frozen=True, kw_only=True)
class SweepSeen:
    sweep_id: str  # the run that leads its farm
    site: str
    sweep: Sweep
    trials: tuple[Trial, ...]
    asked: float  # when the site was asked
    importance: tuple[tuple[str, float], ...] = ()
    importance_by: str = ""  # which measure that is
    told: tuple[str, ...] = ()  # names of all numbers that trials told

    @property
    def ranked(self) -> tuple[Trial, ...]:
        return tuple(rank(self.trials, self.sweep.goal))

    @property
    def best(self) -> Trial | None:
        return find_best(self.trials, self.sweep.goal)

    @property
    def failures(self) -> tuple[Failure, ...]:
        return group_failures(self.trials)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.trials[0].values) if self.trials else tuple(self.sweep.space)

    @property
    def is_over(self) -> bool:
        wanted = self.sweep.trials or 0
        return len(self.trials) >= wanted and all(one.state.is_over for one in self.trials)

    def count(self, state: TrialState) -> int:
        return sum(one.state is state for one in self.trials)

    def make_command(self, trial: Trial) -> str:
        return make_filler(self.sweep.command or "")(trial.number, trial.values)

    @property
    def advice(self) -> str | None:
        """Where trials ended, and some or all have not told a number that was meant."""
        lost = [one.number for one in self.trials if one.is_lost]
        if lost:
            return self._tell_lost(lost)
        done = self.count(TrialState.DONE)
        if self.best is not None or not done:
            return None
        if self.told and self.sweep.metric not in self.told:
            return f"no trial told {self.sweep.metric}; they told {', '.join(self.told)}: --metric {self.told[0]}"
        told = f'run.log(step, {self.sweep.metric}=…), or pattern = "{self.sweep.metric}=([0-9.e+-]+)"'
        return f"no trial told {self.sweep.metric}: write {told}"

    def _tell_lost(self, lost: list[int]) -> str:
        numbers = ", ".join(map(str, lost[:_MOST_NAMED])) + (", …" if len(lost) > _MOST_NAMED else "")
        trials = "1 trial" if len(lost) == 1 else f"{len(lost)} trials"
        what = f"a {self.sweep.metric} that is infinite or no number"
        return f"{trials} ended with {what} ({numbers}): that counts as the worst"
