"""Slurm's own words and exit codes for what it refuses."""

import pytest

from .conftest import Pocket

FAILED = "sbatch: error: Batch job submission failed: "


@pytest.mark.parametrize(
    ("words", "code", "lines"),
    [
        (
            ["-p", "nosuch"],
            1,
            ["sbatch: error: invalid partition specified: nosuch", FAILED + "Invalid partition name specified"],
        ),
        (["-p", "short", "-t", "60"], 1, [FAILED + "Requested time limit is invalid (missing or exceeds some limit)"]),
        (
            ["-c", "9"],
            1,
            [
                "sbatch: error: CPU count per node can not be satisfied",
                FAILED + "Requested node configuration is not available",
                "sbatch: error: pocket is one machine, all nodes of a job together: 9 CPUs asked, 4 here",
            ],
        ),
        (
            ["--mem=100G"],
            1,
            [
                "sbatch: error: Memory specification can not be satisfied",
                FAILED + "Requested node configuration is not available",
                "sbatch: error: pocket is one machine, all nodes of a job together: 102400 MB of memory asked, "
                "4000 MB here",
            ],
        ),
        (
            ["--gres=gpu:5"],
            1,
            [
                FAILED + "Requested node configuration is not available",
                "sbatch: error: pocket is one machine, all nodes of a job together: 5 GPUs asked, 4 here",
            ],
        ),
        (["--gres=tpu:1"], 1, ["sbatch: error: Invalid generic resource (gres) specification"]),
        (["-t", "foo"], 255, ["sbatch: error: Invalid --time specification"]),
        (["--mem=foo"], 255, ["sbatch: error: Invalid --mem specification"]),
        (
            ["--nosuch-option"],
            255,
            ["sbatch: unrecognized option '--nosuch-option'", 'Try "sbatch --help" for more information'],
        ),
        (["--dependency=foo:1"], 1, [FAILED + "Job dependency problem"]),
        (["--array=5-1"], 1, [FAILED + "Invalid job array specification"]),
        (
            ["--begin=yesterday"],
            255,
            ["Invalid time specification (pos=0): yesterday", "sbatch: error: Invalid --begin specification"],
        ),
    ],
)
def test_sbatch_refuses(pocket: Pocket, words: list[str], code: int, lines: list[str]) -> None:
    pocket.configure('[partitions.short]\nmax_time = "20"\n')

    done = pocket.run("sbatch", *words, "--wrap=true", code=code)

    assert done.stderr.splitlines() == lines
    assert done.stdout == ""


def test_a_script_that_is_not_there(pocket: Pocket) -> None:
    assert pocket.run("sbatch", "nosuch.sh", code=1).stderr == "sbatch: error: Unable to open file nosuch.sh\n"
    assert pocket.run("sbatch", code=1).stderr == "sbatch: error: Batch script is empty!\n"


def test_unknown_jobs(pocket: Pocket) -> None:
    assert pocket.run("squeue", "-j", "999", code=1).stderr == "slurm_load_jobs error: Invalid job id specified\n"
    assert pocket.run("scontrol", "show", "job", "999", code=1).stderr == (
        "slurm_load_jobs error: Invalid job id specified\n"
    )
    assert pocket.run("scontrol", "requeue", "999", code=1).stderr == "Invalid job id specified for job 999\n"
    assert pocket.run("scancel", "999").stderr == ""
    assert pocket.run("scancel", "abc", code=1).stderr == "scancel: error: Invalid job id abc\n"
    assert pocket.run("squeue", "-u", "nosuch").stderr == "squeue: error: Invalid user: nosuch\n\n"


def test_test_only_speaks_on_stderr(pocket: Pocket) -> None:
    done = pocket.run("sbatch", "--test-only", "-n2", "--wrap=true")

    assert done.stdout == ""
    assert done.stderr.startswith("sbatch: Job 1 to start at ")
    assert done.stderr.endswith(" using 2 processors on nodes pocket1 in partition pocket\n")


def test_pocket_says_what_it_is(pocket: Pocket) -> None:
    for program in ("sbatch", "srun", "salloc", "squeue", "sacct", "scancel", "scontrol", "sinfo"):
        assert pocket.run(program, "--version").stdout == "slurm-pocket 22.05.0\n"
    warned = pocket.run("sbatch", "-N2", "--mail-type=END", "--hold", "--wrap=true").stderr
    assert "sbatch: pocket is one machine: the nodes pocket1, pocket2 are pretended\n" in warned
    assert "pocket sends no mail" in warned


def test_a_wrong_settings_file_is_told(pocket: Pocket) -> None:
    pocket.places.settings.write_text("cpu = 3\n")

    done = pocket.run("sbatch", "--wrap=true", code=1)

    assert "unknown key 'cpu'" in done.stderr


def test_the_machine_is_shown(pocket: Pocket) -> None:
    pocket.configure('gpu_type = "a100"\n[partitions.short]\nmax_time = "20"\n')

    assert pocket.run("sinfo", "-h", "-o", "%P %l %c %m %G %C %t").stdout.splitlines() == [
        "pocket* infinite 4 4000 gpu:a100:4 0/4/0/4 idle",
        "short 20:00 4 4000 gpu:a100:4 0/4/0/4 idle",
    ]
    assert "MaxTime=00:20:00" in pocket.run("scontrol", "show", "partition", "short").stdout
    assert "Gres=gpu:a100:4" in pocket.run("scontrol", "-o", "show", "node").stdout
    assert " is UP" in pocket.run("scontrol", "ping").stdout
