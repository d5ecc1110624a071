"""Each rule speaks where it should, and is silent where it nearly should."""

from dataclasses import replace

import pytest

from tests.builders import SITE
from tests.lint.examples import AT_A_CENTRE, EXAMPLES, LOUDNESS, MORE, make_script
from windlass.core.finding import Severity
from windlass.core.sbatch.script import read_script
from windlass.core.site import ModuleSystem, Rules, Software
from windlass.lint import RULES, lint_script

NO_HOME = replace(SITE, rules=Rules(jobs_from_home=False, compute_internet=False))
STAGES = replace(SITE, software=Software(modules=ModuleSystem.LMOD, always_load=("Stages/2024",)))
CENTRES = {"S310": SITE, "S311": STAGES, "S604": NO_HOME}


def codes(example: str | bytes) -> set[str]:
    return {mark.code for mark in lint_script(read_script(make_script(example)))}


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_trips_the_rule(code: str) -> None:
    assert code in codes(EXAMPLES[code][0])


@pytest.mark.parametrize("code", EXAMPLES)
def test_a_near_miss_does_not(code: str) -> None:
    assert code not in codes(EXAMPLES[code][1])


@pytest.mark.parametrize(("code", "trips", "near"), MORE)
def test_what_people_met(code: str, trips: str, near: str) -> None:
    assert code in codes(trips)
    assert code not in codes(near)


@pytest.mark.parametrize(("code", "example", "loudness"), LOUDNESS)
def test_an_error_is_what_certainly_fails(code: str, example: str, loudness: str) -> None:
    found = [mark.severity for mark in lint_script(read_script(make_script(example))) if mark.code == code]

    assert found == [loudness]


@pytest.mark.parametrize(
    ("code", "example", "hint"),
    [
        ("S121", "#SBATCH -tasks-per-node=5\n", "--tasks-per-node"),
        ("S160", "#SBATCH --output=/scratch/$USER/x.log\n", "--output=/scratch/%u/x-%j.log"),
        ("S160", "#SBATCH --output=$PLACE/x.log\n", "%j in its name; variables are not expanded here"),
        ("S163", "#SBATCH --output=logs/run-%j/out.log\n", "--output=logs/run-%j-out.log"),
        ("S163", "#SBATCH --output=/logs/%j/%j.out\n", "--output=/logs/%j.out"),
        ("S602", "wandb login\n", "export WANDB_MODE=offline"),
    ],
)
def test_a_hint_can_be_pasted(code: str, example: str, hint: str) -> None:
    assert [one.hint for one in lint_script(read_script(make_script(example))) if one.code == code] == [hint]


@pytest.mark.parametrize("code", AT_A_CENTRE)
def test_a_centres_rule_speaks_only_there(code: str) -> None:
    trips, near = (read_script(make_script(one)) for one in AT_A_CENTRE[code])

    assert code in {mark.code for mark in lint_script(trips, site=CENTRES[code])}
    assert code not in {mark.code for mark in lint_script(near, site=CENTRES[code])}
    assert code not in {mark.code for mark in lint_script(trips)}


def test_every_rule_has_an_example() -> None:
    # S100 is about files that are no scripts: test_bad_input.py
    assert {*EXAMPLES, *AT_A_CENTRE, "S100"} == set(RULES)


@pytest.mark.parametrize("code", EXAMPLES)
def test_a_mark_lies_within_the_file(code: str) -> None:
    script = read_script(make_script(EXAMPLES[code][0]))

    for mark in lint_script(script):
        assert 1 <= mark.line <= len(script.lines)
        assert 1 <= mark.column <= len(script.lines[mark.line - 1]) + 1
        assert mark.length >= 1
        assert mark.why


def test_downloads_weigh_more_where_nodes_have_no_internet() -> None:
    script = read_script(make_script("wget https://data.org/set.tar\n"))
    online = replace(SITE, rules=Rules(compute_internet=True))

    def severity(site: object) -> list[Severity]:
        return [mark.severity for mark in lint_script(script, site=site) if mark.code == "S601"]  # type: ignore[arg-type]

    assert severity(None) == [Severity.ADVICE]
    assert severity(NO_HOME) == [Severity.ERROR]
    assert severity(online) == []


@pytest.mark.parametrize(
    "text",
    [
        "#SBATCH -p=gpu # windlass: ignore=S127\n",
        "# windlass: ignore=S127\n#SBATCH -p=gpu\n",
        "hostname\n#SBATCH -p=gpu  # windlass: ignore=S108\n",
    ],
)
def test_a_comment_passes_over_a_finding(text: str) -> None:
    found = {mark.code for mark in lint_script(read_script(f"#!/bin/bash\n{text}".encode()))}

    assert not found & {"S127", "S108"}


def test_a_comment_at_the_top_counts_for_the_whole_file() -> None:
    text = b"#!/bin/bash\n# windlass: ignore=S1,S127\n#SBATCH --nodes=1\n#SBATCH -p=gpu\n"

    assert lint_script(read_script(text)) == ()


def test_a_comment_elsewhere_counts_for_its_line_alone() -> None:
    text = b"#!/bin/bash\n#SBATCH -p=gpu # windlass: ignore=S127\n#SBATCH -A=x\n"

    assert [mark.line for mark in lint_script(read_script(text)) if mark.code == "S127"] == [3]
