"""Values as people read them: records, plans and findings."""

from collections.abc import Sequence
from datetime import timedelta

from windlass.cli.output import make_printable
from windlass.core.cost import Cost
from windlass.core.finding import Diagnosis, Finding
from windlass.core.plan import Plan
from windlass.core.record import RunRecord
from windlass.core.site import CostUnit
from windlass.core.units import format_human_duration


def format_size(plan: Plan) -> str:
    nodes = f"{plan.nodes} node{'s' if plan.nodes > 1 else ''}"
    gpus = f" x {plan.gpus_per_node} {plan.gpu_spelled or 'GPU'}" if plan.gpus_per_node else ""
    memory = "all its memory" if plan.memory_mb == 0 else f"{plan.memory_mb} MB" if plan.memory_mb else ""
    cores = f"{plan.cpus_per_task} CPU{'s' if plan.cpus_per_task > 1 else ''}"
    cpus = cores if plan.tasks_per_node == 1 else f"{plan.tasks_per_node} tasks of {cores} a node"
    return ", ".join(part for part in (nodes + gpus, cpus, memory) if part)


def format_time(plan: Plan) -> str:
    one = format_human_duration(plan.link_time)
    return f"{plan.links} links of at most {one}, one after another" if plan.links > 1 else f"at most {one}"


def format_cost(cost: Cost) -> str:
    if cost.unit is CostUnit.NONE:
        return "nothing is charged here"
    if cost.unit is CostUnit.UNKNOWN:
        return "cost unknown ([accounting] unit in the site file)"
    return f"at most {cost.whole:.4g} {cost.unit}" + (
        f" ({cost.one_link:.4g} a link)" if cost.whole != cost.one_link else ""
    )


def format_findings(findings: Sequence[Finding]) -> list[str]:
    lines = []
    for one in findings:
        lines.append(f"{one.severity:<8} {one.code}  {one.message}")
        if one.hint:
            lines.append(f"{'':14}try: {one.hint.replace(chr(10), chr(10) + ' ' * 19)}")
    return lines


def format_diagnosis(diagnosis: Diagnosis) -> list[str]:
    lines = [f"{diagnosis.code}  {make_printable(diagnosis.message)}"]
    lines += [f"      | {make_printable(line)}" for line in diagnosis.evidence]
    if diagnosis.hint:
        lines.append(f"      try: {diagnosis.hint}")
    return lines


def format_end(record: RunRecord) -> str:
    """The last line of following a run."""
    took = ""
    if record.started and record.ended:
        took = f" after {format_human_duration(timedelta(seconds=max(0, round(record.ended - record.started))))}"
    reason = f": {record.reason}" if record.reason else ""
    return make_printable(f"{record.run_id} is {record.state}{took}{reason}")
