"""Whether the modules of a run can be loaded and serve its GPUs, and whether its Python is that of its environment."""

from collections.abc import Iterator, Sequence

from windlass.core.case import Case
from windlass.core.environment import Place
from windlass.core.finding import Finding, Severity
from windlass.core.source.gpu_advice import list_places, soften
from windlass.core.source.gpu_builds import format_capability
from windlass.core.source.pins import find_torch_module
from windlass.core.source.software import find_gpu_kinds
from windlass.core.toml.writing import format_value

_OLDEST_OF_CUDA = {"11": 35, "12": 50, "13": 75}  # the oldest GPU that a compiler of this version makes code for


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


def module_has_no_code_for_the_gpu(case: Case) -> Iterator[Finding]:
    """The CUDA in the name of PyTorch's module makes no code for this GPU any more.

    CUDA 13 makes none for GPUs before 7.5 (so not for the V100), 12 none before 5.0 and 11 none before 3.5.
    """
    module = find_torch_module(case.plan.modules)
    oldest = _OLDEST_OF_CUDA.get(module[2].partition(".")[0]) if module and module[2] else None
    if module is None or oldest is None or not case.plan.gpus_per_node:
        return
    kinds = find_gpu_kinds(case)
    wrong = next(((kind, one) for kind, one in kinds if one < oldest), None)
    if wrong is None:
        return
    kind, capability = wrong
    places = list_places(case, lambda one: one >= oldest)
    find = f"a module with an older CUDA: windlass modules find PyTorch --on {case.site.name}"
    found = Finding(
        code="C317",
        severity=Severity.WARNING,
        message=f"{module[0]} is built with CUDA {module[2]}, which makes code for GPUs from "
        f"{format_capability(oldest)} on; the {kind} is {format_capability(capability)}",
        hint=", or ".join((find, *places)),
        fact=f"gpu.{kind}.capability of {case.site.name}",
    )
    works = [name for name, one in kinds if one >= oldest]
    yield soften(case, found, works[-1]) if works else found


def python_is_another(case: Case) -> Iterator[Finding]:
    """The environment was built for another Python than the run has: its packages would not be found, or crash.

    Packages lie in a folder that carries the version, and compiled ones work with that version alone. Build the
    environment again (`windlass env build`), or load the modules it was built with.
    """
    seen = case.environment
    if seen is not None and seen.place is not None:
        yield from _compare_existing(case, seen.place)
    if seen is None or seen.built is None or seen.built.python is None:
        return
    built, python, wanted = seen.built, seen.built.python, case.spec.environment.python
    rebuild = f"windlass env build --on {case.site.name}"
    if wanted and not _is_same(wanted, python):
        yield _tell(case, python, f"environment.python is {wanted}", hint=rebuild)
        return
    tried = case.modules
    if not seen.uses_outer_python or tried is None or tried.python is None or not tried.brings_python:
        return
    if not _is_same(tried.python, python):
        have = f"with {_list(case.plan.modules)} python3 is {tried.python}"
        hint = f"{rebuild}, or [environment] modules = {format_value(built.modules)}" if built.modules else rebuild
        yield _tell(case, python, have, hint=hint)


def _compare_existing(case: Case, place: Place) -> Iterator[Finding]:
    """Nobody builds it here: it is told what it has, and what the run asks for."""
    wanted, name = case.spec.environment.python, f"the environment {place.path} at {case.site.name}"
    if place.made_for and place.python and not _is_same(place.made_for, place.python):
        said = f"{name} was made for Python {place.made_for}, and its bin/python is {place.python} now"
        hint = "load the module that it was made with ([environment] modules), or make it anew"
        yield _tell_existing(place, said, hint)
    elif wanted and place.python and not _is_same(wanted, place.python):
        said = f"{name} has Python {place.python}; environment.python is {wanted}"
        yield _tell_existing(place, said, f'[environment] python = "{place.python}", or name another environment')


def _tell_existing(place: Place, message: str, hint: str) -> Finding:
    fact = f"{place.path}/bin/python in a login shell"
    return Finding(code="C321", severity=Severity.ERROR, message=message, hint=hint, fact=fact)


def python_is_not_admitted(case: Case) -> Iterator[Finding]:
    """The project says which versions of Python it works with (requires-python), and the site's is another.

    Packages would be missing, or the code would stop at its first new word. Name another Python that the site has
    (`python` under [environment]), or a module that brings one.
    """
    seen = case.environment
    needed = seen.recipe.python_needed if seen is not None else None
    if seen is None or needed is None:
        return
    version = seen.built.python if seen.built is not None else seen.python
    if version is None or needed.admits(version):
        return
    where = case.site.name
    have = f"the environment at {where} has" if seen.built is not None else f"at {where} it would be built with"
    hint = seen.other_python or f"windlass modules find Python --on {where}"
    if seen.is_left_out:
        have = "the environment you are in, which comes along, has"
        hint = f'[environment] python = "3.11", or another that is here; then windlass env build --on {where}'
    yield Finding(
        code="C327",
        severity=Severity.ERROR,
        message=f"{needed}; {have} {version}",
        hint=hint,
        fact=f"requires-python, {needed.where}",
    )


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
