"""One training under fire: blows at random moments, then the judgement of what was lost and done twice."""

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fire.field import FULL_S, Field
from tests.fire.training import compute_weights
from windlass.app.following import wait
from windlass.app.session import Session
from windlass.core.record import RunRecord, RunState
from windlass_job import wire

RECOVERY_S = 240.0  # from a blow to the next step: a node is given up, its job ends, the next link starts
CALM_S = (0.5, 4.0)  # of training between two blows


@dataclass(frozen=True, kw_only=True)
class Terms:
    steps: int
    interval: int  # steps between two checkpoints
    ranks: int


@dataclass(frozen=True, kw_only=True)
class Struck:
    name: str
    what: str
    t: float


@dataclass(frozen=True, kw_only=True)
class Loss:
    steps: int
    since: float  # the start before
    t: float


@dataclass(frozen=True, kw_only=True)
class Report:
    blows: tuple[Struck, ...]
    steps: int
    done_twice: int  # steps that were done again, over all
    most_lost: int  # steps lost by one blow
    starts: int  # of the command
    links: int
    seconds: float
    problems: tuple[str, ...]  # what must not be


def fight(
    session: Session,
    field: Field,
    record: RunRecord,
    terms: Terms,
    *,
    blows: int,
    seed: int,
    tell: Callable[[str], None],
) -> Report:
    """Until the training has ended. Every kind of blow comes before any comes again."""
    chance, began = random.Random(seed), time.time()
    trace = Path(record.folder) / wire.CODE / "trace.jsonl"
    kinds = field.list_blows()
    struck: list[Struck] = []
    bag: list[str] = []
    while len(struck) < blows and await_steps(trace, chance, terms, tell):
        bag = bag or chance.sample(sorted(kinds), len(kinds))
        name, now = bag.pop(), time.time()
        what = kinds[name](record, chance)
        if what is None:
            continue
        struck.append(Struck(name=name, what=what, t=now))
        tell(f"{len(struck):3d}  {name}: {what}")
        time.sleep(chance.uniform(0, 2))
        field.mend()
    record = wait(session, record)
    return judge(record, terms, struck, time.time() - began)


def await_steps(trace: Path, chance: random.Random, terms: Terms, tell: Callable[[str], None]) -> bool:
    """Until the training has gone on for a while; False when it is over or stands still."""
    before, deadline = _count_steps(trace), time.monotonic() + RECOVERY_S
    while _count_steps(trace) == before:
        if time.monotonic() > deadline or (trace.parent / "final.json").exists():
            tell(f"no step within {RECOVERY_S:g} s" if time.monotonic() > deadline else "the training is over")
            return False
        time.sleep(0.2)
    time.sleep(chance.uniform(*CALM_S))
    return not (trace.parent / "final.json").exists()


def judge(record: RunRecord, terms: Terms, struck: Sequence[Struck], seconds: float) -> Report:
    code = Path(record.folder) / wire.CODE
    trace = read_lines(code / "trace.jsonl")
    done = [one["step"] for one in trace if one["event"] == "step"]
    losses = find_losses(trace)
    problems = [*_judge_end(record, code, terms), *_judge_losses(losses, struck, trace, terms), *_judge_waste(record)]
    return Report(
        blows=tuple(struck),
        steps=terms.steps,
        done_twice=len(done) - len(set(done)),
        most_lost=max((loss.steps for loss in losses), default=0),
        starts=sum(one["event"] == "start" for one in trace),
        links=len({one["link"] for one in trace}),
        seconds=seconds,
        problems=tuple(problems),
    )


def find_losses(trace: Sequence[Mapping[str, Any]]) -> list[Loss]:
    """Of every start: by how many steps it lies behind the furthest, and since when those steps were done.

    A start that broke down before it came further does not move that moment: what a blow kept from being saved is
    missing at the next start too.
    """
    losses, furthest, since, began = [], 0, 0.0, 0.0
    for one in trace:
        if one["event"] == "start":
            losses.append(Loss(steps=max(0, furthest - one["step"]), since=since, t=one["t"]))
            began = one["t"]
        elif one["step"] > furthest:
            since = began
        furthest = max(furthest, one["step"])
    return losses


def _judge_end(record: RunRecord, code: Path, terms: Terms) -> list[str]:
    if record.state is not RunState.DONE:
        return [f"the run ended as {record.state}: {record.reason}"]
    try:
        found = json.loads((code / "final.json").read_text())
    except (OSError, ValueError) as error:
        return [f"no final weights: {error}"]
    wanted = [weight.hex() for weight in compute_weights(terms.steps, terms.ranks)]
    return [] if found == wanted else ["the final weights differ from those of an undisturbed run"]


def _judge_losses(
    losses: Sequence[Loss], struck: Sequence[Struck], trace: Sequence[Mapping[str, Any]], terms: Terms
) -> list[str]:
    """What a blow itself destroyed, or kept from being written, is not the chain's loss."""
    problems = []
    for loss in losses:
        truncated = sum(loss.since - 10 < one.t < loss.t and one.name.endswith("truncated") for one in struck)
        unsaved = sum(_is_unsaved(one, loss, struck) for one in trace)
        allowed = terms.interval * (1 + truncated) + unsaved
        if loss.steps > allowed:
            problems.append(f"{loss.steps} steps lost at once, and {allowed} at most may be")
    return problems


def _is_unsaved(step: Mapping[str, Any], loss: Loss, struck: Sequence[Struck]) -> bool:
    """Done while the disk was full."""
    if step["event"] != "step" or not loss.since < step["t"] < loss.t:
        return False
    return any(one.name == "disk full" and one.t - 1 < step["t"] < one.t + FULL_S + 1 for one in struck)


def _judge_waste(record: RunRecord) -> list[str]:
    """After the end no link may start the command any more."""
    events = read_lines(Path(record.folder) / wire.EVENTS)
    ends = [one["t"] for one in events if one.get("outcome") == wire.DONE]
    late = [one for one in events if ends and one["kind"] == wire.COMMAND_STARTED and one["t"] > ends[0]]
    return [f"{len(late)} links started the command after it was done"] if late else []


def read_lines(path: Path) -> list[dict[str, Any]]:
    found = []
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue  # a line that a kill tore
    return found


def _count_steps(trace: Path) -> int:
    try:
        return trace.stat().st_size
    except OSError:
        return 0
