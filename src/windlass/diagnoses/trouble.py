"""Trouble with Slurm, ssh or the site itself: nothing is wrong with the training."""

import re
from collections.abc import Iterator

from windlass.core.ending.symptoms import Symptoms
from windlass.core.finding import Diagnosis

_ACCOUNTING = re.compile(
    r"Slurm accounting storage is disabled|Problem talking to the database|slurm_persist_conn_open|"
    r"accounting does not answer"
)
_SSH = re.compile(
    r"Session open refused by peer|kex_exchange_identification: |ssh_exchange_identification: |"
    r"Connection closed by [\w.:]+ port \d+|Too many authentication failures|Received disconnect from"
)
_PATH = re.compile(
    r"(?:^|[ :])(?:sbatch|salloc|srun|squeue|sacct|sinfo|scancel): (?:command not found|not found)|"
    r"No such file or directory: '(?:sbatch|srun|squeue)'",
    re.MULTILINE,
)
_CONTROLLER = re.compile(
    r"Unable to contact slurm controller|slurm_load_jobs error: Unable|Slurm backup controller in standby mode|"
    r"slurmctld(?:(?!slurmctld)[^\n])* is DOWN"
)


def accounting_away(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """Slurm's accounting does not answer, or the site keeps none: what became of old jobs cannot be seen.

    Windlass then goes by the queue and by what the run itself left in its folder. "Unknown" never means "failed".
    """
    if line := symptoms.troubled(_ACCOUNTING):
        yield Diagnosis(
            code="D701",
            message="Slurm's accounting does not answer, or the site keeps none",
            evidence=(line,),
            hint="windlass ps --refresh later; the run's own last word counts as soon as it is there",
        )


def login_refused(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The login node refused one more session, or closed the door before the key was looked at.

    Too many connections in a short time (MaxSessions, MaxStartups, fail2ban), or an old shared connection. Wait some
    minutes; Windlass uses one connection for everything.
    """
    if line := symptoms.troubled(_SSH):
        site = symptoms.record.site
        yield Diagnosis(
            code="D702",
            message="the login node refuses connections: too many in a short time, or an old shared one",
            evidence=(line,),
            hint=f"windlass logout {site}, wait some minutes, then windlass login {site}",
        )


def slurm_not_on_path(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """Slurm's commands were not found: the shell is no login shell and the site brings them by a module or profile.

    The site file says where they are (software.slurm_path), or that a login shell is needed (login.login_shell).
    """
    if line := symptoms.troubled(_PATH):
        yield Diagnosis(
            code="D703",
            message="Slurm's commands were not found in that shell",
            evidence=(line,),
            hint="[software] slurm_path or [login] login_shell in the site file; in a container: call them outside",
        )


def controller_away(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """Slurm's controller did not answer: it is being restarted, or overloaded. Running jobs go on without it."""
    if line := symptoms.troubled(_CONTROLLER):
        yield Diagnosis(
            code="D704",
            message="Slurm's controller did not answer",
            evidence=(line,),
            hint=f"try again in a minute; then {symptoms.again}",
        )
