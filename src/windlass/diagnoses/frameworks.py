"""TensorFlow and MPI: what goes wrong between them and Slurm."""

import re
from collections.abc import Iterator

from windlass.core.ending.symptoms import Symptoms, set_to
from windlass.core.finding import Diagnosis

_REPLICAS = re.compile(r"ValueError: Attempt to convert a value \(PerReplica:")
_RESOLVER = re.compile(
    r"slurm_cluster_resolver|ValueError: range\(\) arg 3 must not be zero|"
    r"Could not get number of GPUs from nvidia-smi|FileNotFoundError: (?:(?!FileNotFoundError)[^\n])*'nvidia-smi'"
)
_ALONE = re.compile(r"\b[Rr]ank[ :=]*0(?: of |/|,? *(?:world )?[Ss]ize[ :=]*)1\b")


def keras_cannot_share(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """Keras 3 does not know TensorFlow's strategies for several workers: model.fit breaks down at its first batch.

    Keras 2 does; it lives on as tf_keras (pip install tf-keras), and TF_USE_LEGACY_KERAS=1 puts it in the place of
    Keras 3.
    """
    if line := symptoms.fatal(_REPLICAS):
        yield Diagnosis(
            code="D411",
            message="Keras 3 cannot train with MultiWorkerMirroredStrategy",
            evidence=(line,),
            hint="pip install tf-keras in the environment, of TensorFlow's version; or a training loop of your own",
            patch=(set_to("run.env.TF_USE_LEGACY_KERAS", "1"),),
        )


def resolver_counts_gpus(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """TensorFlow's SlurmClusterResolver divides the workers by GPUs: without GPUs, or without nvidia-smi, it breaks.

    It also sorts hosts as text and gives every job the same port. MultiWorkerMirroredStrategy() without a resolver
    reads TF_CONFIG, which the launcher tensorflow sets.
    """
    line = symptoms.fatal(_RESOLVER)
    if line and "cluster_resolver" in symptoms.text:
        plan = symptoms.plan
        yield Diagnosis(
            code="D412",
            message="TensorFlow's SlurmClusterResolver cannot tell which workers there are",
            evidence=(line,),
            hint="MultiWorkerMirroredStrategy() without a resolver: it reads TF_CONFIG",
            patch=(set_to("run.launcher", "tensorflow"),) if plan is None or plan.launcher != "tensorflow" else (),
        )


def mpi_ranks_are_alone(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """Every process believes to be rank 0 of 1 and does the whole work: its MPI has not understood who started it.

    The MPI that came with the environment was built without this Slurm. The launcher mpi tries what there is before
    the training starts; the site's own MPI, with mpi4py built on it (pip install --no-binary=mpi4py mpi4py), is best.
    """
    plan = symptoms.plan
    if plan is None or plan.processes < 2 or len(_ALONE.findall(symptoms.text)) < 2:
        return
    if line := symptoms.stuck(_ALONE):
        yield Diagnosis(
            code="D413",
            message=f"each of the {plan.processes} processes believes to be alone: its MPI and srun do not match",
            evidence=(line,),
            hint="the site's own MPI: [environment] modules, and mpi4py built on it",
            patch=(set_to("run.launcher", "mpi"),) if plan.launcher != "mpi" else (),
        )
