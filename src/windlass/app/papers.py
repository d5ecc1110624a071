"""What lies in a new run folder beside the code: what was planned, the scripts, our code for the job."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field

from windlass import __version__
from windlass.core.chain import list_submissions
from windlass.core.codec import to_json
from windlass.core.farm.kinds import TaskKind
from windlass.core.job import make_script
from windlass.core.plan import Plan
from windlass.core.record import RunRecord
from windlass.core.snapshot import Manifest
from windlass.edges.host import Json
from windlass.edges.job_zip import load_task_sh, make_job_zip
from windlass_job import wire

Paper = tuple[str, bytes, int]  # path, content, mode


@dataclass(frozen=True, kw_only=True)
class Laid:
    """What else is made in the run folder before its job is submitted: arguments of `prepare_run`, and their blobs."""

    arguments: Json = field(default_factory=dict)
    blobs: tuple[Json, ...] = ()
    payload: bytes = b""
    farm: str | None = None  # whose pilot this run is
    task_kind: TaskKind | None = None


NOTHING_MORE = Laid()


def make_papers(
    record: RunRecord, plan: Plan, manifest: Manifest, about: Mapping[str, object] | None = None
) -> list[Paper]:
    told = {
        "schema": wire.PROTOCOL,
        "windlass": __version__,
        "laptop": platform.node(),
        "record": record,
        **(about or {}),
    }
    return [
        (wire.RUN_JSON, to_json(told), 0o644),
        (wire.PLAN_JSON, to_json(plan), 0o644),
        *((wire.SCRIPT.format(number=one.number), make_script(one).encode(), 0o755) for one in list_submissions(plan)),
        (wire.JOB_ZIP, make_job_zip(), 0o755),
        (wire.TASK_SH, load_task_sh(), 0o755),
        (wire.MANIFEST, to_json(manifest), 0o644),
    ]
