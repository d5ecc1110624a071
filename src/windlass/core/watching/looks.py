"""When a site may be asked again, and how the last look at it ended: kept for all processes of this laptop together."""

from dataclasses import dataclass, replace

USUAL_S = 30.0  # between two looks, where a site file says nothing else
LEAST_S = 10.0  # no site is asked more often, whatever its file says
OLD_S = 90.0  # who shows something older says so
_MOST_PATIENCE = 16  # after failures: so many times the usual pause
_LOST_S = 300.0  # whoever began to ask and has not come back in this time was killed


@dataclass(frozen=True, kw_only=True)
class Look:
    """The last look at a site, by whichever process."""

    tried: float = 0.0  # when it began, in seconds since 1970
    ended: float = 0.0  # when there was an answer, or none came
    seen: float | None = None  # when the site answered last
    problem: str | None = None  # why it did not answer the last time
    hint: str | None = None
    code: str | None = None  # of the error
    failing_since: float | None = None
    failures: int = 0  # in a row

    def is_under_way(self, now: float) -> bool:
        """Somebody is asking at this moment."""
        return self.ended < self.tried <= now < self.tried + _LOST_S

    def count_age_s(self, now: float) -> float | None:
        """Of what is shown; None: the site was never seen."""
        return None if self.seen is None else max(0.0, now - self.seen)

    def is_older(self, seconds: float, now: float) -> bool:
        """Also what was never seen."""
        age = self.count_age_s(now)
        return age is None or age > seconds


NEVER = Look()


def count_pause_s(poll_s: float, *, is_ours_alone: bool) -> float:
    """Between two looks. Only a Slurm of this very machine's may be asked more often than others bear it."""
    return poll_s if is_ours_alone else max(LEAST_S, poll_s)


def hasten(pause_s: float) -> float:
    """For who looks once, as `ps` does, and not all day; a site that wishes to be asked rarely is not hurried."""
    return min(LEAST_S, pause_s) if pause_s <= USUAL_S else pause_s


def is_due(look: Look, now: float, pause_s: float) -> bool:
    """A time in the future means that a clock was set: it is as good as none."""
    return not 0 <= now - look.tried < pause_s


def stretch(pause_s: float, look: Look) -> float:
    """A site that does not answer is asked ever less often: centres shut out who fails to log in again and again."""
    return float(pause_s * min(2**look.failures, _MOST_PATIENCE))


def begin(look: Look, now: float) -> Look:
    return replace(look, tried=now)


def end_well(look: Look, now: float) -> Look:
    return Look(tried=look.tried, ended=max(now, look.tried), seen=now)


def end_badly(look: Look, now: float, *, problem: str, hint: str | None, code: str) -> Look:
    return replace(
        look,
        ended=max(now, look.tried),
        problem=problem,
        hint=hint,
        code=code,
        failing_since=look.failing_since if look.failing_since is not None else now,
        failures=min(look.failures + 1, 30),
    )
