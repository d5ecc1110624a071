"""Folders that jobs can use, and space for them."""

import re
from collections.abc import Iterator

from windlass.core.case import Case
from windlass.core.finding import Finding, Severity
from windlass.core.seen.areas import find_area, is_in_home, list_paths

_RESERVE_MB = 100
_RESERVE_FILES = 100  # logs, gauges, events and a few checkpoints
_REDIRECTION = re.compile(r"(?:\d*>>?|&>>?|\btee(?: -a)?)\s*(?P<file>[\w./-]+)")


def run_folder_under_home(case: Case) -> Iterator[Finding]:
    """At this site jobs cannot use the home folder (not mounted or not writable on the nodes).

    The job would end at once without a log.
    """
    if case.site.rules.jobs_from_home or not is_in_home(case.plan.folder, case.facts):
        return
    yield Finding(
        code="C401",
        severity=Severity.ERROR,
        message=f"jobs at {case.site.name} cannot use the home folder, and the run folder is {case.plan.folder}",
        hint="set `root` in the site file to a folder on scratch or work",
        fact=f"rules.jobs_from_home of {case.site.name}",
    )


def too_little_space(case: Case) -> Iterator[Finding]:
    """There is hardly any space left where the run folder lies; checkpoints need room too."""
    free, needed = case.facts.free_mb, case.snapshot_mb or 0.0
    if free is not None and free < needed + _RESERVE_MB:
        yield Finding(
            code="C402",
            severity=Severity.ERROR,
            message=f"{free} MB are free where {case.plan.folder} lies, and {needed + _RESERVE_MB:.0f} MB are needed: "
            f"{needed:.0f} MB to send, the rest for logs and checkpoints",
            hint="windlass rm old runs, or set another `root` in the site file",
            fact=f"df {case.facts.root or case.site.root}",
        )


def checkpoints_on_purged_area(case: Case) -> Iterator[Finding]:
    """The run folder lies on an area that is cleaned by age. Fetch results before that."""
    area = find_area(case.plan.folder, case.site, case.facts) or find_area(case.site.root, case.site, case.facts)
    if area is not None and area.purge_days is not None and case.plan.total_time.days >= area.purge_days:
        yield Finding(
            code="C403",
            severity=Severity.WARNING,
            message=f"{area.name} removes files after {area.purge_days} days; "
            f"the run may take {case.plan.total_time.days}",
            hint="choose a `root` that is not purged, or fetch in between",
            fact=f"storage.{area.name}.purge_days of {case.site.name}",
        )


def home_is_used_in_the_job(case: Case) -> Iterator[Finding]:
    """Something the job needs lies in the home folder, where jobs at this site should neither lie nor write.

    Checkpoints cannot be written there: an error. An environment or data may be readable there, or not: a warning.
    """
    if case.site.rules.jobs_from_home:
        return
    for key, text, _ in _list_places(case):
        path = next((one for one in list_paths(text) if is_in_home(one, case.facts)), None)
        area = find_area(path, case.site, case.facts) if path is not None else None
        if path is None or (area is not None and not area.in_jobs):
            continue  # nothing, or told as an area that jobs do not see
        is_written = key == "checkpoint.folder"
        yield Finding(
            code="C404",
            severity=Severity.ERROR if is_written else Severity.WARNING,
            message=f"{key} uses {path}, and jobs at {case.site.name} "
            f"{'cannot write to' if is_written else 'should not use'} the home folder",
            hint=f"move it below {case.facts.root or case.site.root}, and change {key}",
            fact=f"rules.jobs_from_home of {case.site.name}",
        )


def area_is_not_in_jobs(case: Case) -> Iterator[Finding]:
    """Some areas (tape, archives) exist on login nodes only. Copy what jobs need to scratch first."""
    places = [*_list_places(case), ("the run folder", case.plan.folder, True)]
    for key, text, certain in places:
        for path in list_paths(text):
            area = find_area(path, case.site, case.facts)
            if area is not None and not area.in_jobs:
                yield Finding(
                    code="C405",
                    severity=Severity.ERROR if certain else Severity.WARNING,
                    message=f"{key} uses {path}, and compute nodes do not see {area.name}",
                    hint="set `root` in the site file to a folder on scratch or work"
                    if path == case.plan.folder
                    else f"copy it below {case.facts.root or case.site.root} first, and change {key}",
                    fact=f"storage.{area.name}.in_jobs of {case.site.name}",
                )
                break


def output_folder_is_missing(case: Case) -> Iterator[Finding]:
    """The command writes into a folder that does not go along, and nothing makes it: the shell would refuse.

    Empty folders are not sent. What the command prints is kept in the run's logs anyhow.
    """
    known, command = case.code.paths, case.spec.command
    if known is None or "mkdir" in command:
        return
    folders = {path.rpartition("/")[0] for path in known}
    for match in _REDIRECTION.finditer(command):
        folder = match["file"].removeprefix("./").rpartition("/")[0]
        inside = f"{case.plan.workdir}/{folder}" if case.plan.workdir not in ("", ".") else folder
        if not folder or folder.startswith(("/", "..")) or any(f"{one}/".startswith(f"{inside}/") for one in folders):
            continue
        yield Finding(
            code="C406",
            severity=Severity.ERROR,
            message=f"the command writes to {match['file']}, and the folder {folder} does not go along",
            hint=f"mkdir -p {folder} && {command.strip()[:200]}",
            fact="run.command and the files that are sent",
        )
        return


def too_few_files_left(case: Case) -> Iterator[Finding]:
    """The file system has hardly any files (inodes) left where the run folder lies."""
    free, needed = case.facts.free_files, case.snapshot_files or 0
    if free is not None and free < needed + _RESERVE_FILES:
        yield Finding(
            code="C409",
            severity=Severity.ERROR,
            message=f"{free} files can be made where {case.plan.folder} lies; {needed} are to be sent",
            hint="windlass rm old runs, or set another `root` in the site file",
            fact=f"df -i {case.facts.root or case.site.root}",
        )


def _list_places(case: Case) -> Iterator[tuple[str, str, bool]]:
    """Keys of the run file with paths in them; whether jobs use them for certain."""
    spec = case.spec
    if spec.checkpoint.folder:
        yield "checkpoint.folder", spec.checkpoint.folder, True
    for kind, text in spec.environment.entered.items():
        yield f"environment.{kind}", text, True
    for name, data in spec.data.items():
        known = case.facts.data_set(data.set_name)
        if known is not None or data.set_name is None:
            yield f"data.{name}", known.path if known else data.source, True
    for name, value in spec.env.items():
        yield f"run.env.{name}", value, False
    yield "run.command", spec.command, False
