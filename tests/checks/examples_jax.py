"""C318, C319: whether the JAX of a list fits, before it is built."""

from dataclasses import replace

from tests.checks.cases import Example
from tests.checks.code_cases import A100, ONE_GPU, V100, from_pypi, pinned, site_with
from windlass.core.case import Case
from windlass.core.run import Wheels
from windlass.core.site import GpuKind, Software

OLD_DRIVER = site_with(GpuKind(name="a100"), software=Software(driver="535.54.03"))


def left_out(case: Case) -> Case:
    """On one's own machine, where the environment one is in comes along."""
    assert case.environment is not None
    return replace(case, environment=replace(case.environment, is_left_out=True))


EXAMPLES = {
    "C318": Example(
        trips=from_pypi(A100, "jax==0.5.0"),
        passes=from_pypi(A100, "jax[cuda12]==0.5.0"),
        says="jax without an extra is the build for processors, and the run asks for GPUs",
        also_trips=(from_pypi(A100, "jax==0.5.0", "jaxlib==0.5.0"),),
        also_passes=(
            from_pypi(A100, "jax==0.5.0", "jaxlib==0.5.0", "jax-cuda12-plugin==0.5.0"),
            from_pypi(A100, "jax", "jaxlib==0.4.7+cuda12.cudnn88"),
            from_pypi(A100, "-f https://wheels.example.org", "jax"),
            from_pypi(A100, "numpy"),
            from_pypi(A100, "jax", modules=("jax",)),
            from_pypi(site_with(GpuKind(name="a100"), software=Software(wheelhouse="/w")), "jax", wheels=Wheels.AUTO),
            replace(from_pypi(A100, "jax"), plan=replace(ONE_GPU, gpus_per_node=0)),
            pinned("jax", A100),  # nothing is built from it
            left_out(from_pypi(A100, "jax")),
        ),
    ),
    "C319": Example(
        trips=from_pypi(V100, "jax[cuda13]"),
        passes=from_pypi(V100, "jax[cuda12]"),
        says="jax for CUDA 13 needs a GPU of 7.5 or newer; the v100 is 7.0",
        also_trips=(
            from_pypi(V100, "jax==0.8.0", "jax-cuda13-plugin==0.8.0"),
            from_pypi(site_with(GpuKind(name="k80")), "jax[cuda12-local]"),
            from_pypi(OLD_DRIVER, "jax[cuda13]"),
            from_pypi(site_with(GpuKind(name="a100"), software=Software(cuda="12.4")), "jax[cuda13]"),
        ),
        also_passes=(
            from_pypi(OLD_DRIVER, "jax[cuda12]"),
            from_pypi(A100, "jax[cuda13]"),
            from_pypi(V100, "jax[cuda]"),
            from_pypi(site_with(GpuKind(name="mystery")), "jax[cuda13]"),
        ),
    ),
}
