"""Definitions of images: secrets in them are refused by file and line, and what only looks like one is not."""

import pytest

from tests.builders import SITE
from windlass.core.run import Environment
from windlass.environments import KINDS
from windlass.errors import PlanError

_HEAD = "Bootstrap: docker\nFrom: python:3.11-slim\n"
_KEY = "a1b2c3d4" * 5
_SECRETS = ("hunter2", _KEY)


def read(text: str, **files: str) -> None:
    there = {"image.def": text, **{name.replace("__", "."): one for name, one in files.items()}}
    KINDS["container"].read(Environment(container="image.def"), SITE, there.get)


def refuse(text: str, **files: str) -> PlanError:
    with pytest.raises(PlanError) as caught:
        read(text, **files)
    said = f"{caught.value} {caught.value.hint} {caught.value.details}"
    assert not any(secret in said for secret in _SECRETS)
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "way"),
    [
        ("Bootstrap: docker\nFrom: https://ada:hunter2@registry.lab.org/net:1\n", 2, "registry login"),
        ("Bootstrap: docker\nFrom: ada:hunter2@registry.lab.org/net:1\n", 2, "registry login"),
        (f"{_HEAD}%post\n  true\nBootstrap: docker\nFrom: ada:hunter2@registry.lab.org/net:1\n", 6, "registry login"),
        ("Bootstrap: yum\nMirrorURL: http://ada:hunter2@rpms.lab.org/rocky\n", 2, "registry login"),
        (f"{_HEAD}%post\n  pip install -i https://ada:hunter2@pypi.lab.org/all net\n", 4, ".sif"),
        (f"{_HEAD}%post\n  git clone https://{_KEY}@lab.org/net.git\n", 4, ".sif"),
        (f'{_HEAD}%post\n  curl -H "Authorization: Bearer {_KEY}" https://lab.org/x\n', 4, ".sif"),
        (f"{_HEAD}%post\n  curl -u ada:hunter2 https://lab.org/x\n", 4, ".sif"),
        (f"{_HEAD}%post\n  wget --password=hunter2 https://lab.org/x\n", 4, ".sif"),
        (f"{_HEAD}%post\n  export HF_TOKEN=hf_{_KEY}\n  hf download x\n", 4, ".sif"),
        (f"{_HEAD}%post\n  echo 'machine github.com login ada password hunter2' > ~/.netrc\n", 4, ".sif"),
        (f"{_HEAD}%post\n  printf 'machine a.org\\nlogin ada\\npassword hunter2\\n' > ~/.netrc\n", 4, ".sif"),
        (f"{_HEAD}%post\n  cat > ~/.netrc <<END\nmachine a.org\n  login ada\n  password hunter2\nEND\n", 7, ".sif"),
        (f"{_HEAD}%post\n  aws configure set aws_secret_access_key hunter2/x\n", 4, ".sif"),
        (f"{_HEAD}%post\n  aws --profile lab configure set lab.aws_session_token 'hunter2'\n", 4, ".sif"),
        (f"{_HEAD}%post\n  docker login -u ada -p hunter2 registry.lab.org\n", 4, ".sif"),
        (f"{_HEAD}%post\n  apptainer remote login -u ada -p 'hunter2' docker://registry.lab.org\n", 4, ".sif"),
        (f"{_HEAD}%post\n  sshpass -p hunter2 scp ada@lab.org:x .\n", 4, ".sif"),
        (f"{_HEAD}%post\n  sshpass -phunter2 scp ada@lab.org:x .\n", 4, ".sif"),
        (f"{_HEAD}%post\n  mysqldump -h db -u ada -phunter2 lab\n", 4, ".sif"),
        (f"{_HEAD}%post\n  smbclient //srv/data -U ada%hunter2 -c 'get x'\n", 4, ".sif"),
        (f"{_HEAD}%post\n  lftp -u ada,hunter2 lab.org\n", 4, ".sif"),
        (f"{_HEAD}%post\n  PGPASSWORD=hunter2 psql -h db lab\n", 4, ".sif"),
        (f"{_HEAD}%environment\n  export WANDB_API_KEY={_KEY}\n", 4, '\nWANDB_API_KEY = "env:WANDB_API_KEY"'),
        (f"{_HEAD}%environment\n  export DB_PASSWORD=hunter2\n", 4, '[run.secrets]\nDB_PASSWORD = "env:DB_PASSWORD"'),
        (f"{_HEAD}%runscript\n  API_KEY={_KEY} exec python train.py\n", 4, "[run.secrets]"),
        (f"{_HEAD}%labels\n  Token {_KEY}\n  GITHUB_TOKEN=ghp_{_KEY[:36]}\n", 5, ".sif"),
    ],
)
def test_a_secret_is_refused_with_its_line_and_the_right_way(text: str, line: int, way: str) -> None:
    problem = refuse(text)

    assert f"image.def:{line} " in problem.message
    assert way in str(problem.hint)
    assert "nothing was sent" in str(problem.done)


@pytest.mark.parametrize(
    "lines",
    [
        "%post\n  pip install -i https://${USER}:${TOKEN}@pypi.lab.org/all net",
        "%post\n  adduser --disabled-password worker",
        "%post\n  adduser --disabled-password --gecos '' worker",
        "%environment\n  export GPG_KEY=A035C8C19219BA821ECEA86B64E628F8D684696D",
        "%environment\n  export HF_TOKEN_PATH=/scratch/token TOKENIZERS_PARALLELISM=false",
        '%environment\n  export API_KEY=$API_KEY PASSWORD="${PASSWORD}"',
        "%post\n  git clone git+ssh://git@github.com/lab/net.git",
        "%labels\n  Author ada@lab.org",
        "# never https://user:password@host/",
        '%post\n  echo "machine github.com login ada password ${TOKEN}" > ~/.netrc',
        "%help\n  needs ~/.netrc: machine github.com login USER password WORD",
        '%post\n  docker login -u ada -p "$WORD" registry.lab.org && docker run -p 8080:80 x',
        "%post\n  docker login registry.lab.org; docker run -p 8080:80 x",
        "%post\n  mkdir -p /data && mysql -u ada -p lab -P 3306 --protocol=tcp",
        "%post\n  sshpass -f /run/word scp -p ada@lab.org:x .",
        "%post\n  aws configure set region eu-west-1",
    ],
)
def test_what_only_looks_like_one_is_taken(lines: str) -> None:
    read(f"{_HEAD}{lines}\n")


def test_an_image_with_a_digest_is_no_password() -> None:
    read("Bootstrap: docker\nFrom: python:3.11@sha256:" + "0" * 64 + "\n")


@pytest.mark.parametrize("name", [".netrc", ".env", "id_rsa", "keys/host.pem"])
def test_a_file_with_the_name_of_a_secret_is_not_copied_into_an_image(name: str) -> None:
    problem = refuse(f"{_HEAD}%files\n  {name} /root/\n", **{name.replace(".", "__"): "machine x"})

    assert f"image.def:4 copies {name}" in problem.message


def test_a_secret_in_a_file_that_is_copied_is_refused() -> None:
    problem = refuse(
        f"{_HEAD}%files\n  pip.conf /etc/\n", pip__conf="[global]\nindex-url = https://a:hunter2@lab.org\n"
    )

    assert "pip.conf:2 " in problem.message
