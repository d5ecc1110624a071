"""What must be there before the command can run."""

import re
from collections.abc import Iterator

from windlass.core.case import Case
from windlass.core.finding import Finding, Severity
from windlass.core.secret_words import find_secrets
from windlass.core.site import ModuleSystem


def environment_is_not_built(case: Case) -> Iterator[Finding]:
    """This version reads venv, conda and container under [environment] but does not build them yet.

    Build it at the site yourself once, and name the line that activates it.
    """
    wanted = case.spec.environment
    for kind in ("venv", "conda", "container"):
        if getattr(wanted, kind) is not None and wanted.activate is None:
            yield Finding(
                code="C301",
                # On one's own machine the environment one is in comes along.
                severity=Severity.WARNING if case.site.rules.cuts_to_fit else Severity.ERROR,
                message=f"environment.{kind} = {getattr(wanted, kind)!r} is not built by this version",
                hint='[environment] activate = "source ~/env/bin/activate"',
                fact=f"environment.{kind} of the run",
            )


def modules_without_module_system(case: Case) -> Iterator[Finding]:
    """Modules are asked for and the site has no module command: the job would stop at its first line."""
    if case.plan.modules and case.site.software.modules is ModuleSystem.NONE:
        yield Finding(
            code="C303",
            severity=Severity.ERROR,
            message=f"{case.site.name} has no modules; the run asks for {', '.join(case.plan.modules)}",
            hint="put them under [site.NAME.environment], or set software.modules in the site file",
            fact=f"software.modules of {case.site.name}",
        )


def secret_in_the_command(case: Case) -> Iterator[Finding]:
    """Something in the command or env looks like a password or key. It would stand in the script for all to read."""
    texts = {"run.command": case.spec.command} | {f"run.env.{k}": f"{k}={v}" for k, v in case.spec.env.items()}
    for where, text in texts.items():
        if find_secrets(text):
            yield Finding(
                code="C304",
                severity=Severity.ERROR,
                message=f"{where} looks as if it held a secret, which would be written into the script",
                hint='[run.secrets]\nWANDB_API_KEY = "env:WANDB_API_KEY"',
                fact=f"the shape or the name of a value in {where}",
            )


def python_is_too_old(case: Case) -> Iterator[Finding]:
    """Windlass's own code in the job needs Python 3.6 or newer at the site; it is the `python` of the site file."""
    version = case.facts.python_version
    if version is None:
        return
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if numbers and numbers < (3, 6):
        yield Finding(
            code="C305",
            severity=Severity.ERROR,
            message=f"{case.site.software.python} at {case.site.name} is Python {version}; 3.6 is needed",
            hint="[software] python = '/path/to/python3' in the site file",
            fact=f"{case.site.software.python} --version at the login node",
        )
