"""Two judges of one request: Windlass, before anything is sent, and the real sbatch of the centre."""

import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from tests.cluster.house import LiveCentre, Look, Verdict
from tests.waiting import wait_until
from windlass.checks import run_checks
from windlass.core.case import Case
from windlass.core.facts import Facts
from windlass.core.finding import Finding, Severity
from windlass.core.job import make_script
from windlass.core.planning import Attempt, make_plan
from windlass.core.run import Checkpoint, Resources, RunSpec
from windlass.edges.local_host import LocalHost
from windlass.edges.survey import take_survey
from windlass.launchers import LAUNCHERS

# A job with one of these starts as soon as what it waits for is free.
_PATIENCE = ("None", "Resources", "Priority", "JobArrayTaskLimit", "BeginTime", "Nodes required for job are DOWN")
_FIRST_WORDS_S = 4
_SPEC = RunSpec(name="digits", command="python train.py", checkpoint=Checkpoint(folder="checkpoints"))


Fate = Verdict | Look


@dataclass(frozen=True, kw_only=True)
class Court:
    """One centre, and what Windlass saw of it while its queue was empty."""

    live: LiveCentre
    facts: Facts

    def make_case(self, resources: Resources, **changes: Any) -> Case:
        """`changes` of the plan make a request that Windlass itself would not."""
        spec = replace(_SPEC, resources=resources)
        plan = make_plan(spec, self.live.site, self.facts, Attempt(run_id="digits-k3f9w"), launchers=LAUNCHERS)
        return Case(spec=spec, plan=replace(plan, **changes), site=self.live.site, facts=self.facts, now=time.time())

    def submit(self, case: Case) -> Verdict:
        return self.live.submit(make_script(case.plan))

    def see_fates(self, job_ids: Collection[str], *, timeout_s: float) -> dict[str, Look]:
        """Each job once it has started or is told why it does not, or as it is when time is up."""
        began = time.monotonic()
        looks: dict[str, Look] = {}

        def are_settled() -> bool:
            looks.update(self.live.look())
            # What is over a partition's limit has this word at first, and a better one when the scheduler looked at it.
            is_early = time.monotonic() - began < _FIRST_WORDS_S
            firsts = any(looks[one].reason == "PartitionConfig" for one in job_ids)
            return not (is_early and firsts) and not any(_is_patient(looks[one]) for one in job_ids)

        with suppress(TimeoutError):
            wait_until(are_settled, "jobs", timeout_s=timeout_s, pause_s=0.1)
        return {one: looks[one] for one in job_ids}


def take_facts(live: LiveCentre, *, user: str | None = None) -> Facts:
    """As Windlass sees the centre now, through the user's own eyes."""
    host = LocalHost(python=str(live.write_python(live.house.folder / "python", user=user)))
    try:
        return take_survey(host, live.site, time.time())
    finally:
        host.close()


def _is_patient(look: Look) -> bool:
    return look.state == "PENDING" and look.reason.startswith(_PATIENCE)


def try_all(court: Court, cases: Mapping[str, Case]) -> dict[str, Fate]:
    """What became of each: refused, or as it was seen in the queue.

    First all together, which is quick; then those that may have had to wait for others, each alone.
    """
    together = try_together(court, cases)
    waited = [key for key, fate in together.items() if isinstance(fate, Look) and _is_patient(fate)]
    return together | {key: try_alone(court, cases[key]) for key in waited}


def try_alone(court: Court, case: Case) -> Fate:
    """In an empty queue."""
    return try_together(court, {"": case}, timeout_s=10)[""]


def try_together(court: Court, cases: Mapping[str, Case], *, timeout_s: float = 3) -> dict[str, Fate]:
    verdicts = {key: court.submit(case) for key, case in cases.items()}
    job_ids = {key: one.job_id for key, one in verdicts.items() if one.job_id is not None}
    try:
        looks = court.see_fates(job_ids.values(), timeout_s=timeout_s)
    finally:
        court.live.cancel_all()
    return {key: looks[job_ids[key]] if key in job_ids else one for key, one in verdicts.items()}


def list_errors(case: Case) -> list[Finding]:
    return [one for one in run_checks(case) if one.severity is Severity.ERROR]


def assert_accepted(case: Case, fate: Fate) -> None:
    """Windlass finds nothing wrong, sbatch takes it, and Slurm gives it nodes."""
    assert list_errors(case) == []
    assert isinstance(fate, Look), f"{fate}\n{make_script(case.plan)}"
    assert fate.state == "CONFIGURING", f"{fate}\n{make_script(case.plan)}"
    assert fate.nodes == case.plan.nodes


def assert_quoted(case: Case, fate: Fate) -> None:
    """A check refuses it and quotes Slurm, which says that very thing."""
    errors, heard = list_errors(case), hear(fate)
    quoted = [one.refusal for one in errors if one.refusal is not None]
    assert quoted, f"no check quotes Slurm, which says {heard}; the checks say {errors}"
    assert any(_is_said(one, heard) for one in quoted), f"the checks quote {quoted}; Slurm says {heard}"


def hear(fate: Fate) -> list[str]:
    """The lines of a refusal, or the reason in brackets of a job that stays where it is; nothing: it starts."""
    if isinstance(fate, Look):
        return [f"({fate.reason})"] if fate.state == "PENDING" else []
    return [line.removeprefix("sbatch: ").removeprefix("error: ") for line in fate.said.splitlines()]


def _is_said(quoted: str, heard: list[str]) -> bool:
    said = [line.removeprefix("Batch job submission failed: ") for line in heard]
    return all(line in said for line in quoted.splitlines())
