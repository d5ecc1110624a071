"""Send a job exactly once: submit, and after any failure find out what became of it."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from windlass.core.exactly_once import Evidence, Outcome, decide
from windlass.core.jobs import JobSeen
from windlass.core.site import Site
from windlass.edges.cluster import Cluster
from windlass.edges.host import Json, Reply, Request
from windlass.errors import (
    ClusterUnavailable,
    DiskFull,
    RunFolderGone,
    SiteNotReady,
    SubmissionUnclear,
    WindlassError,
)
from windlass.schedulers.answers import Refusal, RefusalKind, Submitted
from windlass.schedulers.slurm.job_ids import read_base_id
from windlass.schedulers.slurm.refusals import get_unclear_words, read_refusal
from windlass.schedulers.slurm.submit import make_submit_command, read_submit, read_submitted
from windlass_job import wire

_SBATCH_TIMEOUT_S = 90.0
GRACE_S = 5.0  # a request that sbatch sent before it died may still reach the controller
_PAUSE_S = 0.5
_NO_JOBS: tuple[JobSeen, ...] = ()
_ERRORS: dict[str, type[WindlassError]] = {"no-space": DiskFull, "not-found": RunFolderGone}


@dataclass(frozen=True, kw_only=True)
class Order:
    """One submission of a run: what to send, and how to know it again."""

    folder: str  # of the run, at the site, absolute
    number: int
    token: str
    script: str  # absolute
    created: float  # not later than its submission, seconds since 1970
    first_link: int = 1
    links: int = 1
    after: int | None = None  # the number of the submission whose end it waits for
    other_ids: frozenset[str] = frozenset()  # job numbers of the run's other submissions

    @property
    def run_id(self) -> str:
        return self.token.split(":")[1]


@dataclass(frozen=True, kw_only=True)
class SubmitResult:
    outcome: Outcome
    job_id: str | None = None
    refusal: Refusal | None = None
    existed: bool = False  # it had been submitted before


def submit(cluster: Cluster, order: Order) -> SubmitResult:
    """Never sends what may have been sent already: then the outcome is UNCLEAR or IN_FLIGHT, and `reconcile` helps."""
    (reply,) = cluster.host.ask([make_submit_request(order, cluster.site)])
    return read_submit_reply(reply)


def make_submit_request(order: Order, site: Site, *, only_if_ok: bool = False) -> Request:
    """To be sent together with what must be done before it."""
    arguments: Json = {
        "folder": order.folder,
        "number": order.number,
        "token": order.token,
        "argv": make_submit_command(order.script),
        "path_prefix": site.software.slurm_path,
        "timeout_s": _SBATCH_TIMEOUT_S,
        "cwd": order.folder,
        "unclear_words": get_unclear_words(),
        "about": _make_about(order),
        "after": order.after,
    }
    return Request(operation="submit", arguments=arguments, only_if_ok=only_if_ok)


def _make_about(order: Order) -> Json:
    """For whoever reads the folder without the laptop."""
    return {"first_link": order.first_link, "links": order.links, "after": order.after}


def read_submit_reply(reply: Reply) -> SubmitResult:
    if not reply.ok and reply.kind in ("skipped", "no-job"):  # the one it was to wait for was not taken
        return SubmitResult(outcome=Outcome.NOT_SUBMITTED)
    told = _expect(reply, "the submission could not be begun").values
    if told["state"] == "unclear":
        outcome = Outcome.IN_FLIGHT if told.get("in_flight") else Outcome.UNCLEAR
        said = str(told.get("err") or "")
        return SubmitResult(outcome=outcome, refusal=read_refusal(said) if said else None)
    return _read_receipt(told, existed=bool(told.get("existed")))


def reconcile(
    cluster: Cluster,
    order: Order,
    *,
    wait_s: float = GRACE_S,
    grace_s: float = GRACE_S,
    pause: Callable[[float], None] = time.sleep,
) -> SubmitResult:
    """What became of a submission whose answer was lost; writes down at the site what is now certain.

    "Nothing there" is believed only when it was seen twice, `grace_s` apart, with sbatch dead both times.
    """
    deadline = time.monotonic() + wait_s
    found = _examine(cluster, order)
    while found.result.outcome is Outcome.NOT_SUBMITTED and not found.has_intent and not _close(cluster, order):
        found = _examine(cluster, order)  # it went on a moment ago: its folder was made, or its intent written
    while found.result.outcome is Outcome.IN_FLIGHT and time.monotonic() < deadline:
        pause(_PAUSE_S)
        found = _examine(cluster, order)
    if found.result.outcome is Outcome.NOT_SUBMITTED and found.has_intent:
        pause(grace_s)
        found = _examine(cluster, order)
    return _settle(cluster, order, found)


@dataclass(frozen=True, kw_only=True)
class _Found:
    result: SubmitResult
    has_intent: bool
    needs_settling: bool  # an intent without receipt


def _examine(cluster: Cluster, order: Order) -> _Found:
    place: Json = {"folder": order.folder, "number": order.number}
    claim_name = wire.CLAIM.format(link=order.first_link, number=order.number, attempt=1)
    claim_path = str(PurePosixPath(order.folder, wire.CLAIMS, claim_name))
    submission, claim = cluster.host.ask(
        [
            Request(operation="submission", arguments=place),
            Request(operation="read", arguments={"path": claim_path, "from_byte": 0, "limit": 65536}),
        ]
    )
    lying = _expect(submission, "the submission cannot be looked at").values
    intent, receipt = lying.get("intent"), lying.get("receipt")
    answer = _read_answer(receipt, lying)
    queue_answered, jobs = True, _NO_JOBS
    if intent is not None or receipt is not None or lying.get("folder_gone"):
        queue_answered, jobs = _look(cluster, order)
    evidence = Evidence(
        has_intent=intent is not None,
        has_receipt=receipt is not None,
        folder_gone=bool(lying.get("folder_gone")),
        in_flight=bool(lying.get("in_flight")),
        told_id=answer.job_id if isinstance(answer, Submitted) else None,
        is_refused=isinstance(answer, Refusal) and answer.kind.is_certain,
        queue_answered=queue_answered,
        jobs=jobs,
        claimed_id=_read_claim(claim, order.token),
        other_ids=order.other_ids,
        since=_read_time(intent),
    )
    outcome, job_id = decide(evidence, run_id=order.run_id, token=order.token)
    refusal = answer if isinstance(answer, Refusal) and outcome is not Outcome.SUBMITTED else None
    result = SubmitResult(outcome=outcome, job_id=job_id, refusal=refusal, existed=receipt is not None)
    needs_settling = intent is not None and receipt is None
    return _Found(result=result, has_intent=intent is not None, needs_settling=needs_settling)


def _close(cluster: Cluster, order: Order) -> bool:
    """From now on this submission cannot happen any more; False: it did, a moment ago."""
    place: Json = {"folder": order.folder, "number": order.number, "token": order.token, "about": _make_about(order)}
    (reply,) = cluster.host.ask([Request(operation="close_submission", arguments=place)])
    if reply.kind in ("exists", "in-flight"):
        return False
    _expect(reply, "the submission cannot be closed")
    return True


def _look(cluster: Cluster, order: Order) -> tuple[bool, tuple[JobSeen, ...]]:
    try:
        return True, cluster.look_by_name(order.run_id, order.created).jobs
    except (ClusterUnavailable, SiteNotReady):
        return False, _NO_JOBS


def _settle(cluster: Cluster, order: Order, found: _Found) -> SubmitResult:
    """Where only the intent lay, the next who looks shall find the answer."""
    result = found.result
    if not found.needs_settling:
        return result
    place: Json = {"folder": order.folder, "number": order.number}
    if result.outcome is Outcome.NOT_SUBMITTED:
        request = Request(operation="forget_intent", arguments=place)
    elif result.outcome in (Outcome.SUBMITTED, Outcome.LOST, Outcome.REFUSED):
        is_refused = result.outcome is Outcome.REFUSED
        arguments = {**place, "job_id": result.job_id, "out": None, "refused": is_refused}
        request = Request(operation="settle", arguments=arguments)
    else:
        return result
    (reply,) = cluster.host.ask([request])
    if not reply.ok and reply.kind == "in-flight":
        return SubmitResult(outcome=Outcome.IN_FLIGHT)
    if not reply.ok and reply.kind != "exists":  # another laptop of the same user was faster
        _expect(reply, "the submission cannot be settled")
    return result


def _read_answer(receipt: Json | None, lying: Json) -> Submitted | Refusal | None:
    """What sbatch said, from the receipt or from its own output; None while it said nothing."""
    if receipt is not None:
        result = _read_receipt(receipt, existed=True)
        return Submitted(job_id=result.job_id) if result.job_id else result.refusal
    out, err = str(lying.get("out") or ""), str(lying.get("err") or "")
    told = read_submitted(out)
    if told is not None:
        return told
    # The exit code died with the deputy, and not every word on stderr is a refusal: only a known one counts.
    refusal = read_refusal(err) if "error" in err.lower() else None
    return refusal if refusal and refusal.kind is not RefusalKind.UNKNOWN else None


def _read_receipt(receipt: Json, *, existed: bool) -> SubmitResult:
    out, err = str(receipt.get("out") or ""), str(receipt.get("err") or "")
    if receipt.get("refused") or receipt.get("state") == "refused":
        refusal = read_refusal(f"{err}\n{out}", int(receipt.get("exit_code") or 1))
        return SubmitResult(outcome=Outcome.REFUSED, refusal=refusal, existed=existed)
    told = str(receipt.get("job_id") or "").strip()
    if read_base_id(told) == told:  # settled, or sbatch said nothing else
        return SubmitResult(outcome=Outcome.SUBMITTED, job_id=told, existed=existed)
    answer = read_submit(out, err, 0)
    if isinstance(answer, Submitted):
        return SubmitResult(outcome=Outcome.SUBMITTED, job_id=answer.job_id, existed=existed)
    return SubmitResult(outcome=Outcome.UNCLEAR, refusal=answer, existed=existed)


def _read_claim(claim: Reply, token: str) -> str | None:
    """The job that took this submission's first link: proof that there is one, also without queue and history."""
    if not claim.ok and claim.kind == "not-found":
        return None
    try:
        held: Any = json.loads(_expect(claim, "the run's claims cannot be read").payload or b"null")
    except ValueError:
        return None
    is_ours = isinstance(held, dict) and held.get("token") == token
    return read_base_id(str(held.get("job"))) if is_ours else None


def _read_time(intent: Json | None) -> float | None:
    told = (intent or {}).get("time")
    return float(told) if isinstance(told, int | float) else None


def _expect(reply: Reply, what: str) -> Reply:
    if reply.ok:
        return reply
    error = _ERRORS.get(reply.kind, SubmissionUnclear)
    raise error(f"{what}: {reply.problem or reply.kind}")
