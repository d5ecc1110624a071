"""What a rehearsed job finds of the user's data: a sample where it will look, and stand-ins for files of the site."""

import re
from collections.abc import Mapping
from pathlib import Path

from windlass.app.rehearsal_stage import Stage
from windlass.core.job import make_code_folder
from windlass.core.plan import Plan
from windlass.core.rehearsal.evidence import Sample
from windlass.core.rehearsal.stage import fill_in
from windlass.core.run import SET, Data, RunSpec
from windlass.edges.data_sample import copy_sample
from windlass.edges.folders import find_home
from windlass.pocket.world import Seen

_SOURCED = re.compile(r"(?:^|[;&|]\s*|\s)(?:source|\.)\s+([\"']?)(\S+?)\1(?:\s|;|$)")


def lay_samples(
    stage: Stage, spec: RunSpec, plan: Plan, sets: Path, environ: Mapping[str, str]
) -> tuple[tuple[Sample, ...], tuple[Seen, ...]]:
    """Data outside of the project: what was laid, and what the world must show besides. sets: those of this laptop."""
    paths = {one.name: one.path for one in plan.data}
    samples: list[Sample] = []
    shown: list[Seen] = []
    for name, data in spec.data.items():
        if _is_in_project(data.source):
            continue
        source = _find_here(data, sets, environ)
        place = fill_in(paths.get(name, data.source), stage.variables)
        if source is None:
            samples.append(Sample(name=name, source=data.source, why_not=_tell_absence(data.source)))
            continue
        target = stage.find_outside(place) if place.startswith("/") else None
        if not stage.is_closed:
            samples.append(Sample(name=name, source=data.source, place=str(source), is_whole=True))
            continue
        if target is None:
            target = stage.folder / "samples" / name
            shown.append(Seen(source=str(target), target=place))
        samples.append(_lay(name, data.source, source, target, place))
    return tuple(samples), tuple(shown)


def lay_project_samples(stage: Stage, spec: RunSpec, plan: Plan, project: Path) -> tuple[Sample, ...]:
    """Data inside the project that does not travel with the code; the run folder must be there."""
    samples = []
    for name, data in spec.data.items():
        if not _is_in_project(data.source):
            continue
        place = f"{make_code_folder(plan.folder, '.')}/{data.source.removeprefix('./')}"
        target, source = stage.find_outside(place), project / data.source
        if target is None or not source.exists():
            samples.append(Sample(name=name, source=data.source, why_not="it is not in the project"))
        elif target.exists():
            samples.append(Sample(name=name, source=data.source, place=place, is_whole=True))
        else:
            samples.append(_lay(name, data.source, source, target, place))
    return tuple(samples)


def lay_stand_ins(stage: Stage, plan: Plan) -> tuple[str, ...]:
    """An empty file for each that the environment sources and only the site has: else nothing more would be seen."""
    laid = []
    for line in plan.activate:
        for match in _SOURCED.finditer(line):
            path = fill_in(match[2], stage.variables)
            target = stage.find_outside(path) if path.startswith("/") else None
            if target is not None and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text("# a stand-in: the real one is at the site\n", encoding="utf-8")
                laid.append(match[2])
    return tuple(laid)


def _lay(name: str, written: str, source: Path, target: Path, place: str) -> Sample:
    copied = copy_sample(source, target)
    return Sample(
        name=name, source=written, place=place, files=copied.files, bytes=copied.bytes, is_whole=copied.is_whole
    )


def _is_in_project(source: str) -> bool:
    return not source.startswith(("/", "~", "$", SET)) and "://" not in source


def _find_here(data: Data, sets: Path, environ: Mapping[str, str]) -> Path | None:
    if data.set_name is not None:
        return sets / data.set_name if (sets / data.set_name).exists() else None
    source = data.source
    if "://" in source:
        return None
    home = find_home(environ)
    path = Path(fill_in(source, {**environ, **({"HOME": str(home)} if home else {})}))
    return path if path.is_absolute() and path.exists() else None


def _tell_absence(source: str) -> str:
    if "://" in source:
        return "it is an address"
    return "it is not on this laptop, and the job finds nothing there"
