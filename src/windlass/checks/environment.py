"""What must be there before the command can run."""

import re
from collections.abc import Iterator

from windlass.core.case import Case
from windlass.core.finding import Finding, Severity
from windlass.core.run import Wheels
from windlass.core.secret_words import find_secrets
from windlass.core.site import ModuleSystem
from windlass_job import wire


def environment_is_not_built(case: Case) -> Iterator[Finding]:
    """The environment of the run is not built at the site yet. `windlass run` builds it first; `--no-build` refuses.

    On your own machine it is not built by itself: the environment you are in comes along. Only one that was built
    there and is damaged is built anew.
    """
    seen = case.environment
    if seen is None or not (seen.is_missing or (seen.is_left_out and seen.is_asked)):
        return
    name = f"the environment of the run ({seen.recipe.id})"
    if seen.is_left_out:
        severity, message = Severity.WARNING, f"{name} is not built here: the one you are in comes along"
    elif case.may_build and seen.damage:
        severity = Severity.WARNING
        message = f"{name} is damaged at {case.site.name} ({seen.damage}): `windlass run` builds it anew"
    elif case.may_build:
        severity, message = (
            Severity.ADVICE,
            f"{name} is not built at {case.site.name} yet: `windlass run` builds it first",
        )
    else:
        severity, message = Severity.ERROR, f"{name} is not built at {case.site.name}, and --no-build was given"
    yield Finding(
        code="C301",
        severity=severity,
        message=message,
        hint=f"windlass env build --on {case.site.name}" if seen.recipe.existing is None else None,
        fact=f"there is no {'whole ' if seen.damage else ''}{wire.ENVS}/{seen.recipe.id}/{wire.ENV_CARD} "
        f"in {case.facts.root or case.site.root}",
    )


def environment_is_damaged(case: Case) -> Iterator[Finding]:
    """The image of the run's container is not what was built: the job would end at once, or in the middle.

    A disk that was full, a copy that was cut off, or a hand that slipped. Build it again.
    """
    seen = case.environment
    if seen is None or seen.problem is None:
        return
    yield Finding(
        code="C322",
        severity=Severity.ERROR,
        message=f"the image of the run ({seen.recipe.id}) is damaged: {seen.problem}",
        hint=f"windlass env build --again --on {case.site.name}",
        fact=f"{wire.ENVS}/{seen.recipe.id}/{wire.ENV_CARD} in {case.facts.root or case.site.root}",
    )


def nodes_have_no_packages(case: Case) -> Iterator[Finding]:
    """`build = "node"` makes the environment in the job, and the nodes have nothing to make it from.

    They need a wheelhouse of the site, an internet of their own, or wheels that your laptop sends before.
    """
    seen = case.environment
    if seen is None or not seen.recipe.is_made_by_jobs or seen.is_left_out:
        return
    fix = 'wheels = "laptop" in [environment]: downloaded here, and sent'
    if seen.recipe.wheels is Wheels.PYPI and case.site.rules.compute_internet is False:
        yield Finding(
            code="C326",
            severity=Severity.ERROR,
            message=f"every node fetches its packages from the index, and nodes of {case.site.name} have no internet",
            hint=fix,
            fact=f"rules.compute_internet of {case.site.name}",
        )
    software = case.site.software
    has_house = software.wheelhouse is not None or software.wheel_command is not None
    if seen.recipe.wheels is Wheels.WHEELHOUSE and not has_house:
        yield Finding(
            code="C326",
            severity=Severity.WARNING,  # a module may tell pip of one
            message=f"every node takes its packages from a wheelhouse, and {case.site.name} has none that is known",
            hint=fix,
            fact=f"software.wheelhouse of {case.site.name}",
        )


def packing_does_nothing(case: Case) -> Iterator[Finding]:
    """`pack = true` where there is nothing to pack: only a venv or conda environment that Windlass builds is packed.

    A container is one file already; a folder of your own is used as it is, and what jobs build on the node is there.
    """
    seen = case.environment
    if not case.spec.environment.pack or (seen is not None and (seen.packed is not None or seen.is_left_out)):
        return
    what = "the run asks for no environment that Windlass builds" if seen is None else f"a {seen.recipe.kind}"
    if seen is not None and seen.recipe.existing is not None:
        what += " that Windlass does not build at the site"
    yield Finding(
        code="C325",
        severity=Severity.ADVICE,
        message=f"environment.pack does nothing here: {what}",
        hint="remove pack = true from [environment], or name a list of packages: venv, conda",
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
