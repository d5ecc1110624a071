"""Advice about windlass.toml, said again for a batch script."""

import pytest

from tests.diagnoses.examples import EXAMPLES
from windlass.core.finding import Setting
from windlass.core.sbatch.directives import format_directives, reword_for_script
from windlass.diagnoses import diagnose


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("resources.memory", '"96G"', "#SBATCH --mem=96G   # instead of any --mem-per-cpu"),
        ("resources.link_time", '"1d12h"', "#SBATCH --time=1-12:00:00"),
        ("resources.cpus", "8", "#SBATCH --cpus-per-task=8"),
        ("resources.account", '"def-prof"', "#SBATCH --account=def-prof"),
        ("run.env.HF_HUB_OFFLINE", '"1"', "export HF_HUB_OFFLINE=1"),
        ("run.env.NAME", '"two words"', "export NAME='two words'"),
        ("environment.activate", '"source ~/env/bin/activate"', "source ~/env/bin/activate"),
        ("checkpoint.notice", '"4m"', "#SBATCH --signal=B:TERM@240   # the script must pass it on"),
    ],
)
def test_a_setting_becomes_a_line_of_the_script(key: str, value: str, line: str) -> None:
    assert format_directives([Setting(key=key, value=value)]) == [line]


def test_what_only_windlass_knows_is_left_out_and_directives_come_first() -> None:
    settings = [("run.env.A", '"1"'), ("checkpoint.folder", '"c"'), ("resources.nodes", "2")]

    lines = format_directives([Setting(key=key, value=value) for key, value in settings])

    assert lines == ["#SBATCH --nodes=2", "export A=1"]


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        ('[resources] account = "def-prof"', "#SBATCH --account=def-prof"),
        ('[resources] link_time = "12h"   # more', "#SBATCH --time=0-12:00:00   # more"),
        ("or a larger GPU: [resources] gpu", "or a larger GPU: #SBATCH --gres=gpu:KIND:N"),
        ("[resources] gpus_per_node, and more", "#SBATCH --gpus-per-node, and more"),
        ("load it: [environment] modules", "load it: `module load NAME` in the script"),
        ("a smaller batch", "a smaller batch"),
    ],
)
def test_a_hint_speaks_of_the_script(hint: str, said: str) -> None:
    assert reword_for_script(hint) == said


@pytest.mark.parametrize("code", EXAMPLES)
def test_no_hint_speaks_of_the_run_file(code: str) -> None:
    for one in diagnose(EXAMPLES[code].trips):
        said = reword_for_script(one.hint or "")
        for ours in ("[environment]", "[resources]", "[run]", "[checkpoint]", "run.command", "windlass.toml"):
            assert ours not in said
