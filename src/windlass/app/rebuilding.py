"""A run folder's own papers, read back into a record: how two laptops come to agree."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from windlass.core.notes import read_notes
from windlass.core.record import RunRecord, RunState, Submission
from windlass.schedulers.slurm.job_ids import read_base_id
from windlass_job import wire


def read_listed_run(listed: Mapping[str, Any], site_name: str) -> RunRecord | None:
    """None for a folder whose papers are missing or damaged: it is left alone."""
    about = listed.get("run")
    if not isinstance(about, dict):
        return None
    try:
        record = msgspec.convert(about.get("record"), RunRecord)
    except msgspec.ValidationError:
        return None
    submissions = tuple(_read_submission(record, one) for one in listed.get("submissions") or ())
    submissions = submissions or record.submissions
    last = submissions[-1]
    state = RunState.SUBMITTING if last.job_id is None else RunState.WAITING
    links = max(record.links, last.first_link - 1 + last.links)
    notes = read_notes(listed.get("notes"))
    return replace(record, site=site_name, submissions=submissions, state=state, links=links, notes=notes)


def _read_submission(record: RunRecord, listed: Mapping[str, Any]) -> Submission:
    number = int(listed.get("number") or 1)
    receipt = listed.get("receipt") if isinstance(listed.get("receipt"), dict) else {}
    intent = listed.get("intent") if isinstance(listed.get("intent"), dict) else {}
    about = (intent or {}).get("about") or {}
    known = next((one for one in record.submissions if one.number == number), None)
    token = wire.TOKEN.format(run_id=record.run_id, number=number)
    out = str((receipt or {}).get("job_id") or (receipt or {}).get("out") or "")
    return Submission(
        number=number,
        token=token,
        job_id=read_base_id(out),
        first_link=int(about.get("first_link") or (known.first_link if known else 1)),
        links=int(about.get("links") or (known.links if known else 1)),
        after=int(after) if (after := about.get("after")) is not None else None,
        sent=_read_moment((intent or {}).get("time")) or (known.sent if known else None),
    )


def _read_moment(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
