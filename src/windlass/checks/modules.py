"""Whether the modules of a run can be loaded, and whether its Python is the one its environment was built for."""

from collections.abc import Iterator, Sequence

from windlass.core.case import Case
from windlass.core.finding import Finding, Severity
from windlass.core.toml.writing import format_value


def module_cannot_be_loaded(case: Case) -> Iterator[Finding]:
    """A module of the run could not be loaded in a login shell of the site, as the job would load it.

    One that the site does not have, or that needs others first, ends the job at its first lines. Another may refuse
    only the login node, such as one that needs a GPU: that is a warning. `windlass modules find NAME --on SITE` tells
    the whole line that loads it.
    """
    seen = case.modules
    if seen is None or seen.failed is None:
        return
    near = f"; there are: {', '.join(seen.near[:6])}" if seen.near else ""
    find = f"windlass modules find {seen.failed.partition('/')[0]} --on {case.site.name}"
    yield Finding(
        code="C320",
        severity=Severity.ERROR if seen.is_absent else Severity.WARNING,
        message=f"{case.site.name} does not load the module {seen.failed}: {seen.said or 'no reason told'}{near}",
        hint=f"[environment] modules = {format_value(seen.load)}" if seen.load else find,
        fact=f"module load {' '.join(case.plan.modules)} in a login shell of {case.site.name}",
    )


def python_is_another(case: Case) -> Iterator[Finding]:
    """The environment was built for another Python than the run has: its packages would not be found, or crash.

    Packages lie in a folder that carries the version, and compiled ones work with that version alone. Build the
    environment again (`windlass env build`), or load the modules it was built with.
    """
    seen = case.environment
    if seen is None or seen.built is None or seen.built.python is None:
        return
    built, python, wanted = seen.built, seen.built.python, case.spec.environment.python
    rebuild = f"windlass env build --on {case.site.name}"
    if wanted and not _is_same(wanted, python):
        yield _tell(case, python, f"environment.python is {wanted}", hint=rebuild)
        return
    tried = case.modules
    # A container and conda bring a Python of their own, whatever the modules say.
    if built.kind != "venv" or tried is None or tried.python is None or not tried.brings_python:
        return
    if not _is_same(tried.python, python):
        have = f"with {_list(case.plan.modules)} python3 is {tried.python}"
        hint = f"{rebuild}, or [environment] modules = {format_value(built.modules)}" if built.modules else rebuild
        yield _tell(case, python, have, hint=hint)


def _tell(case: Case, built: str, have: str, *, hint: str) -> Finding:
    return Finding(
        code="C321",
        severity=Severity.ERROR,
        message=f"the environment at {case.site.name} was built for Python {built}; {have}",
        hint=hint,
        fact=f"the card of the environment at {case.site.name}",
    )


def _is_same(one: str, other: str) -> bool:
    """As far as both tell, and the patch release does not matter: 3, 3.11 and 3.11.4 are the same as 3.11.9."""
    return all(mine == theirs for mine, theirs in zip(one.split(".")[:2], other.split(".")[:2], strict=False))


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)
