"""What five centres' documents say about scripts: the rows of the inventory that are about one."""

import os
from pathlib import Path

import pytest

from tests.lint.test_good_scripts import GOOD
from windlass.app.linting import Looking, lint_paths
from windlass.core.sbatch.script import read_script
from windlass.edges.folders import find_folders
from windlass.edges.site_files import load_site

HEAD = "#!/bin/bash\n#SBATCH --time=1:00:00\n#SBATCH --mem=4G\n"

# row -> (the centre, the script, the codes that must be told)
ROWS: dict[str, tuple[str | None, str, set[str]]] = {
    "CA-26": (
        None,
        "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --ntaks-per-node=4\n#SBATCH --cpus-per-task=4\n"
        "#SBATCH --time=1:00:00\n#SBATCH --mem=118GB\n#SBATCH --gres=gpu:kepler:N\n#SBATCH --error=errjobfile-%J.err\n"
        "#SBATCH --output=outjobfile-J.out\nhostname\n",
        {"S118", "S131", "S162"},
    ),
    "CA-41": (None, "#!/bin/bash\n#SBATCH --mem-per-cpu=1.5G\nhostname\n", {"S128"}),
    "CA-51": (None, HEAD + "#SBATCH --cpus-per-task=6\npython train.py --num_workers=14\n", {"S506"}),
    "JS-38": (None, HEAD + "#SBATCH --output=output.%j\n# look into slurm-%j.out\nhostname\n", {"S165"}),
    "JS-39": (None, "#!/bin/bash\n<<<<<<< HEAD\n#SBATCH --nodes=3\n=======\n#SBATCH --nodes=4\n>>>>>>> b\n", {"S105"}),
    "CS-15": (None, HEAD + "horovodrun -np 4 python train.py --workers 4\n", {"S409"}),
    "SD-25": (None, HEAD + "pip install --user torch\nsudo apt install x\n", {"S307"}),
    "SD-36": (None, HEAD + "python train.py\n", {"S151"}),
    "WI-20": ("wilson", HEAD + "#SBATCH --gres=gpu:v100:1,gpu:p100:1 -c 4\nhostname\n", {"S146"}),
    "WI-23": ("wilson", HEAD + "#SBATCH --chdir=/nashome/a/ada\nhostname\n", {"S604"}),
    "WI-28": ("wilson", HEAD + "apptainer pull docker://python\n", {"S309"}),
    "WI-33": ("wilson", HEAD + "#SBATCH --gres=gpu:v100:1 -c 4\napptainer exec i.sif python t.py\n", {"S308"}),
}
# row -> a script of the centre's documents that is right, by the good script that says the same
ACCEPTED = {"JS-21": "juwels-booster-one-node", "CS-12": "daint-two-nodes", "WI-26": "wilson-one-gpu"}


@pytest.mark.parametrize("row", ROWS)
def test_a_slip_of_the_documents_is_told(tmp_path: Path, row: str) -> None:
    site, text, codes = ROWS[row]
    path = tmp_path / "job.sh"
    path.write_text(text)
    looking = Looking(site=load_site(site, find_folders(os.environ)) if site else None)

    (linted,) = lint_paths([str(path)], looking)

    assert codes <= {mark.code for mark in linted.marks}


@pytest.mark.parametrize("row", ACCEPTED)
def test_a_script_of_the_documents_is_right(row: str) -> None:
    file = next(one for one in GOOD if one.stem == ACCEPTED[row])

    assert read_script(file.read_bytes()).is_accepted


def test_a_course_script_is_right_but_for_a_personal_address() -> None:
    """JS-30: mail, many cores, a folder below home, an old activation."""
    script = (
        b"#!/bin/bash\n#SBATCH --account=training2441\n#SBATCH --mail-user=ada@fz.de\n#SBATCH --mail-type=ALL\n"
        b"#SBATCH --cpus-per-task=128\n#SBATCH --time=00:20:00\n#SBATCH --partition=dc-gpu\ncd $HOME/course/\n"
        b"source sc_venv/activate.sh\nsrun -c 128 python train.py\n"
    )

    assert read_script(script).is_accepted
