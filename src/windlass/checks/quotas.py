"""Quotas in bytes and in files, with what is about to be sent."""

from collections.abc import Iterator

from windlass.core.case import Case
from windlass.core.facts import SeenQuota
from windlass.core.finding import Finding, Severity
from windlass.core.seen.areas import find_area, find_quota
from windlass.core.site import Area

_NEARLY_FULL = 0.9
_GB = 1e9


def space_is_over_the_quota(case: Case) -> Iterator[Finding]:
    """What is used and what is sent come near the quota in bytes where the run folder lies, or over it.

    An environment that must be built first lies there too; what it needs is a guess, and alone it refuses nothing.
    """
    area, seen = _find_here(case)
    limit = _find_limit(
        seen.limit_bytes if seen else None, int(area.quota_gb * _GB) if area and area.quota_gb else None
    )
    if seen is None or seen.used_bytes is None or limit is None:
        return
    sent = int((case.snapshot_mb or 0) * 1e6)
    built = case.environment.needs_bytes if case.environment else 0
    total = seen.used_bytes + sent + built
    if total > limit or (total >= limit * _NEARLY_FULL and not seen.is_shared):
        yield Finding(
            code="C407",
            severity=Severity.ERROR if total - built > limit else Severity.WARNING,
            message=f"{seen.area} holds {_gigabytes(seen.used_bytes)} of {_gigabytes(limit)}; "
            f"{_gigabytes(sent)} are to be sent{_tell_build(_gigabytes(built) if built else None)}",
            hint="windlass rm old runs, or set another `root` in the site file",
            fact=seen.source or f"storage.{seen.area}.quota_gb of {case.site.name}",
        )


def files_are_over_the_quota(case: Case) -> Iterator[Finding]:
    """What is there and what is sent come near the quota in files where the run folder lies, or over it.

    Data in millions of small files eats it while space is free: pack them. So does an environment that must be built
    first: one with PyTorch has some 20,000; a container is one file.
    """
    area, seen = _find_here(case)
    limit = _find_limit(seen.limit_files if seen else None, area.quota_files if area else None)
    if seen is None or seen.used_files is None or limit is None:
        return
    sent = case.snapshot_files or 0
    built = case.environment.needs_files if case.environment else 0
    total = seen.used_files + sent + built
    if total > limit or (total >= limit * _NEARLY_FULL and not seen.is_shared):
        yield Finding(
            code="C408",
            severity=Severity.ERROR if total - built > limit else Severity.WARNING,
            message=f"{seen.area} holds {seen.used_files} of {limit} files; {sent} are to be sent"
            f"{_tell_build(f'{built} files' if built else None)}",
            hint="pack what you keep there: tar cf data.tar data && rm -r data",
            fact=seen.source or f"storage.{seen.area}.quota_files of {case.site.name}",
        )


def full_area_blocks_jobs(case: Case) -> Iterator[Finding]:
    """At this site no job is taken from those who are over the quota of one area, wherever the job itself lies."""
    here = _find_here(case)[1]
    for area in case.site.storage:
        seen = find_quota(area, area.path, case.facts) if area.blocks_jobs else None
        if seen is None or seen is here:
            continue
        files = _find_limit(seen.limit_files, area.quota_files)
        size = _find_limit(seen.limit_bytes, int(area.quota_gb * _GB) if area.quota_gb else None)
        if files is not None and seen.used_files is not None and seen.used_files > files:
            told = f"{seen.used_files} of {files} files"
        elif size is not None and seen.used_bytes is not None and seen.used_bytes > size:
            told = f"{_gigabytes(seen.used_bytes)} of {_gigabytes(size)}"
        else:
            continue
        yield Finding(
            code="C415",
            severity=Severity.ERROR,
            message=f"{area.name} holds {told}, and {case.site.name} takes no job from who is over",
            hint="remove or pack files there first",
            fact=seen.source or f"storage.{area.name}.blocks_jobs of {case.site.name}",
        )


def _tell_build(amount: str | None) -> str:
    return f", and the environment that is built first needs about {amount}" if amount else ""


def _find_here(case: Case) -> tuple[Area | None, SeenQuota | None]:
    """Where the run folder lies."""
    area = find_area(case.plan.folder, case.site, case.facts) or find_area(case.site.root, case.site, case.facts)
    return area, find_quota(area, case.plan.folder, case.facts)


def _find_limit(seen: int | None, written: int | None) -> int | None:
    """0 is no limit, as quota commands write it."""
    return seen or written or None


def _gigabytes(size: int) -> str:
    return f"{size / _GB:.1f} GB"
