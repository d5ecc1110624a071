"""Arrays, dependencies, full machines, and cancelling many jobs."""

from windlass.pocket.model import State

from .conftest import Pocket, wait_for


def test_an_array_one_at_a_time_runs_in_order(pocket: Pocket) -> None:
    body = "echo $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_TASK_COUNT $SLURM_ARRAY_TASK_MIN-$SLURM_ARRAY_TASK_MAX >> order"
    job = pocket.submit(body, "--array=1-4%1")

    wait_for(lambda: not pocket.squeue("%i"))

    assert (pocket.folder / "order").read_text() == "".join(f"{i} 4 1-4\n" for i in range(1, 5))
    assert pocket.sacct(job, "JobID,State", "-X") == [f"{job}_{i}|COMPLETED" for i in range(1, 5)]
    assert pocket.output(f"{job}_2") == ""


def test_waiting_tasks_share_a_line(pocket: Pocket) -> None:
    job = pocket.submit("touch ready; sleep 60", "--array=1-5%1", "-J", "sweep")
    pocket.see("ready")

    lines = wait_for(lambda: found if len(found := pocket.squeue("%i %K %F %t %r", "--me")) == 2 else None)
    expanded = pocket.squeue("%i", "-r", "-n", "sweep")

    assert lines == [f"{job}_[2-5%1] 2-5%1 {job} PD JobArrayTaskLimit", f"{job}_1 1 {job} R None"]
    assert sorted(expanded) == [f"{job}_{i}" for i in range(1, 6)]


def test_some_tasks_are_cancelled(pocket: Pocket) -> None:
    job = pocket.submit("true", "--array=1-5", "--hold")

    pocket.run("scancel", f"{job}_[2-3]", f"{job}_5")

    assert pocket.squeue("%i") == [f"{job}_[1,4]"]


def test_dependencies_are_waited_for(pocket: Pocket) -> None:
    first = pocket.submit("sleep 0.3; echo first >> order")
    second = pocket.submit("echo second >> order", f"--dependency=afterok:{first}")
    never = pocket.submit("echo never >> order", f"--dependency=afternotok:{first}")
    killed = pocket.submit("true", f"--dependency=afternotok:{first}", "--kill-on-invalid-dep=yes")

    pocket.wait(second)
    assert pocket.wait(killed).state is State.CANCELLED

    assert (pocket.folder / "order").read_text() == "first\nsecond\n"
    wait_for(lambda: pocket.squeue("%i %R") == [f"{never} (DependencyNeverSatisfied)"])


def test_a_full_machine_queues(pocket: Pocket) -> None:
    running = pocket.submit("touch ready; sleep 60", "-c", "4")
    pocket.see("ready")
    first = pocket.submit("true")
    second = pocket.submit("true")

    wait_for(lambda: pocket.squeue("%i %r", "-t", "PD") == [f"{first} Resources", f"{second} Priority"])
    pocket.run("scancel", str(running))

    assert pocket.wait(second).state is State.COMPLETED


def test_gpus_are_counted_and_named(pocket: Pocket) -> None:
    body = "echo $CUDA_VISIBLE_DEVICES $SLURM_GPUS_ON_NODE; touch ready-$SLURM_JOB_ID; sleep 60"
    first = pocket.submit(body, "--gres=gpu:3")
    pocket.see(f"ready-{first}")
    second = pocket.submit(body, "--gpus=1")
    pocket.see(f"ready-{second}")
    third = pocket.submit("true", "--gpus-per-node=1")

    wait_for(lambda: pocket.squeue("%i %r", "-t", "PD") == [f"{third} Resources"])
    assert (pocket.output(first), pocket.output(second)) == ("0,1,2 3\n", "3 1\n")
    assert sorted(pocket.squeue("%i %b", "-t", "R")) == [f"{first} gres:gpu:3", f"{second} gres:gpu:1"]


def test_scancel_chooses(pocket: Pocket) -> None:
    kept = pocket.submit("true", "--hold", "-J", "kept")
    pocket.submit("true", "--hold", "-J", "gone")
    pocket.submit("true", "--hold", "-J", "gone")

    pocket.run("scancel", "-n", "gone", "-t", "PENDING")

    assert pocket.squeue("%i") == [str(kept)]
    pocket.run("scancel", "--me")
    assert pocket.squeue("%i") == []


def test_a_job_may_be_cancelled_while_it_starts(pocket: Pocket) -> None:
    jobs = [pocket.submit("sleep 60") for _ in range(4)]
    for job in jobs:
        pocket.wait(job, State.RUNNING)
        pocket.run("scancel", str(job))

    assert {pocket.wait(job).state for job in jobs} == {State.CANCELLED}


def test_scancel_signals_the_batch_shell(pocket: Pocket) -> None:
    job = pocket.submit("trap 'echo usr2; exit 0' USR2\ntouch ready\nwhile true; do sleep 0.05; done")
    pocket.see("ready")

    pocket.run("scancel", "-b", "-s", "USR2", str(job))

    assert pocket.wait(job).state is State.COMPLETED
    assert pocket.output(job) == "usr2\n"


def test_formats_of_squeue(pocket: Pocket) -> None:
    job = pocket.submit("true", "--hold", "-t", "1:30:00", "--comment=token-7", "-c", "2", "-J", "a-long-name")

    assert pocket.squeue("%.6i|%5j|%k|%l|%C|%P|%Z") == [f"{job:>6}|a-lon|token-7|1:30:00|2|pocket|{pocket.folder}"]
    assert pocket.run("squeue", "-h", "-O", "JobID:5,Name:.13,State:|").stdout == f"{job:<5}  a-long-namePENDING|\n"
    assert pocket.run("squeue").stdout.splitlines()[0] == (
        "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)"
    )


def test_formats_of_sacct(pocket: Pocket) -> None:
    assert pocket.run("sacct", "-j", "999").stdout.splitlines() == [
        "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode ",
        "------------ ---------- ---------- ---------- ---------- ---------- -------- ",
    ]
    job = pocket.submit("sleep 60", "--mem=2G", "-A", "def-prof", "-n2")
    pocket.wait(job, State.RUNNING)
    pocket.run("scancel", str(job))
    pocket.wait(job)

    fields = "JobIDRaw,State%9,ReqMem,NCPUS,AllocTRES,Account"
    assert pocket.run("sacct", "-nX", "-o", "JobID%4,State", "-j", str(job)).stdout == f"{job:>4} CANCELLED+ \n"
    assert pocket.sacct(job, fields, "-X")[0].split("|")[2:] == [
        "2G", "2", "billing=2,cpu=2,mem=2G,node=1", "def-prof",
    ]  # fmt: skip
