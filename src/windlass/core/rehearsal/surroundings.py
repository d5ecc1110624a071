"""Judging what a rehearsed training did to its surroundings: queue, network, folders, memory, GPUs."""

from collections.abc import Iterator

from windlass.core.finding import Finding, Severity
from windlass.core.rehearsal import words
from windlass.core.rehearsal.evidence import Evidence, LinkSeen
from windlass.core.rehearsal.links import find_want_of_a_gpu
from windlass.core.rehearsal.stage import HOME, Folder, find_folder
from windlass.core.seen.areas import is_under
from windlass.core.units import format_bytes
from windlass_job import wire

_MOST_NAMES = 4
_MUCH = 0.9
_WANTED_THE_INTERNET = "D203"
_HARDLY_ANY_MB = 5.0  # it was over before anybody looked


def slurm_would_refuse(evidence: Evidence) -> Iterator[Finding]:
    """The pretended controller, set up with the site's partitions, limits, accounts and QOS, refused the script.

    The rehearsal went on without these rules, so that the rest could be seen.
    """
    if evidence.refusal is not None:
        yield Finding(
            code="R101",
            severity=Severity.ERROR,
            message=f"{evidence.site.name} would refuse the job",
            fact=f"partitions, accounts and QOS of {evidence.site.name}",
            refusal=evidence.refusal,
        )


def asks_for_the_internet(evidence: Evidence) -> Iterator[Finding]:
    """The training looked up hosts or connected to them, and compute nodes of this site reach none.

    Bring what it wants to the site first, on a login node, and point the training to it.
    """
    for link in evidence.links:
        complaint = words.find_network_complaint(link.text) or _find_diagnosed(evidence, link)
        if not link.hosts and complaint is None:
            continue
        fails = link.outcome == wire.FAILED
        known = evidence.site.rules.compute_internet is False
        nodes = "have no internet" if known else "may have no internet: the site file does not say"
        wanted = f"asked for {_list(link.hosts)}" if link.hosts else "tried to connect somewhere"
        yield Finding(
            code="R103",
            severity=Severity.ERROR if fails and complaint is not None else Severity.WARNING,
            message=f"link {link.number} {wanted}, and compute nodes of {evidence.site.name} {nodes}"
            + ("" if fails else "; it went on without"),
            hint="fetch it on the login node and read it from disk; HF_HUB_OFFLINE=1, WANDB_MODE=offline",
            fact=complaint or "host names that were looked up",
        )
        return


def writes_where_it_may_not(evidence: Evidence) -> Iterator[Finding]:
    """A file could not be written: home is not writable or not there in jobs of this site, or the path is no place
    for users at all.

    Caches move with variables: HF_HOME, TORCH_HOME, XDG_CACHE_HOME, MPLCONFIGDIR, TRITON_CACHE_DIR under [run] env.
    """
    home = next((one for one in evidence.folders if one.name == HOME), None)
    for link in evidence.links:
        refused = (*words.list_not_written(link.text), *_list_missed_in_home(link, home))
        if not refused:
            continue
        path, said = refused[0]
        folder = find_folder(path, evidence.folders)
        in_home = folder is not None and folder == home
        denied = "cannot write to home" if home and home.in_jobs else "have no home"
        where = f"jobs of {evidence.site.name} {denied}" if in_home else "no job may write there"
        more = f" and {len(refused) - 1} more" if len(refused) > 1 else ""
        yield Finding(
            code="R104",
            severity=Severity.ERROR if link.outcome == wire.FAILED else Severity.WARNING,
            message=f"link {link.number} could not write {path}{more}: {where}",
            hint='[run.env] XDG_CACHE_HOME = "$SLURM_TMPDIR/cache", or write into the working folder'
            if in_home
            else None,
            fact=said,
        )
        return


def writes_outside_the_run_folder(evidence: Evidence) -> Iterator[Finding]:
    """Files that a run leaves elsewhere are not brought home by `windlass fetch` and not removed by `windlass rm`."""
    for one in evidence.written:
        if one.files and not one.is_run_folder:
            yield Finding(
                code="R109",
                severity=Severity.ADVICE,
                message=f"{_count(one.files)} ({format_bytes(one.bytes)}) written to {one.folder.name}, outside the "
                f"run folder: {_list(one.names)}",
                hint='[run.env] XDG_CACHE_HOME = "$SLURM_TMPDIR/cache", or write into the working folder'
                if one.folder.name == HOME
                else "write into the working folder",
                fact=f"what lies in {one.folder.path} afterwards",
            )


def writes_more_than_the_quota(evidence: Evidence) -> Iterator[Finding]:
    """At the pace of the rehearsal the whole chain would fill the quota of files or bytes."""
    scale = max(1.0, evidence.plan.links / max(1, len(evidence.links)))
    for one in evidence.written:
        files, size = one.files * scale, one.bytes * scale
        over = (
            f"{_count(round(files))}; {one.folder.name} holds {one.folder.quota_files}"
            if one.folder.quota_files and files > one.folder.quota_files
            else f"{format_bytes(round(size))}; {one.folder.name} holds {one.folder.quota_gb:.0f} GB"
            if one.folder.quota_gb and size > one.folder.quota_gb * 1e9
            else None
        )
        if over:
            yield Finding(
                code="R110",
                severity=Severity.WARNING,
                message=f"{evidence.plan.links} links as these would write {over}",
                hint="keep the last two checkpoints only, and pack many small files into one",
                fact=f"storage.{one.folder.name} of {evidence.site.name}",
            )


def memory_against_the_plan(evidence: Evidence) -> Iterator[Finding]:
    """The most memory that all processes of a link had together, against what the plan asks for.

    A rehearsal has a sample of the data, no GPU perhaps, and lasts seconds: the real run may need more.
    """
    used = max((one.memory_mb for one in evidence.links if one.memory_mb), default=None)
    asked = evidence.plan.memory_mb
    if used is None or used < _HARDLY_ANY_MB or not asked:
        return
    whole = asked * evidence.plan.nodes
    is_tight = used > _MUCH * whole
    yield Finding(
        code="R111",
        severity=Severity.WARNING if is_tight else Severity.ADVICE,
        message=f"{used:.0f} MB of the {whole} MB of memory were used, with a sample of the data",
        hint=f'[resources] memory = "{round(2 * used / evidence.plan.nodes)}M"' if is_tight else None,
        fact="its processes, once a second",
    )


def no_gpu_here(evidence: Evidence) -> Iterator[Finding]:
    """The plan asks for GPUs that this laptop has not, so what needs one was not rehearsed."""
    plan = evidence.plan
    if evidence.gpus_here >= plan.gpus_per_node:
        return
    stuck = find_want_of_a_gpu(evidence)
    wanted = "1 GPU" if plan.gpus_per_node == 1 else f"{plan.gpus_per_node} GPUs"
    told = "the training cannot do without: nothing more was seen" if stuck else "the training ran on the CPU"
    yield Finding(
        code="R112",
        severity=Severity.WARNING if stuck else Severity.ADVICE,
        message=f"{wanted} a node in the plan, {evidence.gpus_here or 'none'} here: {told}",
        hint='device = "cuda" if torch.cuda.is_available() else "cpu"' if stuck else None,
        fact=stuck or "the devices of this laptop",
    )


def could_not_be_checked(evidence: Evidence) -> Iterator[Finding]:
    """What only the site has: its modules, its software, data that lies there. It was replaced or left out."""
    if evidence.modules:
        yield _not_checked(f"module {_list(evidence.modules)}", "the laptop's own software was used")
    if evidence.environment is not None:
        yield _not_checked(f"environment {evidence.environment}", "the laptop's own software was used")
    for path in evidence.stand_ins:
        yield _not_checked(path, "an empty file took its place")
    for one in evidence.samples:
        if one.place is None:
            yield _not_checked(f"data.{one.name} ({one.source})", one.why_not)
    if not evidence.is_closed:
        yield _not_checked(
            "folders and network", "this system has no namespaces: only variables, proxies and Python were set"
        )


def looks_for_files_of_the_laptop(evidence: Evidence) -> Iterator[Finding]:
    """A path that exists on this laptop only: at the site there is nothing.

    Name data by variables of the site, or relative to the project.
    """
    for path, here in evidence.laptop_only.items():
        yield Finding(
            code="R115",
            severity=Severity.ERROR,
            message=f"{path} is on this laptop and not at {evidence.site.name}",
            hint=f"bring it to {evidence.site.root.rpartition('/')[0] or '$HOME'} there, and name that path",
            fact=f"looked for in a job; here it is {here}",
        )


def _list_missed_in_home(link: LinkSeen, home: Folder | None) -> tuple[tuple[str, str], ...]:
    """Where jobs have no home at all, whatever they look for in it is missing."""
    if home is None or home.in_jobs:
        return ()
    missing = (path for path in words.list_missing(link.text) if is_under(path, home.path))
    return tuple((path, "No such file or directory") for path in missing)


def _find_diagnosed(evidence: Evidence, link: LinkSeen) -> str | None:
    """Behind a closed proxy programs say what they say of any closed door: the diagnosis knows the context."""
    found = next((one for one in evidence.diagnoses if one.code == _WANTED_THE_INTERNET), None)
    return found.evidence[0] if found and found.evidence and link.is_broken else None


def _not_checked(what: str, instead: str) -> Finding:
    return Finding(code="R113", severity=Severity.ADVICE, message=f"not checked: {what}; {instead}")


def _count(files: int) -> str:
    return f"{files} file{'' if files == 1 else 's'}"


def _list(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
