"""What Slurm still knows of one job: recorded answers of Slurm 22.05."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.ending.symptoms import JobFacts
from windlass.core.jobs import JobState
from windlass.schedulers.slurm.fields import SEPARATOR, make_fields
from windlass.schedulers.slurm.postmortem import (
    find_output,
    find_script,
    make_rank_command,
    make_usage_command,
    read_job_facts,
    read_ranks_before,
    read_usage,
)

FIELDS = make_fields(
    id="JobID", state="State", exit="ExitCode", start="Start", asked="ReqMem", used="MaxRSS", nodes="NNodes",
    tasks="NTasks", workdir="WorkDir", submitted_by="SubmitLine",
)  # fmt: skip


def rows(*lines: str) -> str:
    return "".join(line.replace("|", SEPARATOR) + "\n" for line in lines)


OUT_OF_MEMORY = rows(
    "106|OUT_OF_MEMORY|0:125|100|60M||1||/home/alice/expl|sbatch -p cpu oom.sh",
    "106.batch|OUT_OF_MEMORY|0:125|100||3612K|1|1||",
    "106.extern|COMPLETED|0:0|100||0|1|1||",
)
NO_OUTPUT = rows("107|FAILED|0:53|100|500M||1||/home/alice|sbatch x", "107.batch|CANCELLED|0:53|100|||1|1||")
SHOWN = (
    "JobId=107 JobName=a b UserId=alice(5001) GroupId=alice(5001) MCS_label=N/A Priority=1000 Account=def-prof "
    "QOS=normal JobState=FAILED Reason=JobLaunchFailure Dependency=(null) Requeue=1 Restarts=2 BatchFlag=1 "
    "ExitCode=0:53 RunTime=00:00:07 TimeLimit=00:05:00 SubmitTime=1763298186 Partition=cpu NodeList=node[3-4] "
    "NumNodes=2 NumCPUs=2 NumTasks=2 TRES=cpu=2,mem=1G,node=2,billing=1 Command=/home/alice/my job/x.sh "
    "WorkDir=/home/alice/my job StdErr=/home/alice/my job/x.err StdIn=/dev/null StdOut=/home/alice/my job/x.out Power= "
)


def test_memory_that_ran_out() -> None:
    found = read_usage(OUT_OF_MEMORY, FIELDS)

    assert found == JobFacts(
        state=JobState.OUT_OF_MEMORY,
        exit_code=0,
        signal=125,
        asked_memory_mb=60,
        used_memory_mb=4,
        tasks=1,
        workdir="/home/alice/expl",
        script="oom.sh",
    )


def test_a_step_that_ran_out_of_memory_tells_why_the_job_failed() -> None:
    text = rows("9|FAILED|1:0|100|4Gn||2||/x|", "9.0|OUT_OF_MEMORY|0:125|100||3G|2|4||")

    found = read_usage(text, FIELDS)

    assert found is not None
    assert (found.state, found.asked_memory_mb, found.used_memory_mb, found.tasks) == (
        JobState.OUT_OF_MEMORY,
        4096,
        3072,
        4,
    )


def test_of_an_array_the_task_that_started_last_counts() -> None:
    text = rows(
        "45_1|COMPLETED|0:0|100|1G||1||/x|", "45_2|FAILED|3:0|200|1G||1||/x|", "45_[3-5%1]|PENDING|0:0||1G||1||/x|"
    )

    found = read_usage(text, FIELDS)

    assert found is not None
    assert (found.state, found.exit_code) == (JobState.FAILED, 3)


def test_a_job_without_an_output_file() -> None:
    found = read_usage(NO_OUTPUT, FIELDS)

    assert found is not None
    assert (found.state, found.signal) == (JobState.FAILED, 53)


def test_the_controllers_word_has_the_files() -> None:
    assert read_job_facts(SHOWN) == JobFacts(
        state=JobState.FAILED,
        reason="JobLaunchFailure",
        exit_code=0,
        signal=53,
        asked_memory_mb=512,
        elapsed_s=7,
        limit_s=300,
        tasks=2,
        restarts=2,
        submitted=1763298186.0,
        partition="cpu",
        nodes=2,
        hosts="node[3-4]",
        output="/home/alice/my job/x.out",
        error="/home/alice/my job/x.err",
        workdir="/home/alice/my job",
    )
    assert read_job_facts("slurm_load_jobs error: Invalid job id specified\n") is None


QUEUE = rows(
    "50|2000|4|Resources", "51_[1-3]|1500|1|Priority", "52|3000|1|JobHeldUser", "53|1000|2|Priority",
    "54|900|1|Priority", "49|1000|1|Priority", "55|1900|1|Dependency",
)  # fmt: skip


def test_who_ranks_before() -> None:
    assert read_ranks_before(QUEUE, "53") == 1 + 3 + 1
    assert read_ranks_before(QUEUE, "50") == 0
    assert read_ranks_before(QUEUE, "99") is None  # not shown
    assert read_ranks_before(rows("53||1|Priority"), "53") is None  # no ranks are shown


@pytest.mark.parametrize(
    ("line", "script"),
    [
        ("sbatch -p cpu oom.sh", "oom.sh"),
        ("sbatch --parsable --time 5 --mem=4G ./a/b.sh 0.1 -x", "./a/b.sh"),
        ("sbatch -c4 'my job.sh'", "my job.sh"),
        ("/usr/bin/sbatch x.sh", "x.sh"),
        ("sbatch --wrap hostname", None),
        ("srun python train.py", None),
        ("sbatch 'x", None),
        ("", None),
    ],
)
def test_the_script_in_a_submit_line(line: str, script: str | None) -> None:
    assert find_script(line) == script


@pytest.mark.parametrize(
    ("directive", "path"),
    [
        ("#SBATCH -J expl-oom -o out/%x-%j.log", "/w/out/nom-45.log"),
        ("#SBATCH --output=/abs/%A_%a.out", "/abs/45_7.out"),
        ("#SBATCH --output logs/x.out  # where", "/w/logs/x.out"),
        ("# SBATCH --output=x", None),
        ("#SBATCH --open-mode=append", None),
    ],
)
def test_where_the_script_says_the_output_goes(directive: str, path: str | None) -> None:
    script = f"#!/bin/bash\n{directive}\nhostname\n"

    assert find_output(script, JobFacts(workdir="/w"), job_id="45_7", name="nom") == path


def test_commands() -> None:
    assert make_usage_command("45")[-1] == "--jobs=45"
    assert "--partition=gpu" in make_rank_command("gpu")


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    read_usage(text)
    read_job_facts(text)
    read_job_facts(f"JobId=1 JobName=x {text}")
    read_ranks_before(text, "45")
    find_script(text)
    find_output(text, JobFacts(workdir="/w"), job_id="1", name="")
