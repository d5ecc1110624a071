"""C323 and C324: whether the environment that was built fits the GPUs."""

from dataclasses import replace

from tests.builders import SPEC
from tests.checks.cases import Example
from tests.checks.code_cases import A100, V100, code_case, mixed, site_with
from windlass.core.case import Case
from windlass.core.environment import Built, Entering, EnvironmentSeen, Recipe
from windlass.core.run import Environment
from windlass.core.site import GpuKind, Site

NEW = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")
TORCH = Built(id="venv-0123456789", kind="venv", path="/e", packages={"torch": "2.13.0+cu130"}, gpu_code={"torch": NEW})


def built(site: Site, environment: Built = TORCH) -> Case:
    seen = EnvironmentSeen(recipe=Recipe(kind="venv"), entering=Entering(), built=environment, is_asked=True)
    return replace(code_case(site=site, files={"train.py": "import torch"}), environment=seen)


def with_code(framework: str, *code: str) -> Built:
    return replace(TORCH, gpu_code={framework: code})


def made_for(**frameworks: str) -> Built:
    return replace(TORCH, packages=dict.fromkeys(frameworks, "2.4.0"), gpu_code={}, made_for=frameworks)


CONDA = Environment(conda="environment.yml")

EXAMPLES = {
    "C323": Example(
        trips=built(V100),
        passes=built(A100),
        says="torch 2.13.0+cu130 in venv-0123456789 has code for sm_75, sm_80, sm_86, sm_90, sm_100, sm_120, "
        "and v100 needs sm_70 (7.0)",
        also_trips=(
            built(site_with(GpuKind(name="b200")), with_code("torch", "sm_80", "sm_90")),
            built(A100, with_code("jax", "sm_90", "compute_90")),
            built(A100, with_code("tensorflow", "sm_86")),
            built(mixed(GpuKind(name="v100"), GpuKind(name="a100"))),
        ),
        also_passes=(
            built(site_with(GpuKind(name="b200")), with_code("jax", "sm_90", "compute_90")),  # compiled on the spot
            built(site_with(GpuKind(name="h100")), with_code("torch", "sm_80", "sm_90a")),
            built(V100, replace(TORCH, gpu_code={})),
            replace(built(V100), environment=None),
            replace(built(V100), plan=replace(built(V100).plan, gpus_per_node=0)),
        ),
    ),
    "C324": Example(
        trips=built(A100, replace(TORCH, packages={"torch": "2.13.0+cpu"}, gpu_code={})),
        passes=built(A100),
        says="torch 2.13.0+cpu in venv-0123456789 is the build for processors, and the run asks for GPUs",
        also_trips=(
            built(A100, replace(TORCH, packages={"tensorflow-cpu": "2.21.0"}, gpu_code={})),
            built(V100, made_for(torch="")),
            built(A100, made_for(jax="")),
            replace(built(A100, made_for(torch="")), spec=replace(SPEC, environment=CONDA)),
            built(A100, made_for(tensorflow="", torch="cuda 12.4")),
        ),
        also_passes=(
            built(A100, replace(TORCH, packages={"tensorflow": "2.21.0"})),
            built(A100, made_for(torch="cuda 12.4")),
            built(A100, made_for(torch="hip 6.0")),
        ),
    ),
}
