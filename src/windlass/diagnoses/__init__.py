"""Post-mortem rules, by the code a user sees.

A rule is a function: symptoms in, diagnoses out. Its docstring is what `windlass explain CODE` prints.
Its entry in the catalogue says how much it tells of an end: `Standing`.
Its pattern goes on with `(?:(?!its first words).)*`, never with a plain `.*`: a line may be its first words, repeated.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from windlass.core.ending.symptoms import Symptoms, shorten
from windlass.core.finding import Diagnosis
from windlass.core.record import RunState
from windlass.diagnoses import (
    distributed,
    ending,
    environment,
    files,
    frameworks,
    gpu,
    memory,
    saving,
    sick_nodes,
    software,
    staging,
    submission,
    trouble,
    waiting,
)

Rule = Callable[[Symptoms], Iterator[Diagnosis]]


class Standing(Enum):
    """How much a diagnosis says about the end: where it comes among several."""

    CAUSE = "the reason of an end"
    SURVIVABLE = "a program may say it and go on: no cause where it died of an exception of another kind"
    CONSEQUENCE = "of something else that went wrong first"
    GENERAL = "true, and less telling than a cause"
    HINT = "worth knowing, and seldom the reason of an end"
    FALLBACK = "only when nothing else fits, in the order of the catalogue"


@dataclass(frozen=True)
class Entry:
    rule: Rule
    standing: Standing = Standing.CAUSE


CATALOGUE: dict[str, Entry] = {
    "D001": Entry(waiting.waits_in_the_queue),
    "D002": Entry(waiting.never_starts),
    "D003": Entry(waiting.nodes_not_available),
    "D004": Entry(waiting.limit_reached),
    "D005": Entry(waiting.held),
    "D101": Entry(ending.not_submitted, Standing.GENERAL),
    "D102": Entry(ending.forgotten),
    "D103": Entry(ending.cancelled, Standing.GENERAL),
    "D104": Entry(submission.account_refused),
    "D105": Entry(submission.submit_limit),
    "D106": Entry(submission.memory_request),  # before D108: the same refusal says both
    "D107": Entry(submission.time_over_limit),
    "D108": Entry(submission.impossible_shape),
    "D109": Entry(submission.array_too_large),
    "D110": Entry(submission.answer_lost),
    "D111": Entry(submission.malformed_script),
    "D201": Entry(memory.host_memory),
    "D202": Entry(memory.gpu_memory),
    "D203": Entry(software.no_internet, Standing.SURVIVABLE),
    "D204": Entry(files.quota, Standing.SURVIVABLE),
    "D205": Entry(software.module_missing, Standing.SURVIVABLE),
    "D206": Entry(software.command_missing),
    "D207": Entry(gpu.no_kernel_for_gpu),
    "D208": Entry(memory.shared_memory),
    "D209": Entry(gpu.driver_too_old),
    "D210": Entry(gpu.wrong_gpus),
    "D211": Entry(gpu.broken_gpu),
    "D212": Entry(gpu.no_gpu),
    "D213": Entry(gpu.idle_gpus, Standing.HINT),
    "D214": Entry(memory.memory_nearly_full, Standing.HINT),
    "D215": Entry(gpu.too_few_cores, Standing.HINT),
    "D216": Entry(memory.killed, Standing.CONSEQUENCE),
    "D217": Entry(memory.crashed, Standing.CONSEQUENCE),
    "D218": Entry(staging.data_was_not_extracted),
    "D301": Entry(ending.out_of_time, Standing.GENERAL),
    "D302": Entry(ending.node_failed),
    "D303": Entry(ending.preempted),
    "D304": Entry(ending.killed_while_saving),
    "D305": Entry(ending.started_again, Standing.HINT),
    "D306": Entry(ending.earlier_link, Standing.HINT),
    "D307": Entry(ending.too_few_links, Standing.HINT),
    "D308": Entry(ending.asked_early, Standing.HINT),
    "D309": Entry(saving.saved_nothing),
    "D310": Entry(saving.command_died, Standing.HINT),
    "D311": Entry(ending.budget_is_used_up),
    "D401": Entry(distributed.port_taken),
    "D402": Entry(distributed.master_unreachable, Standing.SURVIVABLE),
    "D403": Entry(distributed.step_waits, Standing.SURVIVABLE),
    "D404": Entry(distributed.layout_mismatch, Standing.SURVIVABLE),
    "D405": Entry(distributed.mpi_mismatch),
    "D406": Entry(distributed.locked_memory, Standing.SURVIVABLE),
    "D407": Entry(distributed.nccl_timeout, Standing.CONSEQUENCE),
    "D408": Entry(distributed.nccl_error, Standing.CONSEQUENCE),
    "D409": Entry(distributed.one_rank_died, Standing.CONSEQUENCE),
    "D410": Entry(distributed.aborted_at_its_end),
    "D411": Entry(frameworks.keras_cannot_share),
    "D412": Entry(frameworks.resolver_counts_gpus),
    "D413": Entry(frameworks.mpi_ranks_are_alone),
    "D414": Entry(sick_nodes.nodes_cannot_talk),
    "D501": Entry(files.folder_not_seen),
    "D502": Entry(files.checkpoint_cut),
    "D503": Entry(files.no_locks, Standing.SURVIVABLE),
    "D504": Entry(files.sqlite_shared, Standing.SURVIVABLE),
    "D505": Entry(files.disk_failed, Standing.SURVIVABLE),
    "D506": Entry(files.read_only),
    "D507": Entry(files.too_many_open_files, Standing.SURVIVABLE),
    "D508": Entry(files.run_folder_gone, Standing.GENERAL),
    "D601": Entry(environment.conda_not_active),
    "D602": Entry(environment.module_unknown),
    "D603": Entry(environment.windows_line_ends),
    "D604": Entry(environment.library_too_old),
    "D605": Entry(environment.container_space),
    "D606": Entry(software.tracker_blocks, Standing.SURVIVABLE),
    "D607": Entry(software.download_stalls, Standing.SURVIVABLE),
    "D608": Entry(environment.scontrol_missing, Standing.SURVIVABLE),
    "D609": Entry(environment.wrong_architecture),
    "D610": Entry(environment.library_missing),
    "D612": Entry(environment.environment_of_another_python),
    "D613": Entry(software.hub_refuses, Standing.SURVIVABLE),
    "D701": Entry(trouble.accounting_away, Standing.SURVIVABLE),
    "D702": Entry(trouble.login_refused, Standing.SURVIVABLE),
    "D703": Entry(trouble.slurm_not_on_path, Standing.SURVIVABLE),
    "D704": Entry(trouble.controller_away, Standing.SURVIVABLE),
    "D801": Entry(software.python_error, Standing.FALLBACK),
    "D900": Entry(ending.unknown_failure, Standing.FALLBACK),
}
DIAGNOSES: dict[str, Rule] = {code: entry.rule for code, entry in CATALOGUE.items()}
_FALLBACKS = tuple(entry.rule for entry in CATALOGUE.values() if entry.standing is Standing.FALLBACK)
_RANKS = {Standing.CAUSE: 0, Standing.FALLBACK: 0, Standing.CONSEQUENCE: 1, Standing.GENERAL: 2, Standing.HINT: 3}
_QUIET = (RunState.DONE, RunState.SUBMITTING)
_NO_FAILURE = (*_QUIET, RunState.RUNNING, RunState.WAITING)


def diagnose(symptoms: Symptoms) -> tuple[Diagnosis, ...]:
    """All that fit, the most likely first; a fallback only when nothing tells about the end itself.

    What a log says long before its end was mostly survived: it comes last.
    """
    if symptoms.record.state in _QUIET and not symptoms.trouble:
        return ()
    rules = [entry.rule for entry in CATALOGUE.values() if entry.standing is not Standing.FALLBACK]
    found = [one for rule in rules for one in rule(symptoms)]
    late = [one for one in found if not _is_old(symptoms, one)]
    late.sort(key=lambda one: _rank(symptoms, one))
    if not any(_rank(symptoms, one) in (0, 2) for one in late):
        late = _insert_fallback(symptoms, late)
    return tuple(_shorten(one) for one in (*late, *(one for one in found if one not in late)))


def _shorten(one: Diagnosis) -> Diagnosis:
    return replace(one, message=shorten(one.message), evidence=tuple(shorten(line) for line in one.evidence))


def _rank(symptoms: Symptoms, one: Diagnosis) -> int:
    """Causes, what followed from them, what is true of every such end, hints."""
    standing = CATALOGUE[one.code].standing
    if standing is Standing.SURVIVABLE:
        return 1 if _was_survived(symptoms, one) else 0
    return _RANKS[standing]


def _was_survived(symptoms: Symptoms, one: Diagnosis) -> bool:
    if symptoms.record.state is not RunState.FAILED or not symptoms.tracebacks:
        return False
    told = {shorten(line.strip()) for traceback in symptoms.tracebacks for line in traceback.lines}
    return not symptoms.tracebacks[0].is_secondary and bool(one.evidence) and shorten(one.evidence[0]) not in told


def _insert_fallback(symptoms: Symptoms, late: list[Diagnosis]) -> list[Diagnosis]:
    """An exception of the program's own explains what followed from it; `unknown` is said only of the unexplained."""
    if symptoms.record.state in _NO_FAILURE:
        return late
    is_explained = any(CATALOGUE[one.code].standing is not Standing.HINT for one in late)
    rules = _FALLBACKS[:1] if is_explained else _FALLBACKS
    own = next((told for rule in rules if (told := list(rule(symptoms)))), [])
    return [*own, *late]


def _is_old(symptoms: Symptoms, diagnosis: Diagnosis) -> bool:
    """Its evidence is a line of a log, and not one of the last."""
    line = diagnosis.evidence[0] if diagnosis.evidence else ""
    if symptoms.record.state is RunState.RUNNING or not line or symptoms.is_late(line):
        return False
    return any(line in log.text for log in symptoms.logs)
