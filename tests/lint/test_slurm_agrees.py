"""The reader against the sbatch of the test cluster, which is asked on the spot."""

import base64
import io
import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cluster.cluster import SlurmCluster
from tests.lint.test_adopting import read_toml
from tests.lint.test_fixtures import SCRIPTS
from tests.lint.test_good_scripts import GOOD, site_of
from tests.lint.variations import ARRAYS, make_variations
from windlass.core.facts import NOTHING_SEEN
from windlass.core.job import make_script
from windlass.core.planning import Attempt, make_plan
from windlass.core.sbatch.adoption import Adoption, adopt_script
from windlass.core.sbatch.options import GONE, NEWER
from windlass.core.sbatch.script import Script, read_script
from windlass.core.sbatch.values import find_array_refusal
from windlass.edges.folders import find_folders
from windlass.edges.site_files import load_site
from windlass.launchers import LAUNCHERS

pytestmark = pytest.mark.slurm

# Of these sbatch decides by what it finds on the machine.
_UNDECIDED = re.compile(r"--(export-file|nodefile|bbf|clusters?)\b")
# -v and --test-only are ours; the others mean nothing for the job.
CARRIED = (
    *("account", "partition", "qos", "constraint", "reservation", "nodes", "ntasks-per-node", "cpus-per-task", "gres"),
    *("gpus-per-node", "mem", "time", "array", "exclusive"),
)
_QUIET = frozenset({"quiet", "verbose", "help", "version", "usage", "test-only", "wrap"})


@dataclass(frozen=True, kw_only=True)
class Answer:
    is_accepted: bool
    said: str
    options: dict[str, str]  # that sbatch took, as it lists them

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.options) - _QUIET


def ask_sbatch(slurm: SlurmCluster, scripts: Sequence[bytes]) -> list[Answer]:
    """One round: `sbatch -v --test-only` for each."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for number, data in enumerate(scripts):
            about = tarfile.TarInfo(f"{number:04}.sh")
            about.size = len(data)
            archive.addfile(about, io.BytesIO(data))
    command = (
        "set -e; folder=$(mktemp -d); cd $folder; base64 -d | tar xzf -; set +e; "
        'for file in *.sh; do echo "@@@"; sbatch -v --test-only $file 2>&1; done; cd /; rm -r $folder'
    )
    text = base64.b64encode(packed.getvalue()).decode()
    said = slurm.run_as("alice", f"({command}) | base64", stdin=text, timeout_s=300).stdout
    blocks = base64.b64decode(said).decode("utf-8", "replace").split("@@@\n")[1:]
    return [_read_answer(block) for block in blocks]


def _read_answer(block: str) -> Answer:
    """What the controller refuses came past sbatch itself, which is what is asked here."""
    accepted = "to start at" in block or "allocation failure:" in block
    listed = re.search(r"sbatch: defined options\n(.*?)sbatch: end of defined options", block, re.DOTALL)
    options = dict(re.findall(r"^sbatch: ([a-z-]+) *: (.*)$", listed[1], re.MULTILINE)) if listed else {}
    return Answer(is_accepted=accepted, said=block.strip(), options=options)


# Refused by 22.05, which we follow, and taken by a newer sbatch.
MILDER_SINCE = {
    "#SBATCH --nodes=1,2": (24, 11),
    "#SBATCH --gpus=x:y:2": (24, 11),
    "#SBATCH --gpus-per-node=x:y:2": (24, 11),
    "#SBATCH --gres=gpu::1": (24, 11),
    "#SBATCH --gres=gpu=1": (24, 11),
    "#SBATCH --gres=gpu:x:y:1": (24, 11),
    "#SBATCH --signal=CHLD": (24, 11),
    "#SBATCH --exclusive=topo": (24, 11),
    "#SBATCH --job-name=a\\ b": (24, 11),
    "#SBATCH -w node[1-2] -N 1": (24, 11),
    "#SBATCH -G 4 --gpus-per-task=4 --ntasks-per-node=2": (24, 11),
}


# Taken by 22.05 and refused by a newer one.
STRICTER_SINCE = {"#SBATCH --gpus-per-task=1 --ntasks-per-node=2": (24, 11)}


def is_otherwise_since(text: str, version: tuple[int, int]) -> bool:
    """A newer sbatch is milder or stricter, or has more options, so that an abbreviation fits two."""
    typed = re.match(r"#SBATCH --([a-z-]+)", text)
    has_rival = typed is not None and any(name.startswith(typed[1]) for name in (*NEWER, *GONE))
    since = {**MILDER_SINCE, **STRICTER_SINCE}.get(text, (99, 0))
    return version >= since or (version > (22, 5) and has_rival)


def ask_version(slurm: SlurmCluster) -> tuple[int, int]:
    found = re.search(r"(\d+)\.(\d+)", slurm.run_as("alice", "sbatch --version").stdout)
    assert found
    return int(found[1]), int(found[2])


def differ(script: Script, answer: Answer) -> str | None:
    if script.is_accepted != answer.is_accepted:
        return f"sbatch {'takes' if answer.is_accepted else 'refuses'} it: {answer.said[-300:]}"
    taken = {one.name for one in script.options} - _QUIET
    if script.is_accepted and taken != answer.names and not {"hint", "ntasks", "nodes"} & (taken ^ answer.names):
        return f"sbatch took {sorted(answer.names)}, we {sorted(taken)}"
    return None


def test_fixtures_have_the_verdict_that_sbatch_gives_now(slurm: SlurmCluster) -> None:
    files = sorted(SCRIPTS.glob("*.sh"))

    answers = ask_sbatch(slurm, [file.read_bytes() for file in files])

    found = {file.name: differ(read_script(file.read_bytes()), one) for file, one in zip(files, answers, strict=True)}
    assert {name: text for name, text in found.items() if text} == {}


def test_variations_have_the_verdict_that_sbatch_gives_now(slurm: SlurmCluster) -> None:
    version = ask_version(slurm)
    texts = [text for text in dict.fromkeys(make_variations()) if not _UNDECIDED.search(text)]
    texts = [text for text in texts if not is_otherwise_since(text, version)]
    scripts = [f"#!/bin/bash\n{text}\nhostname\n".encode() for text in texts]

    answers = ask_sbatch(slurm, scripts)

    assert len(texts) > 150
    pairs = zip(texts, scripts, answers, strict=True)
    found = {text: differ(read_script(script), answer) for text, script, answer in pairs}
    wrong = {text: said for text, said in found.items() if said}
    assert list(wrong) == [], wrong


def test_arrays_have_the_verdict_that_the_controller_gives_now(slurm: SlurmCluster) -> None:
    scripts = [f"#!/bin/bash\n#SBATCH --array={text}\nhostname\n".encode() for text in ARRAYS]

    answers = ask_sbatch(slurm, scripts)

    read = [read_script(script).last("array") for script in scripts]
    ours = [find_array_refusal(option.value) if option else "no option" for option in read]
    theirs = [re.search("Invalid job array specification", one.said) for one in answers]
    assert {
        text: said for text, said, their in zip(ARRAYS, ours, theirs, strict=True) if bool(said) != bool(their)
    } == {}


def test_an_empty_partition_is_refused(slurm: SlurmCluster) -> None:
    """Until 26.05, which takes it for the default."""
    (answer,) = ask_sbatch(slurm, [b"#!/bin/bash\n#SBATCH --partition=\nhostname\n"])

    assert ("Invalid partition name specified" in answer.said) is (ask_version(slurm) < (26, 5))


def test_kinds_of_mail_add_up(slurm: SlurmCluster) -> None:
    (answer,) = ask_sbatch(slurm, [b"#!/bin/bash\n#SBATCH --mail-type=END\n#SBATCH --mail-type=FAIL\nhostname\n"])

    # Since 26.05 the last one wins, as with other options.
    assert answer.options["mail-type"] == ("END,FAIL" if ask_version(slurm) < (26, 5) else "FAIL")


def test_adopted_scripts_plan_to_what_sbatch_takes_for_the_same(slurm: SlurmCluster) -> None:
    originals = [file.read_bytes() for file in GOOD]
    adoptions = [adopt_script(read_script(data), name=file.stem) for file, data in zip(GOOD, originals, strict=True)]
    planned = [make_planned(one, site_of(file)) for file, one in zip(GOOD, adoptions, strict=True)]

    asked, got = ask_sbatch(slurm, originals), ask_sbatch(slurm, planned)

    for file, adoption, first, second in zip(GOOD, adoptions, asked, got, strict=True):
        assert first.is_accepted, file.name
        assert second.is_accepted, file.name
        # A body that stays divides its one task itself; all memory of a node is told to be left out.
        compared = [
            key for key in CARRIED if key in first.options and not (key == "mem" and first.options[key] == "0?")
        ]
        if adoption.body is not None:
            compared = [key for key in compared if key not in ("ntasks-per-node", "cpus-per-task")]
        assert {key: second.options.get(key) for key in compared} == {key: first.options[key] for key in compared}, (
            file.name
        )


def make_planned(adoption: Adoption, site_name: str) -> bytes:
    site = load_site(site_name, find_folders(os.environ))
    plan = make_plan(read_toml(adoption), site, NOTHING_SEEN, Attempt(run_id="run-abcde"), launchers=LAUNCHERS)
    return make_script(plan).encode()


def test_a_living_centre_is_asked(slurm: SlurmCluster, tmp_path: Path) -> None:
    """With --live each finding stands on the directive that this very cluster refuses."""
    (tmp_path / "sites").mkdir()
    (tmp_path / "sites" / "alpha.toml").write_text('root = "$HOME/windlass"\n[login]\nhost = "login-direct"\n')
    script = tmp_path / "job.sh"
    script.write_text(
        "#!/bin/bash\n#SBATCH --account=nosuch\n#SBATCH --partition=dev\n#SBATCH --time=2:00:00\n"
        "#SBATCH --mem=100G\n#SBATCH --cpus-per-task=4\nhostname\n"
    )
    env = {
        **os.environ,
        "WINDLASS_CONFIG_DIR": str(tmp_path),
        "WINDLASS_STATE_DIR": str(tmp_path / "state"),
        "WINDLASS_SSH_CONFIG": str(slurm.ssh_config),
    }

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "windlass", *args]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)

    done = run("lint", "--site", "alpha", "--live", "--format", "json", str(script))
    run("logout", "alpha")

    (file,) = json.loads(done.stdout)["files"]
    assert file["accepted"] is True  # by sbatch itself; the controller refuses it
    assert {one["line"] for one in file["findings"] if one["severity"] == "error"} == {2, 4, 5}
    assert done.returncode == 1
