"""Taking a link: whether this job has anything to do, which attempt it is, and what it found."""

import argparse
import os
import time
from typing import Any, Dict, Mapping, NamedTuple, Optional

from windlass_job import claims, disk, slurm, wire
from windlass_job.agent.report import Report
from windlass_job.bounded import describe, within
from windlass_job.claims import Claim
from windlass_job.events import Recorder
from windlass_job.fence import Fence

TOLD_TO_STOP = "told to stop"
LOOK_S = 10.0

# `previous` is the status that was there, `is_fresh` when it was written a moment ago.
Taken = NamedTuple(
    "Taken", [("claim", Claim), ("previous", Dict[str, Any]), ("is_fresh", bool), ("fence", Optional[Fence])]
)
_Refusal = NamedTuple("_Refusal", [("outcome", str), ("why", str), ("is_told", bool)])
_ENDED = _Refusal(wire.SKIPPED, "the run has already ended", False)


def take_link(
    env: Mapping[str, str], options: argparse.Namespace, *, recorder: Recorder, report: Report
) -> Optional[Taken]:
    """None when this job has nothing to do: then it is told why."""
    folder = env.get(wire.ENV_RUN_DIR)
    taken = Taken(_assume_claim(env), {}, False, None)
    if not folder:
        return taken
    owner = _make_owner(env)
    try:
        answer = within(options.patience, _ask_folder, folder, env, owner, 3 * options.heartbeat + 5)
    except OSError as error:
        recorder.note("the claim cannot be checked, the command runs all the same: " + describe(error))
        answer = taken
    if isinstance(answer, _Refusal):
        _leave_out(answer, folder, env, recorder=recorder, report=report)
        return None
    fence = Fence(folder, answer.claim, owner["start"])
    recorder.may_write_status = lambda: not fence.look()
    return Taken(answer.claim, answer.previous, answer.is_fresh, fence)


def find_alive(taken: Taken) -> Optional[Claim]:
    """The older attempt that may still run: heard of just now, and without a last word."""
    previous = taken.previous
    numbers = [number for number in map(previous.get, Claim._fields) if isinstance(number, int)]
    if not taken.is_fresh or previous.get("state") != wire.RUNNING or len(numbers) < len(Claim._fields):
        return None
    older = Claim(*numbers)
    return older if older < taken.claim else None


def _ask_folder(folder: str, env: Mapping[str, str], owner: Dict[str, Any], fresh_s: float) -> Any:
    """Taken or _Refusal. May raise OSError."""
    submission = owner["submission"]
    if claims.has_stop(folder, submission):
        return _Refusal(wire.SKIPPED, TOLD_TO_STOP, True)
    if claims.is_final(folder, read_chain_first(env), owner["job"]):
        return _ENDED
    link = slurm.read_number(env, wire.ENV_LINK, 1)
    if _is_by_requeue(env) and link > slurm.read_number(env, wire.ENV_LINKS, link):
        return _Refusal(wire.SKIPPED, wire.NO_LINK_LEFT, True)
    claim = claims.take_claim(folder, link, owner)
    if claim is None:
        return _Refusal(wire.DUPLICATE, "another job holds link {}".format(link), False)
    if claims.is_final(folder, read_chain_first(env), owner["job"]):
        return _ENDED  # by one that was given up, in the last moment before it could see our claim
    status = os.fsencode(os.path.join(folder, wire.STATUS))
    previous = disk.read_json(status) or {}
    return Taken(claim, previous, bool(previous) and claims.get_age_s(folder, claim, status) < fresh_s, None)


def read_chain_first(env: Mapping[str, str]) -> int:
    """The first submission of this chain: where each link is one of its own, not ours."""
    return slurm.read_number(env, wire.ENV_CHAIN_FIRST, slurm.read_number(env, wire.ENV_NUMBER, 1))


def _assume_claim(env: Mapping[str, str]) -> Claim:
    """What we are as long as no claim could be made: below that of any later start."""
    submission, link = slurm.read_number(env, wire.ENV_NUMBER, 1), slurm.read_number(env, wire.ENV_LINK, 1)
    return Claim(submission, link, _count_earlier(env) + 1)


def _make_owner(env: Mapping[str, str]) -> Dict[str, Any]:
    return {
        "job": slurm.get_job(env),
        "token": env.get(wire.ENV_TOKEN),
        "submission": slurm.read_number(env, wire.ENV_NUMBER, 1),
        "node": slurm.load_node(env),
        "restart": slurm.read_number(env, "SLURM_RESTART_COUNT", 0),
        "earlier": _count_earlier(env),
        "started": slurm.read_number(env, "SLURM_JOB_START_TIME", 0),
        "start": env.get(wire.ENV_START),
        "t": time.time(),
    }


def _count_earlier(env: Mapping[str, str]) -> int:
    """Starts of this link: where each start is a link of its own, none."""
    return 0 if _is_by_requeue(env) else slurm.read_number(env, "SLURM_RESTART_COUNT", 0)


def _is_by_requeue(env: Mapping[str, str]) -> bool:
    return env.get(wire.ENV_CHAIN) == "requeue"


def _leave_out(refusal: _Refusal, folder: str, env: Mapping[str, str], *, recorder: Recorder, report: Report) -> None:
    recorder.note("not run: " + refusal.why)
    if refusal.is_told:
        # Slurm will say of this job that it ended well, where it could not be cancelled in time.
        claim = _assume_claim(env)
        where = (folder, claim.submission, slurm.get_job(env))
        recorder.may_write_status = lambda: claims.may_tell_skipped(*where)
        report.spending.begin_link(_load_previous(folder))
        report.begin(claim, is_attempt=False)
        report.put(refusal.outcome, is_last=True, ended=time.time(), reason=refusal.why)
    recorder.event(wire.LINK_ENDED, outcome=refusal.outcome)


def _load_previous(folder: str) -> Dict[str, Any]:
    """The status that is there: what the run has spent must not be forgotten."""
    try:
        found: Dict[str, Any] = within(LOOK_S, disk.read_json, os.fsencode(os.path.join(folder, wire.STATUS))) or {}
        return found
    except OSError:
        return {}
