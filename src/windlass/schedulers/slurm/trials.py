"""What a site's sbatch takes, found out by asking it: `sbatch --test-only` submits nothing and says yes or no.

Each trial differs from one that is accepted in a single option, so that a refusal tells of that option alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from windlass.schedulers.answers import ExpectedStart, Refusal
from windlass.schedulers.slurm.submit import read_estimate

_BASE = ("sbatch", "--test-only", "--job-name=windlass-discover")


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One question, and what sbatch said."""

    name: str
    options: tuple[str, ...]
    answer: ExpectedStart | Refusal | None = None  # None: not asked, or no clear answer

    @property
    def is_accepted(self) -> bool | None:
        return None if self.answer is None else isinstance(self.answer, ExpectedStart)


def make_trials(*, account: str | None, gpu_partition: str | None, gpu_kind: str | None) -> tuple[Trial, ...]:
    """The first is the measure of the rest: where it is refused, nothing follows from the others."""
    base = (f"--account={account}",) if account else ()
    trials = [
        Trial(name="plain", options=(*base, "--time=5")),
        Trial(name="without account", options=("--time=5",)),
        Trial(name="without time", options=base),
        Trial(name="with memory", options=(*base, "--time=5", "--mem=100M")),
        Trial(name="with a fraction of memory", options=(*base, "--time=5", "--mem=1.5G")),
    ]
    if gpu_partition:
        place = (*base, "--time=5", f"--partition={gpu_partition}")
        trials += [
            Trial(name="gres", options=(*place, "--gres=gpu:1")),
            Trial(name="gpus per node", options=(*place, "--gpus-per-node=1")),
            Trial(name="without gpu", options=place),
        ]
        if gpu_kind:
            trials.append(Trial(name="typed gres", options=(*place, f"--gres=gpu:{gpu_kind}:1")))
    return tuple(trials)


def make_trial_command(trial: Trial) -> list[str]:
    return [*_BASE, *trial.options, "--wrap=true"]


def read_trial(out: str, err: str, exit_code: int) -> ExpectedStart | Refusal | None:
    answer = read_estimate(out, err, exit_code)
    return None if isinstance(answer, Refusal) and not answer.kind.is_certain else answer


def by_name(trials: tuple[Trial, ...]) -> Mapping[str, Trial]:
    return {trial.name: trial for trial in trials}
