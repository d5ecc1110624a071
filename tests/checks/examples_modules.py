"""C317, C320, C321 and C327: whether modules serve the run, and whether the environment has the right Python."""

from dataclasses import replace

from tests.builders import PLAN, SPEC
from tests.checks.cases import Example, case
from tests.checks.code_cases import A100, ONE_GPU, V100, code_case, mixed, site_with
from windlass.core.case import Case
from windlass.core.environment import Built, Entering, EnvironmentSeen, Place, Recipe
from windlass.core.modules.trial import ModulesSeen
from windlass.core.run import Environment
from windlass.core.site import GpuKind, Site
from windlass.core.wheels.python_needed import PythonNeeded

UNKNOWN = ModulesSeen(
    failed="PyTorch/9", said='The following module(s) are unknown: "PyTorch/9"', is_absent=True, near=("PyTorch/2.1",)
)
REFUSED = ModulesSeen(failed="cuda-driver", said="this module is for compute nodes")
OLD_PYTHON = ModulesSeen(loaded=("python/3.9.6",), python="3.9.6", brings_python=True)


def loaded(site: Site, *modules: str) -> Case:
    return code_case(site=site, plan=replace(ONE_GPU, modules=modules))


def tried(seen: ModulesSeen | None) -> Case:
    return replace(case(plan=replace(PLAN, modules=("gcc/12", "PyTorch/9"))), modules=seen)


def built(*, kind: str = "venv", wanted: str | None = None, seen: ModulesSeen | None = None) -> Case:
    """An environment made for Python 3.11.4."""
    there = EnvironmentSeen(
        recipe=Recipe(kind=kind),
        entering=Entering(),
        built=Built(id=f"{kind}-1", kind=kind, path="/p", python="3.11.4", modules=("python/3.11",)),
        is_asked=True,
        uses_outer_python=kind == "venv",
    )
    spec = replace(SPEC, environment=Environment(python=wanted))
    return replace(case(spec=spec, plan=replace(PLAN, modules=("python",))), environment=there, modules=seen)


def existing(python: str | None, *, made_for: str | None = None, wanted: str | None = None) -> Case:
    """A folder at the site that is used as it is."""
    place = Place(path="/project/env", python=python, made_for=made_for)
    recipe = Recipe(kind="venv", existing="$PROJECT/env")
    there = EnvironmentSeen(recipe=recipe, entering=Entering(), place=place, is_asked=True)
    return replace(case(spec=replace(SPEC, environment=Environment(python=wanted))), environment=there)


def needing(text: str, *, built: str | None = None, site: str | None = None) -> Case:
    """A project that admits these Pythons; `site`: what it would be built with."""
    there = EnvironmentSeen(
        recipe=Recipe(kind="venv", python_needed=PythonNeeded(text=text, where="pyproject.toml:4")),
        entering=Entering(),
        built=Built(id="venv-1", kind="venv", path="/p", python=built) if built else None,
        is_asked=True,
        python=site,
        other_python='[environment]\npython = "3.11"',
    )
    return replace(case(), environment=there)


EXAMPLES = {
    "C317": Example(
        trips=loaded(V100, "PyTorch/2.13.0-foss-2026a-CUDA-13.0.1"),
        passes=loaded(V100, "PyTorch/2.1.2-foss-2023a-CUDA-12.1.1"),
        says="PyTorch/2.13.0-foss-2026a-CUDA-13.0.1 is built with CUDA 13.0, which makes code for GPUs from 7.5 on; "
        "the v100 is 7.0",
        also_trips=(
            loaded(mixed(GpuKind(name="v100"), GpuKind(name="a100")), "pytorch/2.13.0-cuda-13.0"),
            loaded(site_with(GpuKind(name="k80")), "pytorch/2.1.2-cuda-12.1"),
        ),
        also_passes=(
            loaded(A100, "PyTorch/2.13.0-foss-2026a-CUDA-13.0.1"),
            loaded(V100, "PyTorch/2.13.0"),
            loaded(site_with(GpuKind(name="mystery")), "PyTorch/2.13.0-CUDA-13.0"),
        ),
    ),
    "C320": Example(
        trips=tried(UNKNOWN),
        passes=tried(ModulesSeen(loaded=("gcc/12.3", "PyTorch/9"))),
        says="alpha does not load the module PyTorch/9: "
        'The following module(s) are unknown: "PyTorch/9"; there are: PyTorch/2.1',
        also_trips=(tried(REFUSED), tried(replace(UNKNOWN, load=("gcc/12", "PyTorch/2.1")))),
        also_passes=(tried(None),),
    ),
    "C321": Example(
        trips=built(seen=OLD_PYTHON),
        passes=built(seen=replace(OLD_PYTHON, python="3.11.9")),
        says="the environment at alpha was built for Python 3.11.4; with python python3 is 3.9.6",
        also_trips=(
            built(wanted="3.12"),
            built(kind="conda", wanted="3.10.2"),
            existing("3.11.4", wanted="3.12"),
            existing("3.12.1", made_for="3.11.4"),
        ),
        also_passes=(
            built(wanted="3.11", seen=None),
            built(wanted="3"),
            built(seen=replace(OLD_PYTHON, brings_python=False)),  # the system's own, which a venv does not use
            built(kind="conda", seen=OLD_PYTHON),
            existing("3.11.4", made_for="3.11.2", wanted="3.11"),
            existing(None, made_for="3.11.2", wanted="3.12"),
            case(),
        ),
    ),
    "C327": Example(
        trips=needing(">=3.10", site="3.6.8"),
        passes=needing(">=3.6", site="3.6.8"),
        says="pyproject.toml:4 requires Python >=3.10; at alpha it would be built with 3.6.8",
        also_trips=(needing("<3.12", built="3.12.1"),),
        also_passes=(needing(">=3.10"), needing(">=3.10", built="3.11.4"), built(wanted="3.11"), case()),
    ),
}
