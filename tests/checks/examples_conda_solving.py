"""C315: whether conda will take the builds for GPUs."""

from dataclasses import replace

from tests.checks.cases import Example
from tests.checks.code_cases import A100, ONE_GPU, listed, site_with
from windlass.core.run import Environment
from windlass.core.site import GpuKind, Software

CONDA = Environment(conda="environment.yml")
SOLVED = "dependencies:\n  - python=3.11\n  - pytorch\n"
KNOWN = site_with(GpuKind(name="a100"), software=Software(cuda="12.4"))

EXAMPLES = {
    "C315": Example(
        trips=listed(A100, CONDA, environment__yml=SOLVED),
        passes=listed(KNOWN, CONDA, environment__yml=SOLVED),
        says="pytorch may be solved as the build for processors: no file says which CUDA the nodes of alpha have",
        also_trips=(listed(A100, Environment(conda="pixi.toml"), pixi__toml='[dependencies]\njaxlib = "*"\n'),),
        also_passes=(
            listed(A100, CONDA, environment__yml=SOLVED + "  - cuda-version=12.4\n"),
            listed(A100, CONDA, environment__yml="dependencies:\n  - numpy\n  - pip:\n    - tensorflow\n"),
            listed(site_with(GpuKind(name="mi250")), CONDA, environment__yml=SOLVED),
            replace(listed(A100, CONDA, environment__yml=SOLVED), plan=replace(ONE_GPU, gpus_per_node=0)),
        ),
    ),
}
