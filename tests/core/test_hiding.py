"""What is struck out of a bundle for others."""

import pytest

from windlass.core.ending.hiding import find_in_settings, hide, names_a_secret

VALUE = "hunter2xyz"


@pytest.mark.parametrize(
    "name",
    ["GITHUB_PAT", "WANDB_API_KEY", "db-password", "apiToken", "passwd", "AWS_SECRET", "X_AUTH", "PAT", "KEY_2"],
)
def test_a_name_tells_a_secret(name: str) -> None:
    assert names_a_secret(name)


@pytest.mark.parametrize(
    "name", ["PATH", "key", "MAX_TOKENS", "TOKENIZERS_PARALLELISM", "MONKEY", "PWD", "author", "keyboard_layout"]
)
def test_a_name_tells_none(name: str) -> None:
    assert not names_a_secret(name)


@pytest.mark.parametrize(
    "text",
    [
        f"password={VALUE}",
        f"PASSWORD = '{VALUE}'",
        f'"db_password": "{VALUE}"',
        f'{{\\"token\\": \\"{VALUE}\\"}}',
        f"export GITHUB_PAT={VALUE}",
        f"train.py --api-key {VALUE} --lr 1",
        f"train.py --token={VALUE}",
        f"train.py --api-key '{VALUE}' --lr 1",
        f'train.py --api-key "{VALUE}"',
        f"https://x/y?access_token={VALUE}&page=1",
        f"Authorization: Bearer {VALUE}",
        f"passwd: {VALUE}",
    ],
)
def test_a_value_after_such_a_name_is_hidden(text: str) -> None:
    hidden = hide(text, ())

    assert VALUE not in hidden
    assert "***" in hidden


@pytest.mark.parametrize(
    "text",
    [
        "sorted(x, key=len)",
        'WANDB_API_KEY = "env:WANDB_API_KEY"',
        "export TOKEN=$TOKEN",
        "KeyError: 'lr'",
        "PATH=/usr/bin:/bin",
        "max_tokens=4096",
        "use_auth_token=None",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert hide(text, ()) == text


def test_a_value_is_hidden_wherever_and_however_it_stands() -> None:
    odd = 'it\'s "q" é'
    text = f"""plain {odd} json "it's \\"q\\" \\u00e9" shell 'it'"'"'s "q" é'"""

    assert hide(text, (odd,)).count("***") == 3
    assert hide("a short one", ("short", "a")) == "a short one"


def test_settings_tell_their_secrets_however_they_are_written() -> None:
    text = 'env = { A_TOKEN = "x1", B = "x2" }\n[run.env]\n"GITHUB_PAT" = \'x3\'\nC_KEY = "env:C"\n'

    assert find_in_settings(text) == {"x1", "x3"}
    assert find_in_settings("no toml") == frozenset()


def test_a_long_line_is_read_once() -> None:
    for unit in ("password", "password=", "--token ", "a-", "\\"):
        assert hide(unit * 20_000, ())
