"""Preflight rules, by the code a user sees. A rule is a function: the case in, findings out.

The docstring of a rule is what `windlass explain CODE` prints.
"""

from collections.abc import Callable, Iterator

from windlass.checks import account, environment, resources, storage
from windlass.core.case import Case
from windlass.core.finding import Finding

Check = Callable[[Case], Iterator[Finding]]

CHECKS: dict[str, Check] = {
    "C101": account.account_is_missing,
    "C102": account.account_is_not_yours,
    "C103": account.qos_is_not_yours,
    "C104": account.too_many_jobs,
    "C201": resources.partition_is_not_up,
    "C202": resources.time_is_over_the_limit,
    "C203": resources.time_is_missing,
    "C204": resources.chain_without_checkpoints,
    "C205": resources.array_is_too_large,
    "C206": resources.gpus_are_left_idle,
    "C207": resources.more_cores_than_a_node_has,
    "C208": resources.chain_style_is_not_made,
    "C209": resources.links_are_very_short,
    "C301": environment.environment_is_not_built,
    "C302": environment.data_is_not_staged,
    "C303": environment.modules_without_module_system,
    "C304": environment.secret_in_the_command,
    "C305": environment.python_is_too_old,
    "C401": storage.run_folder_under_home,
    "C402": storage.too_little_space,
    "C403": storage.checkpoints_on_purged_area,
}


def run_checks(case: Case) -> tuple[Finding, ...]:
    return tuple(finding for check in CHECKS.values() for finding in check(case))
