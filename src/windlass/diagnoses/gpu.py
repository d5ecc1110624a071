"""GPUs: builds and drivers that do not fit them, ranks that see the wrong ones, and those that idle."""

import re
from collections.abc import Iterator
from datetime import timedelta

from windlass.core.ending.symptoms import Symptoms, set_to
from windlass.core.finding import Diagnosis, Setting
from windlass.core.gauges.idleness import is_starved
from windlass.core.record import RunState
from windlass.core.units import format_human_duration

_NO_KERNEL = re.compile(
    r"no kernel image is available|PyTorch no longer supports this GPU because it is too old|"
    r"with CUDA capability sm_\d+ is not compatible with the current PyTorch installation|"
    r"HIP error: invalid device function|The minimum cuda capability supported by this library"
)
_DRIVER = re.compile(
    r"NVIDIA driver on your system is too old|CUDA driver version is insufficient for CUDA runtime version|"
    r"forward compatibility was attempted on non supported HW"
)
_WRONG_GPUS = re.compile(
    r"CUDA error: invalid device ordinal|"
    r"You requested gpu: \[[^\]\n]*\](?:(?!You requested)[^\n])*(?:\n[^\n]*)?But your machine only has|"
    r"Duplicate GPU detected : rank \d+ and rank \d+"
)
_BROKEN = re.compile(
    r"uncorrectable (?:NVLink |ECC )?error|CUDA error: uncorrectable ECC|GPU has fallen off the bus|NVRM: Xid|"
    r"Unable to determine the device handle for GPU|CUDA error: an illegal instruction was encountered|"
    r"all CUDA-capable devices are busy or unavailable"
)
_NO_GPU = re.compile(
    r"No CUDA GPUs are available|no CUDA-capable device is detected|Found no NVIDIA driver on your system|"
    r"Torch not compiled with CUDA enabled|Attempting to deserialize object on a CUDA device but"
)
_ONE_CORE = re.compile(
    r"This DataLoader will create (?P<workers>\d+) worker processes in total\. Our suggested max number of worker "
    r"in current system is (?P<cores>\d+)\b"
)


def no_kernel_for_gpu(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """This build of the framework has no code for this GPU: the GPU is too old for it, or too new.

    Wheels drop old kinds (P100 is sm_60, V100 sm_70) and old wheels do not know new ones (H100 is sm_90). Another
    wheel or the site's module has it, or choose another kind of GPU.
    """
    if line := symptoms.fatal(_NO_KERNEL):
        name = symptoms.plan.gpu_spelled if symptoms.plan else None
        kind = symptoms.site.gpu(name) if symptoms.site and name else None
        wheels = f"; builds for it: {kind.wheels}" if kind is not None and kind.wheels else ""
        yield Diagnosis(
            code="D207",
            message="this build of the framework does not fit the node's GPU",
            evidence=(line,),
            hint=f"another wheel or module, or another GPU kind: [resources] gpu{wheels}",
        )


def driver_too_old(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The node's driver is older than the CUDA this build of the framework wants.

    Users cannot change the driver: install a build for an older CUDA (cu118, cu121), or use the site's module.
    """
    if line := symptoms.fatal(_DRIVER):
        found = re.search(r"found version (\d+)", line)
        version = f" (it knows CUDA {int(found[1]) // 1000}.{int(found[1]) % 1000 // 10})" if found else ""
        yield Diagnosis(
            code="D209",
            message=f"the node's driver is too old for this build of the framework{version}",
            evidence=(line,),
            hint="a build for an older CUDA, or the site's module: [environment] modules",
        )


def wrong_gpus(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """A rank asked for a GPU that it cannot see.

    --gpus-per-task and --gpu-bind hide the other GPUs of a node, so LOCAL_RANK 3 has no device 3. Ask for GPUs by the
    node and let each rank take LOCAL_RANK % device_count.
    """
    if line := symptoms.fatal(_WRONG_GPUS):
        yield Diagnosis(
            code="D210",
            message="a rank asked for a GPU that it cannot see",
            evidence=(line,),
            hint="[resources] gpus_per_node, and device = LOCAL_RANK % torch.cuda.device_count(); no --gpus-per-task",
        )


def broken_gpu(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The hardware of a GPU failed, or another process holds it. Tell the centre which node it was."""
    if line := symptoms.fatal(_BROKEN):
        where = f" on {symptoms.record.nodes}" if symptoms.record.nodes else ""
        yield Diagnosis(
            code="D211",
            message=f"a GPU{where} failed: nothing is wrong with the training",
            evidence=(line,),
            hint=f"{symptoms.ask_for_help}, then {symptoms.again}",
        )


def no_gpu(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The program wanted a GPU and saw none: none was asked for, the build has no CUDA, or a container hides them.

    In Apptainer `--nv` shows the GPUs.
    """
    if line := symptoms.fatal(_NO_GPU):
        plan = symptoms.plan
        none_asked = plan is not None and plan.gpus == 0 and "not compiled" not in line
        patch: tuple[Setting, ...] = (set_to("resources.gpus", 1),) if none_asked else ()
        yield Diagnosis(
            code="D212",
            message="the program wanted a GPU and saw none" + ("; the run asked for none" if none_asked else ""),
            evidence=(line,),
            hint="[resources] gpus" if none_asked else "a build with CUDA; in Apptainer: --nv",
            patch=patch,
        )


def idle_gpus(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The GPUs of a running job do next to nothing: they wait for data.

    Many small files on a parallel file system are the usual cause: pack them (tar shards, HDF5, squashfs) and copy
    them to the node's own disk first. Too few CPUs or workers for loading are the next.
    """
    if symptoms.record.state is not RunState.RUNNING:
        return
    for node in symptoms.gauges:
        used = node.gpu_utilisation
        if used is not None and is_starved(node):
            long = format_human_duration(timedelta(seconds=int(node.seconds)))
            unused = f"; {node.idle_gpus} of {node.gpus} never worked" if node.idle_gpus else ""
            yield Diagnosis(
                code="D213",
                message=f"the GPUs of {node.node} were used {used:.0f} % of the last {long}{unused}",
                evidence=(f"its CPUs: {node.cpus_used:.1f} busy",) if node.cpus_used is not None else (),
                hint="pack many small files and stage them to the node's disk; more workers and [resources] cpus",
            )
            return


def too_few_cores(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The data loader has fewer CPU cores than workers, so the GPUs wait for it.

    Since Slurm 22.05 srun does not take over --cpus-per-task by itself: scripts of your own need
    `export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK`. Runs of Windlass have it.
    """
    if (line := symptoms.stuck(_ONE_CORE)) and (found := _ONE_CORE.search(line)):
        workers, cores = int(found["workers"]), int(found["cores"])
        own = symptoms.plan is not None and symptoms.plan.cpus_per_task < workers + 1
        script = "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK before srun"
        yield Diagnosis(
            code="D215",
            message=f"each task has {cores} CPU core{'s' if cores > 1 else ''} for {workers} data-loading workers",
            evidence=(line,),
            hint=script if symptoms.is_foreign else "num_workers = len(os.sched_getaffinity(0)), or more cpus",
            patch=(set_to("resources.cpus", workers + 1),) if own and not symptoms.is_foreign else (),
        )
