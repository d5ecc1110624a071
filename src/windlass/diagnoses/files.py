"""Files: quotas and full disks, folders that nodes do not see, locks, and checkpoints that were cut."""

import re
from collections.abc import Iterator

from windlass.core.ending.symptoms import Symptoms, set_to
from windlass.core.finding import Diagnosis
from windlass.core.record import RunState

_QUOTA = re.compile(r"Disk quota exceeded|No space left on device|(?<!\w)\[Errno (?:28|122)\]")
_OF_A_CONTAINER = re.compile(r"oci|SIF|squashfs|bundle-temp|apptainer|singularity|/dev/shm", re.IGNORECASE)
_CHDIR = re.compile(
    r"couldn't chdir to `?'?(?P<path>[^':`\n]+)'?: (?:(?!couldn't chdir)[^\n])*going to /tmp instead|"
    r"error: Could not open stdout file"
)
_CUT_FILE = re.compile(
    r"PytorchStreamReader failed reading zip archive|unexpected EOF, expected \d+ more bytes\. The file might be "
    r"corrupted|Ran out of input|invalid load key, '\\x00'|HeaderTooLarge|IncompleteMetadata|"
    r"Error while deserializing header: \w+"
)
_LOCKS = re.compile(r"\[Errno 38\] Function not implemented|\[Errno 37\] No locks available")
_SQLITE = re.compile(
    r"sqlite3\.OperationalError\)? ?:? ?(?:database is locked|disk I/O error|locking protocol)|"
    r"database disk image is malformed|"
    r"sqlite3\.OperationalError: (?:database is locked|disk I/O error|locking protocol)"
)
_DISK = re.compile(
    r"\[Errno 116\] Stale file handle|\[Errno 5\] Input/output error|Transport endpoint is not connected: '|"
    r"\[Errno 108\] Cannot send after transport endpoint shutdown"
)
_OPEN_FILES = re.compile(r"\[Errno 24\] Too many open files|Too many open files(?:\. Communication|$)", re.MULTILINE)
_READ_ONLY = re.compile(r"\[Errno 30\] Read-only file system(?:: '(?P<path>[^']*)')?")
_NO_OUTPUT_FILE = 53  # Slurm's own number in the place of a signal


def quota(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """A disk or a quota was full: in bytes, or in the number of files.

    Caches in home are the usual cause (pip, conda, Hugging Face, Apptainer): point them to scratch. An image folder
    or an environment can use up the number of files while there are bytes enough.
    """
    line = symptoms.fatal(_QUOTA)
    if line and not _OF_A_CONTAINER.search(line):
        yield Diagnosis(
            code="D204",
            message="a disk or your quota was full",
            evidence=(line, *_full_areas(symptoms)),
            hint="remove old runs (windlass rm), and see the site's quota command; caches go to scratch",
        )


def folder_not_seen(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The job's folder, or that of its output file, is not there on the compute node.

    It was submitted from a folder that only the login node sees, or the folder named in --output was never made: Slurm
    then ends the job at once (exit code 0:53) and leaves no log anywhere.
    """
    line = symptoms.stuck(_CHDIR)
    is_silent = symptoms.job is not None and symptoms.job.signal == _NO_OUTPUT_FILE
    if line is None and not (is_silent and symptoms.record.state is RunState.FAILED):
        return
    output = symptoms.job.output if symptoms.job else None
    folder = output.rpartition("/")[0] if output else None
    yield Diagnosis(
        code="D501",
        message="the node could not open the job's output file or folder"
        if line is None
        else "the node does not see the folder the job was submitted from",
        evidence=(line,) if line else tuple(part for part in ("Slurm's exit code: 0:53", output) if part),
        hint=f"mkdir -p {folder}   # before sbatch" if folder and is_silent else "submit from a folder all nodes see",
    )


def checkpoint_cut(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """A checkpoint (or another file) was only half written: the job was killed, or the disk full, while it was saved.

    Take the one before it. Save under another name, fsync, then os.replace, and keep the last few.
    """
    if line := symptoms.fatal(_CUT_FILE):
        yield Diagnosis(
            code="D502",
            message="a checkpoint or file it reads was only half written",
            evidence=(line,),
            hint=f"remove the newest checkpoint, then {symptoms.again}",
        )


def no_locks(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The file system does not lock files, and a cache (often Hugging Face's) wants to.

    Let one process download, put the cache onto a file system that locks, or stay offline.
    """
    if line := symptoms.fatal(_LOCKS):
        yield Diagnosis(
            code="D503",
            message="the file system does not lock files, and the program wants to",
            evidence=(line,),
            hint="put HF_HOME (or the cache named above) onto another file system, or stay offline",
            patch=(set_to("run.env.HF_HUB_OFFLINE", "1"), set_to("run.env.HF_DATASETS_OFFLINE", "1")),
        )


def sqlite_shared(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """Several processes used one SQLite file on a shared file system, which SQLite cannot do safely.

    Optuna has a JournalStorage for this; or let one process alone write.
    """
    if line := symptoms.fatal(_SQLITE):
        yield Diagnosis(
            code="D504",
            message="a SQLite file on a shared file system was locked or damaged",
            evidence=(line,),
            hint="one writer only, or Optuna's JournalStorage; a study that is damaged comes from its backup",
        )


def disk_failed(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The shared file system failed for a moment: nothing is wrong with the training."""
    if line := symptoms.fatal(_DISK):
        yield Diagnosis(
            code="D505",
            message="the site's file system failed for a moment",
            evidence=(line,),
            hint=f"{symptoms.again}; if it happens again: {symptoms.ask_for_help}",
        )


def read_only(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The program wrote to a place that is read-only on compute nodes: home at some sites, a container's inside."""
    if line := symptoms.fatal(_READ_ONLY):
        found = _READ_ONLY.search(line)
        path = f" {found['path']}" if found and found["path"] else " to a folder"
        yield Diagnosis(
            code="D506",
            message=f"the program wrote{path}, which is read-only there",
            evidence=(line,),
            hint="write into the run's own folder, or to scratch; caches: HF_HOME, TORCH_HOME, MPLCONFIGDIR",
        )


def too_many_open_files(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The program had more files open than it may: data-loading workers share tensors by open files.

    torch.multiprocessing.set_sharing_strategy("file_system") needs none of them.
    """
    if line := symptoms.fatal(_OPEN_FILES):
        yield Diagnosis(
            code="D507",
            message="the program had too many files open",
            evidence=(line,),
            hint='torch.multiprocessing.set_sharing_strategy("file_system"), or ulimit -n in run.command',
        )


def _full_areas(symptoms: Symptoms) -> Iterator[str]:
    for one in symptoms.facts.quotas or ():
        for used, limit, unit in (
            (one.used_bytes, one.limit_bytes, "bytes"),
            (one.used_files, one.limit_files, "files"),
        ):
            if used is not None and limit and used >= 0.95 * limit:
                yield f"{one.area} ({one.path}): {used:,} of {limit:,} {unit}"


def run_folder_gone(symptoms: Symptoms) -> Iterator[Diagnosis]:
    """The run folder at the site was removed or moved, by somebody or by a purge of old files.

    With it went the logs, what the agent wrote down and what the training saved there. A job that still runs goes on
    computing, and what it saves into that folder reaches nobody.
    """
    record = symptoms.record
    if not symptoms.is_folder_gone or record.state is RunState.LOST:  # D102 says it of that one
        return
    is_running = record.state is RunState.RUNNING
    lost = (
        "what it prints and saves there is kept nowhere" if is_running else "its logs and what it saved there are lost"
    )
    yield Diagnosis(
        code="D508",
        message=f"its run folder is gone: {record.folder} is not there any more; {lost}",
        hint=f"windlass cancel {record.run_id}, then windlass run" if is_running else "windlass run begins anew",
    )
