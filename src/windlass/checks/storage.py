"""Folders, space and purge."""

from collections.abc import Iterator

from windlass.core.case import Case
from windlass.core.finding import Finding, Severity

_RESERVE_MB = 100


def run_folder_under_home(case: Case) -> Iterator[Finding]:
    """At this site jobs cannot use the home folder (not mounted or not writable on the nodes).

    The job would end at once without a log.
    """
    home = case.facts.home
    if case.site.rules.jobs_from_home or home is None:
        return
    if case.plan.folder == home or case.plan.folder.startswith(f"{home.rstrip('/')}/"):
        yield Finding(
            code="C401",
            severity=Severity.ERROR,
            message=f"jobs at {case.site.name} cannot use the home folder, and the run folder is {case.plan.folder}",
            hint="set `root` in the site file to a folder on scratch or work",
        )


def too_little_space(case: Case) -> Iterator[Finding]:
    """There is hardly any space left where the run folder lies; checkpoints need room too."""
    free, needed = case.facts.free_mb, case.snapshot_mb or 0.0
    if free is not None and free < needed + _RESERVE_MB:
        yield Finding(
            code="C402",
            severity=Severity.ERROR,
            message=f"{free} MB are free where {case.plan.folder} lies; {needed:.0f} MB are to be sent",
            hint="windlass rm old runs, or set another `root` in the site file",
        )


def checkpoints_on_purged_area(case: Case) -> Iterator[Finding]:
    """The run folder lies on an area that is cleaned by age. Fetch results before that."""
    root = f"{case.site.root}/"
    area = next(
        (one for one in case.site.storage if one.purge_days and root.startswith(f"{one.path.rstrip('/')}/")), None
    )
    if area is not None and area.purge_days is not None and case.plan.total_time.days >= area.purge_days:
        yield Finding(
            code="C403",
            severity=Severity.WARNING,
            message=f"{area.name} removes files after {area.purge_days} days; "
            f"the run may take {case.plan.total_time.days}",
            hint="choose a `root` that is not purged, or fetch in between",
        )
