"""Values as people read them: records, plans and findings."""

from collections.abc import Sequence

from windlass.cli.output import make_printable
from windlass.core.cost import Cost
from windlass.core.facts import Balance
from windlass.core.finding import Diagnosis, Finding
from windlass.core.plan import Plan, RunnerUp
from windlass.core.record import RunRecord
from windlass.core.site import ChainStyle, CostUnit
from windlass.core.units import format_human_duration

_CHAINS = {
    ChainStyle.ARRAY: "one after another",
    ChainStyle.DEPENDENCY: "each a job that waits for the one before it",
    ChainStyle.REQUEUE: "one job that is queued again for each",
}


def format_size(plan: Plan) -> str:
    nodes = f"{plan.nodes} node{'s' if plan.nodes > 1 else ''}"
    gpus = f" x {plan.gpus_per_node} {plan.gpu_spelled or 'GPU'}" if plan.gpus_per_node else ""
    memory = "all its memory" if plan.memory_mb == 0 else f"{plan.memory_mb} MB" if plan.memory_mb else ""
    cores = f"{plan.cpus_per_task} CPU{'s' if plan.cpus_per_task > 1 else ''}"
    cpus = cores if plan.tasks_per_node == 1 else f"{plan.tasks_per_node} tasks of {cores} a node"
    return ", ".join(part for part in (nodes + gpus, cpus, memory) if part)


def format_time(plan: Plan) -> str:
    one = format_human_duration(plan.link_time)
    return f"{plan.links} links of at most {one}, {_CHAINS[plan.chain]}" if plan.links > 1 else f"at most {one}"


def format_launcher(plan: Plan) -> str:
    """How the processes start, where it was named: what Windlass chose is told with its reason."""
    processes = f"{plan.processes_per_node} process{'es' if plan.processes_per_node > 1 else ''} a node"
    return "" if any(one.field == "launcher" for one in plan.reasons) else f"{plan.launcher}, as you say: {processes}"


def format_network_test(plan: Plan) -> str:
    if not plan.network_test:
        return "not tested before the training starts (run.network_test)" if plan.nodes > 1 else ""
    then = "; sick ones are left out" if plan.replace_nodes else ""
    return f"the nodes try it out before the training starts{then} (run.network_test)"


def format_place(plan: Plan) -> str:
    qos = f", QOS {plan.qos}" if plan.qos else ""
    reservation = f", reservation {plan.reservation}" if plan.reservation else ""
    partition, account = plan.partition or "the default", plan.account or "the default"
    return f"{plan.site}, partition {partition}, account {account}{qos}{reservation}"


def format_runner_up(second: RunnerUp) -> str:
    named = (f"partition {second.partition}" if second.partition else "", f"QOS {second.qos}" if second.qos else "")
    place = ", ".join(name for name in named if name) or "the default QOS"
    return f"{place}: {second.why_not}"


def format_cost(cost: Cost, balance: Balance | None = None) -> str:
    """Of one link and of all; against what is left, where that was told."""
    if cost.unit is CostUnit.NONE:
        words = "nothing is charged here"
    elif cost.unit is CostUnit.UNKNOWN:
        words = "cost unknown ([accounting] unit in the site file)"
    else:
        a_link = f" ({format_amount(cost.one_link)} a link)" if cost.whole != cost.one_link else ""
        words = f"at most {format_amount(cost.whole)} {cost.unit}{a_link}"
    left = format_balance(cost, balance) if balance else ""
    return f"{words}; {left}" if left else words


def format_balance(cost: Cost, balance: Balance) -> str:
    left = balance.left
    if left is None:
        return f"{balance.account} has used {format_amount(balance.used)} {balance.unit}" if balance.used else ""
    if left <= 0:
        return f"{balance.account} has nothing left of {format_amount(balance.limit or 0)} {balance.unit}"
    if balance.unit != cost.unit:
        return f"{balance.account} has {format_amount(left)} {balance.unit} left"
    return (
        f"{format_amount(100 * cost.whole / left, digits=2)} % of the {format_amount(left)} left to {balance.account}"
    )


def format_amount(number: float, *, digits: int = 4) -> str:
    """No more digits than matter, and never in the form 1.5e+04."""
    return f"{number:.0f}" if number >= 10**digits else f"{number:.{digits}g}"


def format_findings(findings: Sequence[Finding]) -> list[str]:
    lines = []
    for one in findings:
        lines.append(f"{one.severity:<8} {one.code}  {make_printable(one.message)}")
        lines += [f"{'':14}{line}" for line in _format_grounds(one)]
        if one.hint:
            lines.append(f"{'':14}try: {one.hint.replace(chr(10), chr(10) + ' ' * 19)}")
    return lines


def _format_grounds(finding: Finding) -> list[str]:
    """Where it is, what it rests on, and what Slurm would do."""
    lines = [f"at {make_printable(finding.where)}"] if finding.where else []
    if finding.fact:
        lines.append(f"seen in: {make_printable(finding.fact)}")
    if finding.refusal and finding.refusal.startswith("("):
        lines.append(f"Slurm would take it and never start it: {make_printable(finding.refusal)}")
    elif finding.refusal:
        lines.append(f"Slurm would say: {make_printable(finding.refusal)}")
    return lines


def format_diagnosis(diagnosis: Diagnosis) -> list[str]:
    lines = [f"{diagnosis.code}  {make_printable(diagnosis.message)}"]
    lines += [f"      | {make_printable(line)}" for line in diagnosis.evidence]
    if diagnosis.hint:
        lines.append(f"      try: {diagnosis.hint}")
    return lines


def format_end(record: RunRecord) -> str:
    """The last line of following a run."""
    took = f" after {record.ran_for}" if record.ran_for else ""
    reason = f": {record.reason}" if record.reason and record.reason != record.state.value else ""
    return make_printable(f"{record.run_id} {record.state.said_of_a_run}{took}{reason}")
