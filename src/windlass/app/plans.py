"""What a run was planned as: plan.json of its folder."""

from windlass.app.session import Session
from windlass.core.codec import from_json
from windlass.core.plan import Plan
from windlass.core.record import RunRecord
from windlass.edges.host import Request
from windlass.errors import RunFolderGone
from windlass_job import wire


def load_plan(session: Session, record: RunRecord) -> Plan:
    path = f"{record.folder}/{wire.PLAN_JSON}"
    request = Request(operation="read", arguments={"path": path}, idempotent=True)
    [reply] = session.host(session.site(record.site)).ask([request])
    if not reply.ok:
        raise RunFolderGone(f"{path} is not there: what run {record.run_id} was planned as is not known any more")
    return from_json(reply.payload, Plan, error=RunFolderGone, what=path)
