"""For people, for programs, and for forges."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = "#!/bin/bash\n#SBATCH --time=1:00:00 --mem=4G\n#SBATCH --ntaks=4\n\twget https://x.org/a%b.tar\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my jobs").mkdir()
    (tmp_path / "my jobs" / "a,b.sh").write_text(SCRIPT)
    return tmp_path


def lint(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "windlass", "lint", *args]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_text_is_a_compilers(folder: Path) -> None:
    done = lint(folder, "my jobs/a,b.sh", "--select", "S118")

    assert done.stdout.splitlines()[:5] == [
        "my jobs/a,b.sh:3:9: error[S118]: there is no option --ntaks",
        "    3 | #SBATCH --ntaks=4",
        "      |         ^^^^^^^^^",
        "  why: sbatch refuses the whole script for one option it does not know: unrecognized option.",
        "  fix: did you mean --ntasks?",
    ]
    assert done.stderr.strip() == "1 script: 1 error; 1 can be mended by --fix"
    assert done.returncode == 1
    assert "\x1b" not in done.stdout


def test_numbers_are_told_as_one_says_them(folder: Path) -> None:
    (folder / "one.sh").write_text("#!/bin/bash\n#SBATCH --gres=gpu:1 -c 8\ntorchrun --nproc_per_node=2 train.py\n")

    done = lint(folder, "one.sh", "my jobs/a,b.sh", "--level", "advice")

    assert "2 processes a node, and 1 GPU is asked for" in done.stdout
    assert re.search(r"2 scripts: .*\d (?:piece|pieces) of advice", done.stderr), done.stderr


def test_json_tells_the_verdict_too(folder: Path) -> None:
    document = json.loads(lint(folder, "my jobs", "--format", "json").stdout)

    (file,) = document["files"]
    assert file["path"] == "my jobs/a,b.sh"
    assert file["accepted"] is False
    assert file["refusal"] == "unrecognized option '--ntaks=4'"
    first = next(one for one in file["findings"] if one["code"] == "S118")
    assert (first["line"], first["column"], first["severity"], first["fixable"]) == (3, 9, "error", True)
    assert json.loads(lint(folder, "my jobs", "--json").stdout) == document


def test_github_shows_it_beside_the_line(folder: Path) -> None:
    lines = lint(folder, "my jobs", "--format", "github", "--select", "S118,S601").stdout.splitlines()

    assert lines[0].startswith("::error file=my jobs/a%2Cb.sh,line=3,col=9,endColumn=18,title=S118::there is no option")
    assert "%0Awhy: " in lines[0]
    assert lines[1].startswith("::notice file=")
    assert "a%25b.tar" in lines[1]


def test_sarif_has_what_its_schema_asks_for(folder: Path) -> None:
    document = json.loads(lint(folder, "my jobs", "missing.sh", "--format", "sarif").stdout)

    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"]
    assert len({rule["id"] for rule in driver["rules"]}) == len(driver["rules"])
    for rule in driver["rules"]:
        assert set(rule) == {"id", "name", "shortDescription", "fullDescription"}
        assert rule["shortDescription"]["text"]
    assert run["results"]
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert " " not in place["artifactLocation"]["uri"]
        assert place["artifactLocation"]["uri"] in ("my%20jobs/a%2Cb.sh", "missing.sh")
        assert 1 <= place["region"]["startColumn"] < place["region"]["endColumn"]
        assert place["region"]["startLine"] >= 1


def test_select_ignore_and_level(folder: Path) -> None:
    def codes(*args: str) -> set[str]:
        found = json.loads(lint(folder, "my jobs", "--format", "json", *args).stdout)
        return {one["code"] for one in found["files"][0]["findings"]}

    assert codes("--select", "S118") == {"S118"}
    assert "S118" not in codes("--ignore", "S1")
    assert codes("--level", "error") == {"S118"}


def test_a_script_without_errors_ends_with_0(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("#!/bin/bash\n#SBATCH --output=x.log\nhostname\n")

    assert lint(tmp_path, "a.sh").returncode == 0


@pytest.mark.parametrize("args", [(), ("--diff",), ("--format", "json"), ("--format", "github"), ("--format", "sarif")])
def test_a_secret_is_shown_nowhere(tmp_path: Path, args: tuple[str, ...]) -> None:
    key = "0123456789abcdef" * 2 + "01234567"
    (tmp_path / "job.sh").write_text(
        f"#!/bin/bash\n#SBATCH --ntaks=4\nwandb login {key}; cd /home/ada/a/b\nexport WANDB_API_KEY={key}\n"
    )

    done = lint(tmp_path, "job.sh", *args)

    assert done.stdout
    assert key[:12] not in done.stdout
    if not args:
        line = "    3 | wandb login ***; cd /home/ada/a/b\n      | "
        assert f"{line}            ^^^\n" in done.stdout
        assert f"{line}                    ^^^^^^^^^^^^^\n" in done.stdout
