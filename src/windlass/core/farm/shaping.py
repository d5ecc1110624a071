"""A run file as a pilot takes it: its environment and place all, and of its size what tasks need."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from math import ceil

from windlass.core.chain import cut_into_links
from windlass.core.cost import count_charged
from windlass.core.farm.sizing import PilotSize
from windlass.core.farm.values import FarmNeeds
from windlass.core.job import make_code_folder
from windlass.core.launch import Launcher
from windlass.core.plan import Plan
from windlass.core.run import Checkpoint, Resources, RunSpec
from windlass.core.shell import quote
from windlass.core.site import Accounting
from windlass.core.size import Size
from windlass.core.spending.own import count_allowed_s
from windlass_job import wire

STOP_SIGNAL = "TERM"
_OF_THE_PLACE = (
    "gpu",
    "constraint",
    "reservation",
    "dependency",
    "exclude",
    "account",
    "partition",
    "qos",
    "link_time",
)


def shape_pilot(spec: RunSpec, size: PilotSize, needs: FarmNeeds) -> RunSpec:
    """A link that ends without the words that all is over was cut, and the next one goes on.

    What stands in its job script holds for all its tasks: so threads are counted by what one of them has.
    """
    kept = {name: getattr(spec.resources, name) for name in _OF_THE_PLACE}
    resources = Resources(
        **kept,
        nodes=size.nodes,
        gpus_per_node=size.gpus or None,
        processes_per_node=1,
        cpus=size.cpus,
        memory_mb=size.memory_mb,
        time=size.time,
    )
    return replace(
        spec,
        command=make_pilot_command(None),
        launcher="single" if size.nodes == 1 else "srun",
        resources=resources,
        env={"OMP_NUM_THREADS": str(needs.cpus), **spec.env},
        checkpoint=Checkpoint(
            signal=STOP_SIGNAL,
            notice=spec.checkpoint.notice or timedelta(seconds=60),
            max_links=spec.checkpoint.max_links,
            done_pattern=wire.FARM_OVER,
            restart=False,
            chain=spec.checkpoint.chain,
        ),
        network_test=False,
        bring_back=(),
        bring_back_every=None,
    )


def make_pilot_command(lead: tuple[str, str] | None) -> str:
    """lead: folder and working folder of the run whose farm it is; None: its own."""
    place = f'"${wire.ENV_RUN_DIR}"' if lead is None else quote(lead[0])
    enter = "" if lead is None else f"cd {quote(make_code_folder(*lead))} && "
    zipped = f'"${wire.ENV_RUN_DIR}"/{quote(wire.JOB_ZIP)}'
    return f"{enter}exec python3 -I {zipped} {wire.FARM_VERB} --farm {place}/{wire.FARM} --stop-signal {STOP_SIGNAL}"


def make_pilot_plan(lead: Plan, run_id: str, launchers: Mapping[str, Launcher]) -> Plan:
    """One more pilot of the same kind, from the beginning."""
    folder = f"{lead.folder.rsplit('/', 1)[0]}/{run_id}"
    plan = replace(
        lead,
        run_id=run_id,
        folder=folder,
        number=1,
        first_link=1,
        workdir=".",
        command=make_pilot_command((lead.folder, lead.workdir)),
        kept={},
        dependency=None,
        reasons=(),
    )
    launcher = launchers[plan.launcher]
    return replace(plan, argv=launcher.make_argv(plan), launch_env=dict(sorted(launcher.make_env(plan).items())))


def resize_plan(plan: Plan, size: PilotSize, accounting: Accounting) -> Plan:
    """A pilot of the same farm, in the same place, for another number of tasks at once and another time."""
    share = size.cpus / plan.cpus_per_task
    total = size.time or plan.total_time
    links = cut_into_links(total, plan.link_time if plan.links > 1 else plan.link_limit, plan.notice)
    taken = plan.size and _resize(plan.size, plan.nodes * size.gpus, 1.0 if plan.exclusive else share)
    dearer = _compare(taken, plan, accounting)
    one_link = plan.cost.one_link * (links.time / plan.link_time) * dearer
    return replace(
        plan,
        cpus_per_task=size.cpus,
        threads=size.cpus if plan.threads == plan.cpus_per_task else plan.threads,
        gpus_per_node=size.gpus,
        memory_mb=size.memory_mb or (plan.memory_mb and ceil(plan.memory_mb * share)),
        links=links.count,
        link_time=links.time,
        total_time=total,
        size=taken,
        cost=replace(plan.cost, one_link=one_link, whole=one_link * links.count),
        allowed_s=count_allowed_s(plan.limits, taken, accounting),
    )


def _resize(size: Size, gpus: int, share: float) -> Size:
    return replace(size, cores=ceil(size.cores * share), gpus=gpus, billing=size.billing * share)


def _compare(taken: Size | None, plan: Plan, accounting: Accounting) -> float:
    """How many times what the old one costs for an hour."""
    accounting = replace(accounting, unit=plan.cost.unit)
    before = count_charged(plan.size, accounting) if plan.size is not None else 0
    return count_charged(taken, accounting) / before if taken is not None and before else 1.0
