"""C306 to C314, C316: whether the software fits the machine."""

from dataclasses import replace

from tests.builders import PLAN, SPEC
from tests.checks.cases import Example
from tests.checks.code_cases import (
    A100,
    DDP,
    K40,
    ONE_GPU,
    POWER,
    REMOTE,
    V100,
    code_case,
    listed,
    make_code,
    mixed,
    pinned,
    run,
    site_with,
)
from windlass.core.case import Case
from windlass.core.environment import Built, Entering, EnvironmentSeen, Recipe
from windlass.core.facts import Facts
from windlass.core.run import BuildPlace, Environment
from windlass.core.site import GpuKind, Software
from windlass.core.source.code import Binary

ARM = site_with(GpuKind(name="gh200"), architecture="aarch64")
IN_POWER = Environment(venv="a.txt")
V100_OR_A100 = mixed(GpuKind(name="v100"), GpuKind(name="a100"))


def built_on(platform: str) -> Case:
    """Seen from a login node of another kind."""
    built = Built(id="venv-0123456789", kind="venv", path="/e", platform=platform)
    seen = EnvironmentSeen(recipe=Recipe(kind="venv"), entering=Entering(), built=built, is_asked=True)
    return replace(code_case(site=POWER, facts=Facts(architecture="x86_64")), environment=seen)


EXAMPLES = {
    "C306": Example(
        trips=pinned("torch==2.13.0", V100),
        passes=pinned("torch==2.10.0", V100),
        says="torch 2.13.0 has no kernels for the v100 (7.0); it has 7.5, 8.0, 8.6, 9.0, 10.0, 12.0",
        also_trips=(
            pinned("torch==2.13.0+cu130", V100),
            pinned("torch==1.3.1", K40),
            pinned("torch==1.13.1", site_with(GpuKind(name="h100"))),
            pinned("torch==2.1.0+cpu", A100),
            pinned("torch==2.5.1", ARM),
            pinned("torch>=2,<2.11", ARM),
            pinned("torch==2.13.0", V100_OR_A100),
            replace(pinned("torch==2.13.0", V100), plan=replace(ONE_GPU, gpu_spelled="v100")),
            code_case(site=K40, files={"environment.yml": "dependencies:\n  - pytorch=1.7\n"}),
            code_case(
                site=V100,
                files={"requirements.txt": "torch", "uv.lock": '[[package]]\nname = "torch"\nversion = "2.13.0"\n'},
            ),
        ),
        also_passes=(
            replace(pinned("torch==2.13.0", V100), spec=run("apptainer exec --nv image.sif python train.py")),
            pinned("torch==2.13.0", A100),
            pinned("torch==2.14.0+cu126", V100),
            pinned("torch==2.13.0", REMOTE),  # an A100
            pinned("torch==2.13.0", replace(V100, software=Software(wheelhouse="/cvmfs/wheels"))),
            replace(pinned("torch==2.13.0", V100), plan=replace(ONE_GPU, gpus_per_node=0)),
            replace(pinned("torch==2.13.0", V100), plan=replace(ONE_GPU, modules=("PyTorch/2.1.2-CUDA-12.1",))),
            pinned("tensorflow==2.4.0", K40),  # conda's and pip's TensorFlow run there
            pinned("tensorflow==2.4.0", V100),
            pinned("torchvision==0.25", V100),
            pinned("torch==1.2.0", K40),
            pinned("torch==2.13.0", ARM),
            pinned("torch==2.5.1+cu124", ARM),
            listed(ARM, Environment(venv="a.txt"), a__txt="-f https://wheels.example.org\ntorch==2.5.1\n"),
            pinned("torch==2.13.0", POWER),  # no wheel at all: C316
            code_case(site=V100, files={"nested/requirements.txt": "torch==2.13.0"}),
            pinned("torch==2.13.0", site_with(GpuKind(name="mystery"))),
        ),
    ),
    "C307": Example(
        trips=pinned("torch>=2.0", V100),
        passes=pinned("torch>=2.0,<2.11", V100),
        says="torch 2.15, which pip takes for 'torch>=2.0', has no kernels for the v100 (7.0); "
        "it has 7.5, 8.0, 8.6, 9.0, 10.0, 12.0",
        also_trips=(
            pinned("torch", V100),
            code_case(site=V100, files={"pyproject.toml": '[project]\ndependencies = ["torch>=2"]'}),
        ),
        also_passes=(
            pinned("torch", A100),
            pinned("torch==2.13.0", V100),
            pinned("torch<2.8", V100),
        ),
    ),
    "C308": Example(
        trips=pinned("torch==2.1.2", site_with(GpuKind(name="a100"), software=Software(driver="470.82.01"))),
        passes=pinned("torch==2.1.2", site_with(GpuKind(name="a100"), software=Software(driver="525.60.13"))),
        says="the driver of alpha is 470.82.01; CUDA 12.1 of torch 2.1.2 needs 525.60.13 or newer",
        also_trips=(pinned("torch==2.11.0", site_with(GpuKind(name="a100"), software=Software(cuda="12.4"))),),
        also_passes=(
            pinned("torch==2.1.2", A100),
            pinned("torch==2.1.2+cu118", site_with(GpuKind(name="a100"), software=Software(driver="470.82.01"))),
            pinned("torch==2.1.2", site_with(GpuKind(name="a100"), software=Software(cuda="12.0"))),
        ),
    ),
    "C309": Example(
        trips=replace(code_case(site=POWER), code=make_code({}, Binary(path="bin/solver", architecture="x86_64"))),
        passes=replace(code_case(site=POWER), code=make_code({}, Binary(path="bin/solver", architecture="ppc64le"))),
        says="bin/solver is made for x86_64; nodes of gpu are ppc64le",
        also_trips=(
            replace(code_case(site=POWER), spec=replace(SPEC, environment=Environment(container="image-amd64.sif"))),
            replace(
                code_case(site=POWER, facts=Facts(architecture="x86_64")),
                spec=replace(SPEC, environment=Environment(activate="source ~/env/bin/activate")),
            ),
            pinned("https://example.org/x-1.0-cp311-cp311-manylinux_2_28_x86_64.whl", POWER),
            built_on("x86_64"),
        ),
        also_passes=(
            code_case(site=POWER),
            code_case(site=POWER, facts=Facts(architecture="x86_64")),  # nothing was made there
            built_on("ppc64le"),
            built_on(""),  # before that was noted
            replace(
                code_case(site=POWER, facts=Facts(architecture="x86_64")),
                spec=replace(SPEC, environment=Environment(venv="requirements.txt", build=BuildPlace.JOB)),
            ),
            replace(code_case(), spec=replace(SPEC, environment=Environment(container="image_x86_64.sif"))),
            replace(
                code_case(site=POWER),
                code=make_code(
                    {}, Binary(path="x86/a", architecture="x86_64"), Binary(path="p/a", architecture="ppc64le")
                ),
            ),
        ),
    ),
    "C310": Example(
        trips=replace(pinned("torch==2.7.0", A100), facts=Facts(glibc="2.17")),
        passes=replace(pinned("torch==2.6.0", A100), facts=Facts(glibc="2.17")),
        says="torch 2.7.0 needs glibc 2.28; alpha has 2.17",
        also_passes=(
            pinned("torch==2.7.0", A100),
            replace(pinned("torch==2.7.0", A100), facts=Facts(glibc="2.28")),
        ),
    ),
    "C311": Example(
        trips=pinned("torch==1.11.0", A100, "import torch"),
        passes=pinned("torch==1.11.0", V100, "import torch"),
        says="torch 1.11.0 rounds to TF32 on this GPU by default: faster, less exact",
        also_trips=(pinned("torch==2.3.0", A100, "import torch"),),
        also_passes=(
            pinned("torch==1.11.0", A100, "import torch", "torch.backends.cuda.matmul.allow_tf32 = False"),
            pinned("torch==1.6.0", A100, "import torch"),
            pinned("torch", A100, "import torch"),
        ),
    ),
    "C312": Example(
        trips=pinned("torch==1.10.2", V100, DDP),
        passes=pinned("torch==1.11.0", V100, DDP),
        says="torch 1.10.2 may fail with DistributedDataParallel",
        also_passes=(pinned("torch==1.10.2", V100, "import torch"),),
    ),
    "C313": Example(
        trips=code_case(spec=run("apptainer exec image.sif python train.py")),
        passes=code_case(spec=run("apptainer exec --nv image.sif python train.py")),
        says="apptainer exec without --nv: the program inside sees no GPU",
        also_passes=(
            code_case(spec=run("apptainer pull image.sif docker://a/b")),
            code_case(spec=run("echo apptainer exec"), plan=PLAN),
        ),
    ),
    "C316": Example(
        trips=listed(POWER, IN_POWER, a__txt="torch==2.10.0\n"),
        passes=listed(V100, IN_POWER, a__txt="torch==2.10.0\n"),
        says="torch==2.10.0: PyPI has no wheel of torch for the ppc64le nodes of gpu",
        also_trips=(pinned("torch", POWER),),
        also_passes=(
            listed(POWER, IN_POWER, a__txt="-f https://wheels.example.org\ntorch==2.10.0\n"),
            listed(POWER, IN_POWER, a__txt="numpy\n"),
            listed(POWER, Environment(conda="e.yml"), e__yml="dependencies:\n  - pytorch=1.10\n"),
            pinned("torch", ARM),
        ),
    ),
    "C314": Example(
        trips=pinned("flash-attn==2.5.8", V100),
        passes=pinned("flash-attn==2.5.8", A100),
        says="flash-attn==2.5.8 needs a GPU of 8.0 or newer; the v100 is 7.0",
        also_trips=(
            pinned("flash_attn", V100),
            code_case("AutoModel.from_pretrained(path, attn_implementation='flash_attention_2')", site=V100),
            pinned("flash-attn", V100_OR_A100),
        ),
        also_passes=(
            pinned("flash-attn==1.0.9", site_with(GpuKind(name="t4"))),
            pinned("flash-attn<2", site_with(GpuKind(name="t4"))),
            pinned("flash-attn", site_with(GpuKind(name="mystery"))),
            replace(pinned("flash-attn", V100), plan=replace(ONE_GPU, gpus_per_node=0)),
            code_case("AutoModel.from_pretrained(path, attn_implementation='sdpa')", site=V100),
            replace(pinned("flash-attn", V100_OR_A100), plan=replace(ONE_GPU, gpu_spelled="a100")),
        ),
    ),
}
