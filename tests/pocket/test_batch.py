"""Batch jobs, run for real: output, states, limits, signals, requeue, memory."""

import time
from concurrent.futures import ThreadPoolExecutor

from windlass.pocket.model import State

from .conftest import Pocket, wait_for


def test_a_script_runs_where_it_was_submitted(pocket: Pocket) -> None:
    job = pocket.submit('echo "$PWD $1 $SLURM_JOB_NAME"', "-J", "my job", "-o", "%x-%5j.out")

    pocket.wait(job)

    assert (pocket.folder / f"my job-{job:05}.out").read_text() == f"{pocket.folder}  my job\n"
    assert pocket.sacct(job, "JobID,JobName,State,ExitCode") == [
        f"{job}|my job|COMPLETED|0:0",
        f"{job}.batch|batch|COMPLETED|0:0",
    ]


def test_the_script_is_copied_at_submission(pocket: Pocket) -> None:
    script = pocket.folder / "run.sh"
    script.write_text("#!/bin/bash\necho first $*\n")
    job = int(pocket.run("sbatch", "--parsable", "--hold", "run.sh", "a", "b c").stdout)
    script.write_text("#!/bin/bash\necho second\n")

    assert pocket.squeue("%i %T %r") == [f"{job} PENDING JobHeldUser"]
    pocket.run("scontrol", "release", str(job))
    pocket.wait(job)

    assert pocket.output(job) == "first a b c\n"


def test_a_script_may_come_from_stdin(pocket: Pocket) -> None:
    done = pocket.run("sbatch", "-W", text="#!/bin/bash\n#SBATCH -J piped\necho $SLURM_JOB_NAME\n")

    assert done.stdout == "Submitted batch job 1\n"
    assert pocket.output(1) == "piped\n"


def test_the_command_line_beats_the_environment_beats_directives(pocket: Pocket) -> None:
    body = "#SBATCH -J from-script --comment=kept -t 9\necho $SLURM_JOB_NAME"
    job = pocket.submit(body, "-t", "7", variables={"SBATCH_JOB_NAME": "from-env", "SBATCH_TIMELIMIT": "8"})

    assert pocket.sacct(job, "JobName,Timelimit,Comment", "-X") == ["from-env|00:07:00|kept"]


def test_wait_gives_the_exit_code_of_the_job(pocket: Pocket) -> None:
    pocket.run("sbatch", "-W", "--wrap", "exit 3", code=3)

    assert pocket.sacct(1, "State,ExitCode") == ["FAILED|3:0", "FAILED|3:0"]


def test_a_script_killed_by_a_signal(pocket: Pocket) -> None:
    job = pocket.submit("kill -9 $$")

    pocket.wait(job)

    assert pocket.sacct(job, "State,ExitCode", "-X") == ["FAILED|0:9"]


def test_time_is_up_with_the_signal_first(pocket: Pocket) -> None:
    job = pocket.submit(
        "trap 'echo got USR1; touch warned' USR1\nfor i in {1..200}; do sleep 0.05; done",
        "-t",
        "0:03",
        "--signal=B:USR1@2",
    )

    pocket.see("warned")
    assert pocket.job(job).state is State.RUNNING
    ended = pocket.wait(job)

    assert ended.state is State.TIMEOUT
    assert "got USR1\n" in pocket.output(job)
    assert f"slurmstepd: error: *** JOB {job} ON pocket1 CANCELLED AT " in pocket.output(job)
    assert "DUE TO TIME LIMIT ***" in pocket.output(job)
    assert pocket.sacct(job, "State,ExitCode") == ["TIMEOUT|0:0", "CANCELLED|0:15"]


def test_who_ignores_the_end_is_killed(pocket: Pocket) -> None:
    job = pocket.submit("trap '' TERM\ntouch ready\nwhile true; do sleep 0.1; done")
    pocket.see("ready")

    pocket.run("scancel", str(job))
    ended = pocket.wait(job)

    assert ended.state is State.CANCELLED
    assert pocket.sacct(job, "State", "-X")[0].startswith("CANCELLED by ")
    assert "CANCELLED AT" in pocket.output(job)


def test_nothing_of_a_job_outlives_it(pocket: Pocket) -> None:
    job = pocket.submit("setsid env -i /bin/sleep 300 & echo $! > escaped\n(nohup sleep 301 &) ; echo done")

    pocket.wait(job)

    pid = int((pocket.folder / "escaped").read_text())
    assert not _is_running(pid)


def test_node_local_folders_are_removed(pocket: Pocket) -> None:
    body = "srun -l bash -c 'touch $SLURM_TMPDIR/x; echo $SLURMD_NODENAME $SLURM_TMPDIR'"
    job = pocket.submit(body, "-N", "2", "--ntasks-per-node=1")

    pocket.wait(job)

    lines = sorted(pocket.output(job).splitlines())
    folders = [line.split()[2] for line in lines]
    assert [line.split()[1] for line in lines] == ["pocket1", "pocket2"]
    assert len(set(folders)) == 2
    assert not pocket.places.job_tmp(job).exists()


def test_requeue_from_inside(pocket: Pocket) -> None:
    body = (
        'echo "run ${SLURM_RESTART_COUNT-first}" >> runs\n'
        'if [ -z "$SLURM_RESTART_COUNT" ]; then scontrol requeue $SLURM_JOB_ID; sleep 60; fi'
    )
    job = pocket.submit(body)

    ended = wait_for(lambda: one if (one := pocket.job(job)).state.is_final else None)

    assert (ended.state, ended.restarts) == (State.COMPLETED, 1)
    assert (pocket.folder / "runs").read_text() == "run first\nrun 1\n"
    assert pocket.sacct(job, "State", "-X") == ["COMPLETED"]
    assert pocket.sacct(job, "State", "-X", "-D") == ["REQUEUED", "COMPLETED"]


def test_too_much_memory(pocket: Pocket) -> None:
    job = pocket.submit('python3 -c "x = bytearray(400 * 2**20); import time; time.sleep(30)"\nexit 0', "--mem=100M")

    ended = pocket.wait(job)

    assert ended.state is State.OUT_OF_MEMORY
    assert pocket.sacct(job, "ExitCode", "-X") == ["0:125"]
    assert f"Detected 1 oom-kill event(s) in StepId={job}.batch" in pocket.output(job)


def test_an_output_that_cannot_be_opened(pocket: Pocket) -> None:
    job = pocket.submit("echo hi", "-o", "nowhere/x.out")

    pocket.wait(job)

    assert pocket.sacct(job, "State,ExitCode,Reason", "-X") == ["FAILED|0:53|JobLaunchFailure"]


def test_the_limit_of_a_running_job_can_be_changed(pocket: Pocket) -> None:
    job = pocket.submit("touch ready; sleep 60", "-t", "10")
    pocket.see("ready")

    pocket.run("scontrol", "update", f"jobid={job}", "TimeLimit=0:01")

    assert pocket.wait(job).state is State.TIMEOUT


def test_begin_is_waited_for_and_can_be_cut_short(pocket: Pocket) -> None:
    job = pocket.submit("true", "--begin=now+1hour")
    wait_for(lambda: pocket.squeue("%r") == ["BeginTime"])

    pocket.run("scontrol", "update", f"jobid={job}", "StartTime=now")

    assert pocket.wait(job).state is State.COMPLETED


def test_twenty_submissions_at_once(pocket: Pocket) -> None:
    def submit(number: int) -> int:
        return int(pocket.run("sbatch", "--parsable", "--wrap", f"echo {number}").stdout)

    with ThreadPoolExecutor(20) as pool:
        ids = list(pool.map(submit, range(20)))

    assert sorted(ids) == list(range(1, 21))
    for job in ids:
        assert pocket.wait(job).state is State.COMPLETED
    assert [pocket.output(job) for job in ids] == [f"{number}\n" for number in range(20)]


def test_hostile_names_stay_text(pocket: Pocket) -> None:
    name = "a\n#SBATCH --nodes=9\n$(touch pwned) `touch pwned` \"'; touch pwned"
    job = pocket.submit('printf %s "$SLURM_JOB_NAME"', "-J", name, "--comment", name, "-o", "out")

    pocket.wait(job)

    assert (pocket.folder / "out").read_text() == name
    assert len(pocket.run("squeue", "-t", "all").stdout.splitlines()) == 2
    assert len(pocket.sacct(job, "JobName,Comment", "-X")) == 1
    assert not (pocket.folder / "pwned").exists()


def test_the_environment_travels(pocket: Pocket) -> None:
    all_of_it = pocket.submit("echo $GREETING $EXTRA", "--export=ALL,EXTRA=x", variables={"GREETING": "hello"})
    none_of_it = pocket.submit("echo [$GREETING]", "--export=NONE", variables={"GREETING": "hello"})

    for job in (all_of_it, none_of_it):
        pocket.wait(job)

    assert pocket.output(all_of_it) == "hello x\n"
    assert pocket.output(none_of_it) == "[]\n"


def _is_running(pid: int) -> bool:
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().split()[2] == "Z":
                    return False
        except (FileNotFoundError, ProcessLookupError):
            return False
        time.sleep(0.02)
    return True
