"""C328, C329: whether the TensorFlow of a list fits, before it is built."""

from dataclasses import replace

from tests.checks.cases import Example
from tests.checks.code_cases import A100, ONE_GPU, V100, from_pypi, mixed, pinned, site_with
from windlass.core.run import Wheels
from windlass.core.site import GpuKind, Software

K80 = site_with(GpuKind(name="k80"))
MIXED = mixed(GpuKind(name="k80"), GpuKind(name="v100"))
OLD_DRIVER = site_with(GpuKind(name="a100"), software=Software(driver="470.82.01"))


EXAMPLES = {
    "C328": Example(
        trips=from_pypi(K80, "tensorflow[and-cuda]==2.17.0"),
        passes=from_pypi(K80, "tensorflow[and-cuda]==2.14.1"),
        says="tensorflow 2.17.0 of PyPI has code for sm_60, sm_70, sm_80, sm_89, compute_90; the k80 is 3.7",
        also_trips=(
            from_pypi(K80, "tensorflow[and-cuda]"),
            from_pypi(site_with(GpuKind(name="m40")), "tensorflow[and-cuda]>=2.17,<2.19"),
            from_pypi(site_with(GpuKind(name="k20")), "tensorflow[and-cuda]==2.15.*"),
            from_pypi(OLD_DRIVER, "tensorflow[and-cuda]==2.16.1"),
            from_pypi(site_with(GpuKind(name="a100"), software=Software(cuda="11.8")), "tensorflow[and-cuda]"),
            from_pypi(MIXED, "tensorflow[and-cuda]==2.17.0"),
            from_pypi(K80, "numpy", "tensorflow==2.20.0", modules=("CUDA/12.5",)),
        ),
        also_passes=(
            from_pypi(V100, "tensorflow[and-cuda]==2.17.0"),
            from_pypi(OLD_DRIVER, "tensorflow[and-cuda]==2.14.0"),
            from_pypi(site_with(GpuKind(name="b200")), "tensorflow[and-cuda]==2.16.1"),  # compiled on the spot
            from_pypi(site_with(GpuKind(name="mystery")), "tensorflow[and-cuda]==2.17.0"),
            from_pypi(K80, "tensorflow[and-cuda]<2.15"),
            from_pypi(K80, "tensorflow==2.99.0", modules=("CUDA",)),  # newer than what was read
            from_pypi(K80, "-f https://wheels.example.org", "tensorflow==2.17.0", modules=("CUDA",)),
            replace(from_pypi(K80, "tensorflow==2.17"), plan=replace(ONE_GPU, gpus_per_node=0)),
            pinned("tensorflow==2.17", K80),  # nothing is built from it
        ),
    ),
    "C329": Example(
        trips=from_pypi(A100, "tensorflow==2.16.1"),
        passes=from_pypi(A100, "tensorflow[and-cuda]==2.16.1"),
        says="tensorflow 2.16.1 finds no CUDA: neither the list nor a module brings it, and the run asks for GPUs",
        also_trips=(
            from_pypi(A100, "tensorflow==2.11.0"),
            from_pypi(A100, "tensorflow-gpu==2.4.1"),
            from_pypi(A100, "tensorflow==1.14.0"),
            from_pypi(A100, "tensorflow==2.0.0", modules=("cuda/10.0",)),
            from_pypi(A100, "keras", "tensorflow"),
        ),
        also_passes=(
            from_pypi(A100, "tensorflow==2.11.0", modules=("CUDA/11.2", "cuDNN/8.1")),
            from_pypi(A100, "tensorflow-gpu==1.14.0", modules=("cuda/10.0",)),
            from_pypi(A100, "tensorflow==1.15.0", modules=("cuda/10.0",)),
            from_pypi(A100, "tensorflow==2.16.1", "nvidia-cudnn-cu12==8.9.7.29"),
            from_pypi(A100, "tensorflow-cpu==2.16.1"),  # told when it is built: C324
            from_pypi(
                site_with(GpuKind(name="a100"), software=Software(wheelhouse="/w")), "tensorflow", wheels=Wheels.AUTO
            ),
            replace(from_pypi(A100, "tensorflow"), plan=replace(ONE_GPU, gpus_per_node=0)),
            pinned("tensorflow", A100),
        ),
    ),
}
