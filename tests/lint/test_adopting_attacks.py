"""Scripts that were written to trip `windlass adopt`: names, secrets, lost code, absurd numbers."""

import os
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.cli.conftest import Windlass
from tests.lint.test_adopting import HEAD, adopt, read_toml
from windlass.core.run import RunSpec
from windlass.core.sbatch.shell_secrets import find_secret_spans, hide_in_shell
from windlass.core.toml.run_file import read_run

TOKEN = "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH"
HEX = "0123456789abcdef" * 2 + "01234567"
LOOP = "for i in 1; do echo $i; done\n"  # what makes a body stay a script


@pytest.mark.parametrize(
    "name", ["a;touch PWN;b.sh", "$(touch PWN).sh", "-x.sh", "a b'\".sh", "we\x1b[31mird.sh", "é.sh"]
)
def test_a_name_is_no_command_and_steers_no_terminal(windlass: Windlass, project: Path, name: str) -> None:
    (project / name).write_text(HEAD + LOOP)

    adopted = windlass("adopt", "--", name)
    command = tomllib.loads((project / "windlass.toml").read_text())["run"]["command"]
    ran = subprocess.run(["bash", "-c", command], cwd=project, capture_output=True, text=True, check=False)

    assert adopted.returncode == 0, adopted.stderr
    assert "\x1b" not in adopted.stderr + adopted.stdout
    assert (ran.stdout, ran.stderr) == ("1\n", "")
    assert not (project / "PWN").exists()


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"#SBATCH --wckey={TOKEN}\npython t.py\n", TOKEN),
        (f"#SBATCH --account={TOKEN}\npython t.py\n", TOKEN),
        (f"#SBATCH --job-name={TOKEN}\npython t.py\n", TOKEN),
        (f"#SBATCH --gres=gpu:{TOKEN}:1\npython t.py\n", TOKEN),
        (f"#SBATCH --export=ALL,WANDB_API_KEY={HEX}\npython t.py\n", HEX),
        ("#SBATCH --export=ALL,GITLAB_PAT=a1b2c3d4e5f6g7\npython t.py\n", "a1b2c3d4e5f6g7"),
        (f'echo "tok: {TOKEN}"\npython t.py\n', TOKEN),
        (f'python t.py\necho "tok: {TOKEN}"\n', TOKEN),
        (f"source /x/act --key {TOKEN}\npython t.py\n", TOKEN),
        (f"export A=1 HF_TOKEN={TOKEN} B=2\npython t.py\n", TOKEN),
        ("export DB_PASSWORD='correct horse'\npython t.py\n", "correct horse"),
        ("pip install --find-links https://user:tok3n@host/wheels x\npython t.py\n", "tok3n"),
        ("python t.py --password hunter2secret\n", "hunter2secret"),
        ("curl -u user:pa55word https://user:tok3n@host\n", "pa55word"),
        ("curl -u user:pa55word https://user:tok3n@host\n", "tok3n"),
        ('curl -sSu "user:pa55 word" x\n' + LOOP, "pa55"),
        (LOOP + f"# once it was {TOKEN}\n", TOKEN),
        (LOOP + f"cat <<'END'\n{TOKEN}\nEND\n", TOKEN),
        (LOOP + f"x=`echo {TOKEN}`\n", TOKEN),
        (LOOP + "curl -H 'Authorization: Bearer abcdef0123456789abc' x\n", "abcdef0123456789abc"),
    ],
)
def test_a_secret_is_nowhere(windlass: Windlass, project: Path, text: str, secret: str) -> None:
    (project / "train.sh").write_text(HEAD + text)

    words, as_json = windlass("adopt", "train.sh"), windlass("adopt", "train.sh", "--force", "--json")

    assert words.returncode == as_json.returncode == 0, words.stderr
    written = [one.read_text() for one in project.iterdir() if one.is_file() and one.name != "train.sh"]
    for shown in (*written, words.stdout, words.stderr, as_json.stdout, as_json.stderr):
        assert secret not in shown


@pytest.mark.parametrize(
    "text",
    [
        "--password $PASSWORD",
        '--password "${DB_PASSWORD}"',
        "--password-file /run/secrets/pw",
        "--password /run/secrets/pw",
        "--tokenizer gpt2-medium-2024",
        "--max-tokens 4096000000",
        "--pad-token eos",
        "--sort-key created_at_2024",
        "docker run -u 1000:1000 image",
        "git clone git@host:team/repo.git",
        "https://user:$TOKEN@host",
        "https://user:${TOKEN}@host",
        "http://localhost:8080/a@b",
        "rsync host:/data/ x",
        "TOKENIZERS_PARALLELISM=false",
        "PYTHONPATH=/a/b12345678901",
        "SSH_KEY=/home/me/.ssh/id_ed25519",
        "EOS_TOKEN=eos",
        "CACHE_KEY=llama-3-8b-instruct",
        "curl -u $USER:$PASS https://host",
        "basic training of 1234567890123456",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert find_secret_spans(text) == []
    assert hide_in_shell(text) == text


@pytest.mark.parametrize(
    "line",
    [
        "export HF_TOKEN={}; cd /; pwd; echo $HF_TOKEN",
        "export A=1 HF_TOKEN={} B=2; echo $A $HF_TOKEN $B",
        "HF_TOKEN={} bash -c 'echo $HF_TOKEN'; echo on",
        "HF_TOKEN='{}'; HF_TOKEN_2=x; echo $HF_TOKEN$HF_TOKEN_2",
        "echo --password {} && echo next",
        "echo '--token {} it' \"--token {} is\" --token {}",
        "echo $'a\\tb {}'",
        "bash -c 'echo {}; echo x'",
        'x="$(echo "it\'s {}" | tr a-z b-za)"; echo "$x {}"',
        "echo a; cat <<END\ntoken: {}\n#SBATCH --nodes=3\nEND\necho {}",
        "cat <<-'END'\n\tit's\n\tEND\necho \"{}\"",
        "echo $((1 << 2)) {} # it's {}\necho {}",
        'curl() {{ echo "$@"; }}; curl -u user:{} https://user:{}@host',
        "TOKEN=other; echo $TOKEN; TOKEN={}; echo $TOKEN",
        "case a in a) echo {};; esac",
    ],
)
def test_a_body_without_its_secrets_does_the_same(line: str) -> None:
    text = LOOP + line.format(*[TOKEN] * 9) + "\n"
    adoption = adopt(HEAD + text)
    assert adoption.body is not None
    env = {**os.environ, **dict.fromkeys(read_toml(adoption).secrets, TOKEN)}

    before = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=False)
    after = subprocess.run(["bash", "-c", adoption.body], capture_output=True, text=True, check=False, env=env)

    assert TOKEN in before.stdout or "tr a-z" in line
    assert TOKEN not in adoption.body
    assert (after.stdout, after.stderr) == (before.stdout, before.stderr)


def test_where_no_variable_reaches_it_is_said() -> None:
    adoption = adopt(HEAD + LOOP + f"python <<'END'\nlogin('{TOKEN}'); train()\nEND\n")

    assert adoption.body is not None
    assert "login('SECRET_LEFT_OUT'); train()\n" in adoption.body
    assert [one.line for one in adoption.left if "SECRET_LEFT_OUT" in one.why] == [6]


def test_what_activates_does_not_wait_for_a_secret() -> None:
    adoption = adopt(HEAD + f"export HF_TOKEN={TOKEN}\nsource act $HF_TOKEN\npython t.py\n")

    spec = read_toml(adoption)

    assert spec.environment.activate is None
    assert spec.secrets == {"HF_TOKEN": "env:HF_TOKEN"}
    assert adoption.body == "#!/bin/bash\nsource act $HF_TOKEN\npython t.py\n"


@pytest.mark.parametrize(
    "line",
    [
        "env A=1 python prepare.py",
        "echo $(python prepare.py)",
        "echo `python prepare.py`",
        "set -e; python prepare.py",
        "conda activate x & python prepare.py",
        "export PWD=/x; python prepare.py",
    ],
)
@pytest.mark.parametrize("form", ["{}\npython t.py\n", "python t.py\n{}\n"])
def test_no_code_is_taken_for_talk(line: str, form: str) -> None:
    adoption = adopt(HEAD + form.format(line))

    assert adoption.body is not None
    assert form.format(line) in adoption.body


@pytest.mark.parametrize(
    ("option", "key"),
    [
        ("--nodes=99999999999999999999", "nodes"),
        ("--cpus-per-task=99999999999999999999", "cpus"),
        ("--gres=gpu:9999", "gpus_per_node"),
        ("--mem=9000000000T", "memory"),
        ("--time=3000-00", "time"),
        ("--array=1-90000%1", "time"),
        ("--array=1-9999999%1", None),
        (f"--array=1-{'9' * 30}%1", None),
        ("--signal=B:KILL@60", "signal"),
        ("--account='a#b'", "account"),
        (f"--partition={'p' * 300}", "partition"),
        ("--gres=gpu:a~b:1", "gpu"),
        (f"--ntasks={'9' * 400} --gpus={'9' * 400}", None),
    ],
)
def test_an_absurd_value_is_left_out_and_told(option: str, key: str | None) -> None:
    adoption = adopt(f"#!/bin/bash\n#SBATCH --time=10:00:00\n#SBATCH {option}\npython t.py\n")

    values = tomllib.loads(adoption.toml)

    assert isinstance(read_run(values), RunSpec)
    assert key not in {**values["resources"], **values["checkpoint"]}
    assert 3 in [one.line for one in adoption.left]


def test_what_would_not_load_is_not_written(windlass: Windlass, project: Path) -> None:
    (project / "train.sh").write_text(HEAD + "python t.py " + "x" * 40_000 + "\n")

    refused = windlass("adopt", "train.sh")

    assert refused.returncode != 0
    assert "nothing was written" in refused.stderr
    assert "at most 32768" in refused.stderr
    assert [one.name for one in project.iterdir()] == ["train.sh"]
