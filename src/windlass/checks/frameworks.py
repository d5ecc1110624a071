"""What TensorFlow and Spark are told in the code, against what their launchers set."""

from collections.abc import Iterator

from windlass.core.case import Case
from windlass.core.finding import Finding, Severity
from windlass.core.source.reach import look_at_code


def resolver_sorts_hosts(case: Case) -> Iterator[Finding]:
    """TensorFlow's SlurmClusterResolver sorts hosts as text: with n2 and n10 rank 0 takes another's address, and hangs.

    It also takes port 8888 for every job, and without GPUs it divides by zero. MultiWorkerMirroredStrategy() without a
    resolver reads TF_CONFIG, which the launcher tensorflow sets.
    """
    if case.plan.processes < 2:
        return
    for file, call in look_at_code(case).calls():
        if call.name.endswith(".SlurmClusterResolver"):
            yield Finding(
                code="C526",
                severity=Severity.WARNING,
                message="SlurmClusterResolver sorts hosts as text and takes port 8888 for every job",
                hint="MultiWorkerMirroredStrategy() without a resolver: it reads TF_CONFIG, which is right",
                where=file.where(call.line),
            )
            return


def spark_stays_on_one_node(case: Case) -> Iterator[Finding]:
    """The code tells Spark to be its own cluster, so that the workers of the job do nothing."""
    reached = look_at_code(case)
    if case.plan.launcher != "spark":
        return
    for file, call in reached.calls():
        if not call.name.endswith((".master", ".setMaster")):
            continue
        master = reached.find_value(call.argument(0, "master", "value"), file)
        if isinstance(master, str) and master.startswith("local"):
            yield Finding(
                code="C527",
                severity=Severity.WARNING,
                message=f"the code says {call.name.rpartition('.')[2]}({master!r}): Spark then uses one node only",
                hint="without it Spark takes the cluster that the launcher starts in the job",
                where=file.where(call.line),
            )
            return
