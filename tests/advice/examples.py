"""For every advice a run that gets it, and a near miss that does not."""

from dataclasses import replace
from datetime import timedelta

from tests.advice.runs import ASKED, BUSY, GB, NODE, RUNNING, WELL, Example, after, flat, gpu
from windlass.core.gauges.series import DataWaits
from windlass.core.plan import PlannedData, Reason
from windlass.core.run import Staging

MUCH_MEMORY = replace(ASKED, memory_mb=118 * GB)
LONG = replace(ASKED, link_time=timedelta(hours=24), total_time=timedelta(hours=24))
THREE_HOURS = replace(NODE, memory_mb=flat(12 * GB, seconds=10_800), cpu_cores=flat(9.0, seconds=10_800), gpus=BUSY)
MANY_CPUS = replace(ASKED, cpus_per_task=32)
WORKERS = replace(ASKED, command="python train.py --num-workers 1 --lr 0.1")
STARVED = replace(NODE, gpus=(gpu(7), gpu(7, uuid="GPU-b")), cpu_cores=flat(1.0), full_cores=flat(1))
TWO_NODES = replace(ASKED, nodes=2, gpus_per_node=0)
FIRST, SECOND = replace(NODE, gpus=()), replace(NODE, node="n2", gpus=(), cpu_cores=flat(0.02))
SHARED = replace(ASKED, data=(PlannedData(name="photos", source="set:photos", path="/d", stage=Staging.SHARED),))
WAITS = (DataWaits(link=1, rank=0, wait_share=flat(0.4)),)

EXAMPLES: dict[str, Example] = {
    "A101": Example(
        trips=after(replace(NODE, memory_mb=flat(7 * GB, peak=9 * GB)), plan=MUCH_MEMORY),
        passes=after(replace(NODE, memory_mb=flat(7 * GB, peak=48 * GB)), plan=MUCH_MEMORY),
        says="118 GB of memory asked for on each node, at most 9.0 GB needed",
        sets=(("resources.memory", '"12G"'),),
    ),
    "A102": Example(
        trips=after(THREE_HOURS, plan=LONG, ran_s=10_800),
        passes=replace(after(THREE_HOURS, plan=LONG, ran_s=10_800), others_s=(15 * 3600.0,)),
        says="1 d asked for, 3 h used",
        sets=(("resources.time", '"4h"'),),
    ),
    "A103": Example(
        trips=after(replace(NODE, cpu_cores=flat(3.0, peak=5.5)), plan=MANY_CPUS),
        passes=after(replace(NODE, cpu_cores=flat(3.0, peak=20.0)), plan=MANY_CPUS),
        says="32 CPUs asked for on each node, at most 5.5 busy at once, 3.0 on average",
        sets=(("resources.cpus", "7"),),
    ),
    "A201": Example(
        trips=after(replace(NODE, gpus=(gpu(95), gpu(0, memory_gb=0, uuid="GPU-b")))),
        passes=after(replace(NODE, gpus=(gpu(95), gpu(4, uuid="GPU-b")))),
        says="2 GPUs asked for, 1 used; 1 never did anything",
        sets=(("resources.gpus", "1"),),
    ),
    "A202": Example(
        trips=after(replace(NODE, gpus=(gpu(0, memory_gb=0), gpu(0, memory_gb=0, uuid="GPU-b")))),
        passes=after(replace(NODE, gpus=(gpu(None), gpu(None, uuid="GPU-b")))),  # slices, of which nobody knows
        says="2 GPUs asked for, none used: the training ran on the CPU",
    ),
    "A203": Example(
        trips=after(STARVED, plan=WORKERS),
        passes=after(
            replace(STARVED, cpu_cores=flat(11.0)), plan=WORKERS
        ),  # the cores are busy: more workers are no help
        says="the GPUs were 7 % busy while 1.0 of 12 CPU cores were",
        sets=(("run.command", '"python train.py --num-workers 8 --lr 0.1"'),),
    ),
    "A204": Example(
        trips=after(replace(NODE, gpus=(gpu(40, memory_gb=3), gpu(44, memory_gb=4, uuid="GPU-b")))),
        passes=after(replace(NODE, gpus=(gpu(85, memory_gb=3), gpu(88, memory_gb=4, uuid="GPU-b")))),
        says="the GPUs were 42 % busy, and at most 10 % of their memory was used",
    ),
    "A205": Example(
        trips=after(FIRST, SECOND, plan=TWO_NODES),
        passes=after(FIRST, replace(SECOND, cpu_cores=flat(0.5)), plan=TWO_NODES),
        says="2 nodes asked for, 1 used",
        sets=(("resources.nodes", "1"),),
    ),
    "A301": Example(
        trips=after(NODE, plan=SHARED, waits=WAITS),
        passes=after(NODE, plan=SHARED, waits=(DataWaits(link=1, rank=0, wait_share=flat(0.1)),)),
        says="the training waited for data 40 % of its time",
        sets=(("data.photos.stage", '"auto"'),),
    ),
    "A302": Example(
        trips=after(replace(NODE, shared="nfs", shared_ops_s=flat(2300), shared_read_mb_s=flat(25))),
        passes=after(replace(NODE, shared="nfs", shared_ops_s=flat(2300), shared_read_mb_s=flat(900))),
        says="n1 asked the shared file system 2,300 times a second, whoever ran there",
    ),
}

# What would break a run, or is nobody's waste: nothing is said.
SILENT = {
    "memory of a run that still runs": replace(EXAMPLES["A101"].trips, record=RUNNING),
    "time of a run that still runs": replace(EXAMPLES["A102"].trips, record=RUNNING),
    "memory that ran out": after(replace(NODE, memory_mb=flat(7 * GB), oom_kills=flat(1)), plan=MUCH_MEMORY),
    "memory that Windlass chose": after(
        replace(NODE, memory_mb=flat(7 * GB)),
        plan=replace(MUCH_MEMORY, reasons=(Reason(field="memory", value="118 GB", why="the GPUs' share"),)),
    ),
    "memory of a whole node": after(replace(NODE, memory_mb=flat(7 * GB)), plan=replace(MUCH_MEMORY, exclusive=True)),
    "a node that was not seen": after(
        replace(NODE, memory_mb=flat(7 * GB)), plan=replace(MUCH_MEMORY, nodes=2, gpus_per_node=1)
    ),
    "a time whose links stay as long": after(
        THREE_HOURS, plan=replace(LONG, link_time=timedelta(hours=2), links=12), ran_s=10_800
    ),
    "nothing to say": WELL,
}
