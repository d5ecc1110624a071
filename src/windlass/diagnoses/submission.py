"""What sbatch and srun said when they refused: at the submission, or inside a job that submits or starts steps."""

import re
from collections.abc import Iterator

from windlass.core.ending.symptoms import Symptoms
from windlass.core.finding import Diagnosis

_ACCOUNT = re.compile(
    r"Invalid account or account/partition combination|Account not permitted to use this partition|"
    r"(?:Assoc|QOS)?(?<!\w)InvalidAccount\b"
)
_SUBMIT_LIMIT = re.compile(r"\b(?:Assoc|QOS)\w*SubmitJob\w*|MaxSubmitJobsPerAccount")
_ANY_LIMIT = re.compile(r"Job violates accounting/QOS policy")
_OTHER_LIMIT = re.compile(r"\b(?:Assoc|QOS)(?:Max|Grp|Min)(?!Submit)\w+")
_MEMORY = re.compile(
    r"Memory specification can not be satisfied|"
    r"SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually exclusive|"
    r"Unable to create step for job \d+: Memory required by task is not available|Invalid --mem specification"
)
_TIME = re.compile(
    r"Requested time limit is invalid \(missing or exceeds some limit\)|\b(?:QOS|Assoc)MaxWallDurationPerJobLimit|"
    r"Time limit specification required"
)
_SHAPE = re.compile(
    r"Requested node configuration is not available|Invalid generic resource \(gres\) specification|"
    r"Requested GRES option unsupported by configured SelectType plugin|Cannot find GPU specification|"
    r"More processors requested than permitted|CPU count per node can not be satisfied|"
    r"Node count specification invalid|Invalid feature specification"
)
_ARRAY = re.compile(r"Invalid job array specification")
_UNCLEAR = re.compile(r"Socket timed out on send/recv operation|Zero Bytes were transmitted or received")
_SCRIPT = re.compile(
    r"Batch script contains DOS line breaks|This does not look like a batch script|Batch script is empty"
)


def account_refused(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """Slurm knows no such account of yours, or not with this partition.

    None was named where one is needed, the project has ended, -A and -p were swapped, or a variable stands in an
    #SBATCH line, where nothing is filled in. `windlass queues` lists the accounts you have.
    """
    if line := symptoms.refused(_ACCOUNT):
        yield Diagnosis(
            code="D104",
            message="the account is wrong, missing, ended, or may not use this partition",
            evidence=(line, *_name_accounts(symptoms)),
            hint=f'[resources] account = "{_first_account(symptoms) or "NAME"}"',
        )


def submit_limit(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """You have as many jobs in the queue as your account or QOS allows.

    Every task of an array, and so every link of a chain, counts as a job. Wait until some end, or plan fewer links.
    """
    line = symptoms.refused(_SUBMIT_LIMIT)
    if line is None and symptoms.refused(_OTHER_LIMIT) is None:
        line = symptoms.refused(_ANY_LIMIT)
    if line:
        yield Diagnosis(
            code="D105",
            message="you have as many jobs in the queue as you may, or ask for more than your account or QOS allows",
            evidence=(line,),
            hint="wait until some end, or [checkpoint] max_links; another qos may allow more",
        )


def memory_request(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The memory was asked for in a way that this Slurm refuses, or that clashes with an outer job's.

    Where memory is not counted, --mem cannot be satisfied. Inside an allocation sbatch and srun inherit its
    SLURM_MEM_ variables. A second srun in one job needs a share of its own: --mem or --exact.
    """
    if line := symptoms.refused(_MEMORY):
        clash = "mutually exclusive" in line
        hint = "ask for less, or [rules] memory_can_be_asked = false in the site file where memory is not counted"
        if clash:
            hint = "env -u SLURM_MEM_PER_CPU -u SLURM_MEM_PER_GPU -u SLURM_MEM_PER_NODE sbatch …   # from outside a job"
        elif "Unable to create step" in line:
            hint = "srun --exact --mem=SIZE for each of the steps that run side by side"
        yield Diagnosis(
            code="D106", message="Slurm cannot give the memory that was asked for", evidence=(line,), hint=hint
        )


def time_over_limit(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """One job asks for more time than its partition, account or QOS allows, or names none where one is needed.

    A shorter link makes a longer chain: the training takes as long as it did, in more jobs.
    """
    if line := symptoms.refused(_TIME):
        yield Diagnosis(
            code="D107",
            message="one job asks for more time than is allowed, or for none",
            evidence=(line,),
            hint='[resources] link_time = "12h"   # `windlass queues` shows the limits',
        )


def impossible_shape(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """No node has what is asked for: a kind of GPU, more GPUs, CPUs or memory than a node has, an unknown feature.

    The words for GPUs differ between sites (--gres, --gpus-per-node, typed or not): the site file says which.
    """
    if line := symptoms.refused(_SHAPE):
        yield Diagnosis(
            code="D108",
            message="no node of the partition has all that the job asks for, or GPUs are asked for in another way here",
            evidence=(line,),
            hint="windlass queues --on SITE lists what the nodes have; [resources] gpu, gpus_per_node, cpus, memory",
        )


def array_too_large(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The array has an index beyond the site's MaxArraySize (1001 by default: the index counts, not the number)."""
    if line := symptoms.refused(_ARRAY):
        most = symptoms.facts.max_array
        largest = f" ({most - 1} is the largest)" if most else ""
        yield Diagnosis(
            code="D109",
            message=f"an index of the array is beyond what this site takes{largest}",
            evidence=(line,),
            hint="[checkpoint] max_links, or a longer link_time: fewer links",
        )


def answer_lost(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """sbatch got no answer in time: the job may exist all the same.

    Never submit it again before you have looked: Windlass finds it by its token, `squeue --me` by its name.
    """
    if line := symptoms.refused(_UNCLEAR):
        yield Diagnosis(
            code="D110",
            message="Slurm's answer did not come: the job may have been taken all the same",
            evidence=(line,),
            hint="windlass ps --refresh, or squeue --me, before anything is sent again",
        )


def malformed_script(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The batch script has Windows line ends, no #! line, or nothing in it."""
    if line := symptoms.refused(_SCRIPT):
        hint = "sed -i 's/\\r$//' SCRIPT" if "DOS" in line else "the first line must be #!/bin/bash"
        yield Diagnosis(code="D111", message="sbatch cannot read the script", evidence=(line,), hint=hint)


def _name_accounts(symptoms: Symptoms) -> tuple[str, ...]:
    names = sorted({one.account for one in symptoms.facts.associations or ()})
    return (f"yours here: {', '.join(names[:8])}",) if names else ()


def _first_account(symptoms: Symptoms) -> str | None:
    return next((one.account for one in symptoms.facts.associations or () if one.is_default), None) or next(
        (one.account for one in symptoms.facts.associations or ()), None
    )
