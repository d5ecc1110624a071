"""Post-mortem rules, by the code a user sees.

A rule is a function: symptoms in, diagnoses out. Its docstring is what `windlass explain CODE` prints.
"""

from collections.abc import Callable, Iterator

from windlass.core.ending.symptoms import Symptoms
from windlass.core.finding import Diagnosis
from windlass.core.record import RunState
from windlass.diagnoses import (
    distributed,
    ending,
    environment,
    files,
    gpu,
    memory,
    software,
    submission,
    trouble,
    waiting,
)

Rule = Callable[[Symptoms], Iterator[Diagnosis]]

DIAGNOSES: dict[str, Rule] = {
    "D001": waiting.waits_in_the_queue,
    "D002": waiting.never_starts,
    "D003": waiting.nodes_not_available,
    "D004": waiting.limit_reached,
    "D005": waiting.held,
    "D101": ending.not_submitted,
    "D102": ending.forgotten,
    "D103": ending.cancelled,
    "D104": submission.account_refused,
    "D105": submission.submit_limit,
    "D106": submission.memory_request,  # before D108: the same refusal says both
    "D107": submission.time_over_limit,
    "D108": submission.impossible_shape,
    "D109": submission.array_too_large,
    "D110": submission.answer_lost,
    "D111": submission.malformed_script,
    "D201": memory.host_memory,
    "D202": memory.gpu_memory,
    "D203": software.no_internet,
    "D204": files.quota,
    "D205": software.module_missing,
    "D206": software.command_missing,
    "D207": gpu.no_kernel_for_gpu,
    "D208": memory.shared_memory,
    "D209": gpu.driver_too_old,
    "D210": gpu.wrong_gpus,
    "D211": gpu.broken_gpu,
    "D212": gpu.no_gpu,
    "D213": gpu.idle_gpus,
    "D214": memory.memory_nearly_full,
    "D215": gpu.too_few_cores,
    "D216": memory.killed,
    "D217": memory.crashed,
    "D301": ending.out_of_time,
    "D302": ending.node_failed,
    "D303": ending.preempted,
    "D304": ending.killed_while_saving,
    "D305": ending.started_again,
    "D401": distributed.port_taken,
    "D402": distributed.master_unreachable,
    "D403": distributed.step_waits,
    "D404": distributed.layout_mismatch,
    "D405": distributed.mpi_mismatch,
    "D406": distributed.locked_memory,
    "D407": distributed.nccl_timeout,
    "D408": distributed.nccl_error,
    "D409": distributed.one_rank_died,
    "D501": files.folder_not_seen,
    "D502": files.checkpoint_cut,
    "D503": files.no_locks,
    "D504": files.sqlite_shared,
    "D505": files.disk_failed,
    "D506": files.read_only,
    "D507": files.too_many_open_files,
    "D601": environment.conda_not_active,
    "D602": environment.module_unknown,
    "D603": environment.windows_line_ends,
    "D604": environment.library_too_old,
    "D605": environment.container_space,
    "D606": software.tracker_blocks,
    "D607": software.download_stalls,
    "D608": environment.scontrol_missing,
    "D609": environment.wrong_architecture,
    "D610": environment.library_missing,
    "D701": trouble.accounting_away,
    "D702": trouble.login_refused,
    "D703": trouble.slurm_not_on_path,
    "D704": trouble.controller_away,
    "D801": software.python_error,
    "D900": ending.unknown_failure,
}
FALLBACKS = ("D801", "D900")  # only when nothing else fits, in this order
_GENERAL = ("D101", "D103", "D301")  # true, and less telling than a cause
_CONSEQUENCES = ("D407", "D408", "D216", "D217", "D409")  # of something else that went wrong first
_HINTS = ("D213", "D214", "D215", "D305")  # worth knowing, and seldom the reason of an end
# A program may say these and go on: they are no cause where it died of an exception of another kind.
_MAYBE_SURVIVED = (
    *("D203", "D204", "D205", "D402", "D403", "D404", "D406", "D503", "D504", "D505", "D507"),
    *("D606", "D607", "D608", "D701", "D702", "D703", "D704"),
)
_QUIET = (RunState.DONE, RunState.SUBMITTING)
_NO_FAILURE = (*_QUIET, RunState.RUNNING, RunState.WAITING)


def diagnose(symptoms: Symptoms) -> tuple[Diagnosis, ...]:
    """All that fit, the most likely first; a fallback only when nothing tells about the end itself.

    What a log says long before its end was mostly survived: it comes last.
    """
    if symptoms.record.state in _QUIET and not symptoms.trouble:
        return ()
    found = [one for code, rule in DIAGNOSES.items() if code not in FALLBACKS for one in rule(symptoms)]
    late = [one for one in found if not _is_old(symptoms, one)]
    late.sort(key=lambda one: _rank(symptoms, one))
    if not any(_rank(symptoms, one) in (0, 2) for one in late):
        late = _insert_fallback(symptoms, late)
    return (*late, *(one for one in found if one not in late))


def _rank(symptoms: Symptoms, one: Diagnosis) -> int:
    """Causes, what followed from them, what is true of every such end, hints."""
    if one.code in _HINTS:
        return 3
    if one.code in _GENERAL:
        return 2
    return 1 if one.code in _CONSEQUENCES or _was_survived(symptoms, one) else 0


def _was_survived(symptoms: Symptoms, one: Diagnosis) -> bool:
    if one.code not in _MAYBE_SURVIVED or symptoms.record.state is not RunState.FAILED or not symptoms.tracebacks:
        return False
    told = {line.strip() for traceback in symptoms.tracebacks for line in traceback.lines}
    return not symptoms.tracebacks[0].is_secondary and bool(one.evidence) and one.evidence[0] not in told


def _insert_fallback(symptoms: Symptoms, late: list[Diagnosis]) -> list[Diagnosis]:
    """An exception of the program's own explains what followed from it; `unknown` is said only of the unexplained."""
    if symptoms.record.state in _NO_FAILURE:
        return late
    is_explained = any(one.code not in _HINTS for one in late)
    codes = FALLBACKS[:1] if is_explained else FALLBACKS
    own = next((told for code in codes if (told := list(DIAGNOSES[code](symptoms)))), [])
    return [*own, *late]


def _is_old(symptoms: Symptoms, diagnosis: Diagnosis) -> bool:
    """Its evidence is a line of a log, and not one of the last."""
    line = diagnosis.evidence[0] if diagnosis.evidence else ""
    if symptoms.record.state is RunState.RUNNING or not line or symptoms.is_late(line):
        return False
    return any(line in log.text for log in symptoms.logs)
