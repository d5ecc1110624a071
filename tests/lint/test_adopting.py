"""From a script to a run file that plans to the same job."""

import json
import os
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import Windlass
from tests.lint.test_good_scripts import GOOD, site_of
from windlass.core.facts import NOTHING_SEEN
from windlass.core.job import make_script
from windlass.core.planning import Attempt, make_plan
from windlass.core.run import RunSpec
from windlass.core.sbatch.adoption import Adoption, adopt_script
from windlass.core.sbatch.request import Request, read_request
from windlass.core.sbatch.script import read_script
from windlass.core.toml.run_file import read_run
from windlass.edges.folders import find_folders
from windlass.edges.site_files import load_site
from windlass.launchers import LAUNCHERS

HEAD = "#!/bin/bash\n#SBATCH --time=1:00:00\n#SBATCH --mem=4G\n"
LEFT_TO_THE_SITE = ("requeue", "tasks")


def adopt(text: str) -> Adoption:
    return adopt_script(read_script(text.encode()), name="train")


def read_toml(adoption: Adoption) -> RunSpec:
    spec = read_run(tomllib.loads(adoption.toml))
    assert isinstance(spec, RunSpec), spec
    return spec


def plan_request(spec: RunSpec, site_name: str) -> Request:
    """What the script asks for that Windlass would submit."""
    site = load_site(site_name, find_folders(os.environ))
    plan = make_plan(spec, site, NOTHING_SEEN, Attempt(run_id="run-abcde"), launchers=LAUNCHERS)
    return read_request(read_script(make_script(plan).encode()))


@pytest.mark.parametrize("file", GOOD, ids=lambda path: path.stem)
def test_a_good_script_plans_to_the_same_job(file: Path) -> None:
    script = read_script(file.read_bytes())
    asked = read_request(script)
    adoption = adopt_script(script, name=file.stem)

    planned = plan_request(read_toml(adoption), site_of(file))

    if adoption.body is not None:  # one task with the cores of all, which the body's own srun divides
        assert planned.cpus_per_task == (asked.tasks_per_node or 1) * (asked.cpus_per_task or 1)
        asked = replace(asked, tasks_per_node=1, cpus_per_task=planned.cpus_per_task)
    asked = replace(asked, nodes=asked.nodes or 1, tasks_per_node=asked.tasks_per_node or 1)
    assert {key: getattr(planned, key) for key in said(asked)} == said(asked)


def said(request: Request) -> dict[str, object]:
    """What the script says itself; a plan may say more. All memory of a node is told to be left out."""
    found = {key: value for key, value in vars(request).items() if key not in LEFT_TO_THE_SITE and value is not None}
    return found if request.memory_mb else {key: value for key, value in found.items() if key != "memory_mb"}


def test_a_chain_becomes_time() -> None:
    adoption = adopt("#!/bin/bash\n#SBATCH -t 23:00:00 -a 1-5%1 --signal=B:USR1@300 -c 4\npython train.py\n")

    spec = read_toml(adoption)
    planned = plan_request(spec, "here")

    assert spec.checkpoint.signal == "USR1"
    assert planned.links == 5
    assert planned.time == read_request(read_script(b"#!/bin/sh\n#SBATCH -t 23:00:00\n")).time


def test_what_has_no_key_is_told() -> None:
    adoption = adopt(HEAD + "#SBATCH --output=x-%j.out\n#SBATCH --array=1-9\n#SBATCH --nodelist=n1\npython t.py\n")

    assert [(one.line, one.text) for one in adoption.left] == [
        (4, "--output=x-%j.out"),
        (5, "--array=1-9"),
        (6, "--nodelist=n1"),
    ]
    for one in adoption.left:
        assert f"line {one.line}: {one.text}" in adoption.toml


@pytest.mark.parametrize(
    ("body", "command", "launcher"),
    [
        ("python train.py --lr 0.1\n", "python train.py --lr 0.1", "single"),
        ("set -e\nexec python train.py\n", "python train.py", "single"),
        ("srun python train.py > log.txt\n", "python train.py > log.txt", "srun"),
        ("srun -c 4 --mpi pmix python train.py\necho done\n", "python train.py", "srun"),
        ("apptainer exec --nv a.sif python t.py\n", "apptainer exec --nv a.sif python t.py", "single"),
        ("python train.py \\\n  --lr 0.1\n", "python train.py  --lr 0.1", "single"),
    ],
)
def test_one_command_stands_in_the_run_file(body: str, command: str, launcher: str) -> None:
    adoption = adopt(HEAD + body)
    spec = read_toml(adoption)

    assert adoption.body is None
    assert spec.command.split() == command.split()
    assert spec.launcher == launcher


@pytest.mark.parametrize(
    "body",
    [
        "for i in 1 2; do\n  python train.py $i\ndone\n",
        "python prepare.py\npython train.py\n",
        "mpirun python train.py\n",
        "python train.py &\nwait\n",
        "cat > x <<END\nhello\nEND\npython train.py\n",
        "#SBATCH after\nif true; then python a.py; fi\n",
    ],
)
def test_a_longer_body_stays_a_script(body: str) -> None:
    adoption = adopt(HEAD + "module load gcc\n" + body)
    spec = read_toml(adoption)

    assert spec.command == "bash train-body.sh"
    assert spec.environment.modules == ("gcc",)
    assert adoption.body is not None
    assert adoption.body.startswith("#!/bin/bash\n")
    assert body.split("\n")[-2] in adoption.body
    assert "#SBATCH" not in adoption.body
    assert subprocess.run(["bash", "-n"], input=adoption.body, text=True, check=False).returncode == 0


def test_tasks_of_a_body_that_stays_are_kept() -> None:
    adoption = adopt(HEAD + "#SBATCH -N 2 --ntasks-per-node=4 -c 2\nfor i in 1 2; do srun python t.py; done\n")

    assert read_toml(adoption).resources.cpus == 8
    assert adoption.body is not None
    assert "export SLURM_NTASKS=8 SLURM_NTASKS_PER_NODE=4\n" in adoption.body
    assert "export SLURM_CPUS_PER_TASK=2 SRUN_CPUS_PER_TASK=2\n" in adoption.body


@pytest.mark.parametrize("rest", ["python train.py\n", "for i in 1 2; do python train.py; done\n"])
@pytest.mark.parametrize("before", ["", "if true; then echo x; fi\n"])
def test_secrets_are_not_copied(before: str, rest: str) -> None:
    key = "hf_" + "aB3" * 11
    adoption = adopt(HEAD + before + f"export HF_TOKEN={key}\n" + rest)

    assert key not in adoption.toml
    assert key not in (adoption.body or "")
    assert read_toml(adoption).secrets == {"HF_TOKEN": "env:HF_TOKEN"}
    assert any("secret" in one.text or "secret" in one.why for one in adoption.left)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "#!/bin/bash\n",
        "#!/bin/bash\n#SBATCH --nodes=x --time=24h --mem=1.5G --gres=gpu:x:y\npython t.py\n",
        "#!/bin/bash\n#SBATCH --account='<your account>' --job-name='a\"b' -t 0 -N 0 -c 0 --gres=gpu:9999\nls\n",
        "#!/bin/bash\r\n#SBATCH --nodes=1\r\npython t.py\r\n",
        "#!/bin/bash\n#SBATCH --job-name='\u0001 é '\nexport X='it''s'\nexport Y=\"a'''b\"\npython 't''.py'\n",
        "#!/bin/bash\n#SBATCH --time=4000-00 --array=5-1%1 --signal=99@1\npython t.py '\n",
        "#!/bin/bash\n#SBATCH -a 1-3%1 -t 1\npython t.py\n",
    ],
)
def test_whatever_the_script_holds_the_run_file_reads(text: str) -> None:
    adoption = adopt(text)

    values = tomllib.loads(adoption.toml)
    problems = read_run(values)
    # Without any command there is nothing to run, and that alone is told.
    assert isinstance(problems, RunSpec) or [".".join(map(str, one.path)) for one in problems] == ["run.command"]


def test_what_is_there_is_not_written_over(windlass: Windlass, project: Path) -> None:
    (project / "train.sh").write_text(HEAD + "python a.py\npython b.py\n")

    first = windlass("adopt", "train.sh")
    again = windlass("adopt", "train.sh")
    forced = windlass("adopt", "train.sh", "--force", "--json")
    other = windlass("adopt", "missing.sh")

    assert first.returncode == 0
    assert sorted(one.name for one in project.iterdir()) == ["train-body.sh", "train.sh", "windlass.toml"]
    assert again.returncode == 2
    assert "is there already" in again.stderr
    assert json.loads(forced.stdout)["body"] == "train-body.sh"
    assert other.returncode == 2
    assert "there is no such file" in other.stderr


def test_an_adopted_script_runs_on_pocket(windlass: Windlass, project: Path) -> None:
    (project / "train.py").write_text("import os, sys; print('trained', sys.argv[1], os.environ['LR'])\n")
    (project / "train.sh").write_text(
        "#!/bin/bash\n#SBATCH --time=0:05:00\n#SBATCH -n 1\n#SBATCH -c 1\n#SBATCH --mem=200M\nexport LR=0.1\n"
        f"for seed in 1 2; do\n  {sys.executable} train.py $seed\ndone\n"
    )

    adopted = windlass("adopt", "train.sh")
    done = windlass("run")

    assert adopted.returncode == 0, adopted.stderr
    assert done.returncode == 0, done.stderr
    assert "trained 1 0.1\ntrained 2 0.1" in done.stdout


def test_a_comment_is_told_and_our_own_token_is_not() -> None:
    own = adopt(HEAD + "#SBATCH --comment=paper\npython train.py\n")
    ours = adopt(HEAD + "#SBATCH --comment=windlass:run-abcde:1\npython train.py\n")

    assert [one.text for one in own.left] == ["--comment=paper"]
    assert ours.left == ()
