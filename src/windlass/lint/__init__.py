"""Rules for batch scripts, by the code a user sees. A rule is a function: the script in, marks out.

The docstring of a rule is what `windlass explain CODE` prints; its first line is the why of a finding.
"""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from windlass.core.finding import Severity
from windlass.core.sbatch.script import Script
from windlass.core.secret_words import hide_secrets
from windlass.core.site import Site
from windlass.lint import (
    body,
    directives,
    environment,
    form,
    hygiene,
    launching,
    options,
    outputs,
    requests,
    variables,
)
from windlass.lint.mark import Mark
from windlass.lint.subject import Subject

Rule = Callable[[Subject], Iterator[Mark]]

RULES: dict[str, Rule] = {
    "S100": form.file_cannot_be_read,
    "S101": form.script_is_empty,
    "S102": form.first_line_is_no_shebang,
    "S103": form.lines_end_as_in_dos,
    "S104": form.zero_byte_inside,
    "S105": form.merge_conflict_left_in,
    "S106": form.comment_begins_with_slurm,
    "S107": form.directive_of_another_system,
    "S108": directives.directive_after_a_command,
    "S109": directives.directive_is_nearly_right,
    "S110": directives.directive_is_switched_off,
    "S111": directives.second_directive_in_a_comment,
    "S112": directives.typographic_letter,
    "S113": directives.shell_variable_in_directive,
    "S114": directives.tilde_in_directive,
    "S115": directives.placeholder_left_in,
    "S116": directives.quotes_do_not_close,
    "S117": directives.option_is_given_twice,
    "S118": options.option_is_unknown,
    "S119": options.option_of_a_plugin,
    "S120": options.option_of_another_slurm,
    "S121": options.short_option_is_unknown,
    "S122": options.abbreviation_is_ambiguous,
    "S123": options.value_is_missing,
    "S124": options.value_is_not_wanted,
    "S125": options.stray_word,
    "S126": options.value_is_wrong,
    "S127": options.short_option_with_equals,
    "S128": options.memory_is_a_fraction,
    "S129": options.option_is_abbreviated,
    "S130": options.options_exclude_each_other,
    "S131": options.gres_is_wrong,
    "S132": options.array_is_wrong,
    "S140": requests.time_is_missing,
    "S141": requests.time_is_in_minutes,
    "S142": requests.time_is_minutes_and_seconds,
    "S143": requests.long_job_never_saves,
    "S144": requests.memory_is_missing,
    "S145": requests.gpus_by_two_options,
    "S146": requests.gpus_of_two_kinds,
    "S147": requests.gpu_job_with_one_core,
    "S148": requests.nodes_are_named,
    "S149": requests.mail_address_in_script,
    "S150": requests.mail_type_is_dropped,
    "S151": requests.requeue_is_left_open,
    "S160": outputs.logs_overwrite_each_other,
    "S161": outputs.array_logs_overwrite_each_other,
    "S162": outputs.percent_is_missing,
    "S163": outputs.log_folder_must_be_there,
    "S164": outputs.log_folder_is_made_too_late,
    "S165": outputs.log_is_elsewhere,
    "S201": body.errors_are_passed_over,
    "S202": body.exit_code_is_lost,
    "S203": body.background_without_wait,
    "S204": body.spaces_around_equals,
    "S205": body.python_is_buffered,
    "S206": body.path_of_somebody,
    "S301": environment.conda_is_not_set_up,
    "S302": environment.conda_by_module_only,
    "S303": environment.conda_by_bashrc,
    "S304": environment.unset_variables_stop_conda,
    "S305": environment.conda_init_in_a_job,
    "S306": environment.activation_of_old,
    "S307": environment.installs_for_the_user,
    "S308": environment.container_without_gpu,
    "S309": environment.image_cache_in_home,
    "S310": environment.no_modules_at_this_site,
    "S311": environment.base_module_is_missing,
    "S401": launching.other_nodes_stay_idle,
    "S402": launching.other_tasks_stay_idle,
    "S403": launching.processes_and_gpus_differ,
    "S404": launching.one_process_for_several_gpus,
    "S405": launching.tasks_and_gpus_differ,
    "S406": launching.port_is_fixed,
    "S407": launching.meeting_point_is_local,
    "S408": launching.srun_forgets_the_cores,
    "S409": launching.horovod_with_workers,
    "S410": launching.several_launchers_a_node,
    "S501": variables.launcher_is_deprecated,
    "S502": variables.variable_was_renamed,
    "S503": variables.variable_does_not_exist,
    "S504": variables.fast_network_is_off,
    "S505": variables.launches_are_blocking,
    "S506": variables.more_workers_than_cores,
    "S507": variables.gpus_are_chosen_by_hand,
    "S601": hygiene.uses_the_internet,
    "S602": hygiene.tracker_is_online,
    "S603": hygiene.secret_in_script,
    "S604": hygiene.works_in_home,
}
_IGNORE = re.compile(r"#\s*windlass:\s*ignore\s*=\s*([A-Za-z]\d+(?:\s*,\s*[A-Za-z]\d+)*)")
_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.ADVICE: 2}


def lint_script(script: Script, *, site: Site | None = None, problem: str | None = None) -> tuple[Mark, ...]:
    """Everything the rules say, in the order of the file; what the script itself asks to pass over is left out.

    `problem`: why there is no script to look at.
    """
    subject = Subject(script, site, problem=problem)
    if problem is not None:
        return tuple(_apply("S100", RULES["S100"], subject))
    marks = [mark for code, rule in RULES.items() for mark in _apply(code, rule, subject)]
    quiet = find_ignored(script)
    kept = [mark for mark in marks if not is_ignored(mark.code, mark.line, quiet)]
    return tuple(sorted(kept, key=lambda one: (one.line, one.column, _ORDER[one.severity], one.code)))


def find_ignored(script: Script) -> dict[int, frozenset[str]]:
    """By line what is not to be told there; 0 is the whole file.

    The comment counts for its own line and, alone on a line, for the next; above the first directive and command, for
    the whole file.
    """
    found: dict[int, set[str]] = {}
    if "windlass:" not in script.text:
        return {}
    first = min([script.body, *(one.number for one in script.directives)])
    for number, line in enumerate(script.lines, 1):
        if not (match := _IGNORE.search(line)):
            continue
        codes = {code.strip().upper() for code in match[1].split(",")}
        is_alone = not line[: match.start()].strip()
        places = [0] if is_alone and number < first else [number, number + 1] if is_alone else [number]
        for place in places:
            found.setdefault(place, set()).update(codes)
    return {place: frozenset(codes) for place, codes in found.items()}


def is_ignored(code: str, line: int, quiet: dict[int, frozenset[str]]) -> bool:
    return matches(code, quiet.get(0, frozenset())) or matches(code, quiet.get(line, frozenset()))


def matches(code: str, wanted: Collection[str]) -> bool:
    """`S1` stands for all codes that begin so."""
    return any(code[:end] in wanted for end in range(1, len(code) + 1))


def _apply(code: str, rule: Rule, subject: Subject) -> Iterator[Mark]:
    for mark in rule(subject):
        why = (rule.__doc__ or "").strip().split("\n\n")[0]
        hint = hide_secrets(mark.hint) if mark.hint else mark.hint
        yield replace(mark, code=code, message=hide_secrets(mark.message), hint=hint, why=" ".join(why.split()))
