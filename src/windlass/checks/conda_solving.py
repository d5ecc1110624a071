"""Whether conda will take the builds for GPUs, on a login node that has none."""

import re
from collections.abc import Iterator

from windlass.core.case import Case
from windlass.core.finding import Finding, Severity
from windlass.core.source.pins import CONDA_LOCKS, read_conda_files
from windlass.core.source.software import find_gpu_kinds

ANY_CUDA = "12.4"  # in hints: an example
_OF_PIP = re.compile(r"(?m)^\s*-\s*['\"]?pip['\"]?\s*:")
# Of conda's packages those that come for processors and for GPUs under one name.
_OF_CONDA = frozenset({"pytorch", "tensorflow", "jax", "jaxlib"})


def conda_may_solve_for_processors(case: Case) -> Iterator[Finding]:
    """A conda environment is about to be built where no GPU is seen: solvers take the builds for processors then.

    They look for the driver of the machine they run on, and login nodes have none. `cuda` under [software] of the site
    file says which one the nodes have; so does a look at a node, and a package in the list that asks for CUDA.
    """
    seen = case.environment
    if seen is None or seen.built is not None or seen.is_left_out or not case.plan.gpus_per_node:
        return
    files = seen.recipe.files
    if case.spec.environment.conda is None or not files or case.site.software.cuda or not find_gpu_kinds(case):
        return
    text = "\n".join(files.values())
    if not CONDA_LOCKS.isdisjoint(files) or re.search(r"cuda|gpu", text, re.IGNORECASE):
        return
    own = {name: _OF_PIP.split(text)[0] for name, text in files.items()}
    for pin in read_conda_files(own):
        if pin.name in _OF_CONDA:
            yield Finding(
                code="C315",
                severity=Severity.WARNING,
                message=f"{pin.name} may be solved as the build for processors: "
                f"no file says which CUDA the nodes of {case.site.name} have",
                hint=f"windlass site check {case.site.name} --deep   # asks a node\n"
                f'or in the site file: [software] cuda = "{ANY_CUDA}"',
                fact=f"software.cuda of {case.site.name}",
                where=pin.where,
            )
            return
