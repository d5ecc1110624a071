"""`windlass site show`: what a site file holds for people is shown somewhere."""

from pathlib import Path

from tests.cli.conftest import Windlass

SITE = """
onboarding = ["sign the form", "wait for a mail"]
country = "Nowhere"
[login]
host = "login.nowhere.invalid"
globus = "nowhere#dtn"
globus_after = "1h"
transfer_note = "no scp at night"
[accounting]
account_rule = "named after the lab"
account_prefixes = ["def-"]
account_command = "list-accounts"
balance_page = "https://nowhere.invalid/left"
[rules]
login_for = "editing and compiling"
login_gpus = false
max_nodes_interactive = 2
[software]
container = "apptainer"
container_module = "apptainer/1.3"
container_home = "/scratch/home"
modules_on_login = false
operating_system = "Some Linux 9"
wheel_command = "find-wheels"
[machine]
petaflops = 2.5
memory_tb = 12
processor = "some processor"
[node.fat]
cores = 2
processor = "another processor"
[gpu.v100]
cuda_cores = 5120
[links]
jupyter = "https://nowhere.invalid/jupyter"
[datasets]
imagenet = "/data/imagenet"
"""
SHOWN = (
    *("1. sign the form", "2. wait for a mail", "Nowhere", "nowhere#dtn", "longer than 1h", "no scp at night"),
    *("named after the lab", "def-", "list-accounts", "https://nowhere.invalid/left", "editing and compiling"),
    *("no GPUs", "at most 2 nodes", "apptainer, module apptainer/1.3, home inside is /scratch/home", "no `module`"),
    *("Some Linux 9", "find-wheels", "2.5 petaflops, 12 TB of memory, some processor", "another processor"),
    *("5120 CUDA cores", "https://nowhere.invalid/jupyter", "/data/imagenet"),
)


def test_more_is_shown_when_it_is_asked_for(windlass: Windlass, tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text(SITE)
    windlass("site", "add", "nowhere", "--file", str(tmp_path / "site.toml"))

    short, long = windlass("site", "show", "nowhere"), windlass("site", "show", "nowhere", "--more")

    assert [words for words in SHOWN if words not in long.stdout] == []
    assert "sign the form" not in short.stdout
    assert "windlass site show nowhere --more" in short.stderr
