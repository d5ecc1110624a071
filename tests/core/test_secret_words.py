"""Secrets in text: found by shape or name, never shown; and what only looks like one."""

import pytest

from windlass.core.secret_words import HIDDEN, find_secrets, hide_secrets

HUGGING = "hf_" + "abcdefghijklmnopqrstuvwx"  # in two parts: nobody shall take it for a real one
KEY = "0123456789abcdef" * 2 + "01234567"

SECRETS: list[tuple[str, str]] = [
    ("HF_TOKEN=hf_abcdefghijkl python train.py", "HF_TOKEN"),
    (f"login --token {HUGGING}", "Hugging Face token"),
    (f'wandb.login(key="{KEY}")', "Weights & Biases key"),
    ('WANDB_API_KEY = "abcdefabcdef1234"', "WANDB_API_KEY"),
    ("WANDB_API_KEY=0123456789abcdef", "WANDB_API_KEY"),
    ("train.py --password='correcthorsebattery'", "password"),
    ("password: hunter2hunter22", "password"),
    ('{"api_key": "abc123def456"}', "api_key"),
    ("token = ghp_" + "a1" * 18, "GitHub token"),
    ('OPENAI = "sk-' + "ab12" * 8 + '"', "OpenAI key"),
    ("AKIA" + "ABCDEFGHIJKLMNOP", "AWS key"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYaBcDeFgHiJk", "aws_secret_access_key"),
    ("https://bob:hunter22@example.org/x.git", "password in an address"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU=\n", "private key"),
]

NONE: list[str] = [
    "--tokenizer=bert-base-uncased",
    "--max_tokens=1000000000000",
    "--secret=$KEY",
    "HF_TOKEN=$HF_TOKEN",
    "HF_TOKEN_PATH=/scratch/alice/token/file",
    "TOKENIZERS_PARALLELISM=false",
    'WANDB_API_KEY = "env:WANDB_API_KEY"',
    'api_key = os.environ["OPENAI_API_KEY"]',
    "api_key = get_api_key_from_vault()",
    "password = getpass.getpass()",
    'api_key="YOUR_API_KEY_HERE"',
    'token="xxxxxxxxxxxxxxxxxxxx"',
    "pad_token='[PAD]', eos_token='<|endoftext|>'",
    "entity_mask2_token=entity_mask2_token,",
    "token_mixers=InceptionDWConv2d,",
    '"token_classification_class": "ForTokenClassification",',
    "--task-sk-learn",
    f"https://github.com/wandb/wandb/blob/{KEY}/x.go",
    f"commit {KEY}",
    "http://user:pass@example.org/",
    "https://username:password@host.com:80/path",
    "git@github.com:a/b.git",
    "secret_key = settings.SECRET_KEY_VALUE",
    'pattern = re.compile("-----BEGIN PRIVATE KEY-----")',
    'HOROVOD_SECRET_KEY = "_HOROVOD_SECRET_KEY"',
    "keyboard = monkey_business_1234",
    "num_tokens = 128000128000",
]


@pytest.mark.parametrize(("text", "kind"), SECRETS)
def test_a_secret_is_found_and_hidden(text: str, kind: str) -> None:
    (secret,) = find_secrets(text)
    hidden = hide_secrets(text)

    assert secret.kind == kind
    assert HIDDEN in hidden
    assert find_secrets(hidden) == ()
    assert hidden.count("\n") == text.count("\n")


@pytest.mark.parametrize("text", NONE)
def test_what_only_looks_like_one_is_left(text: str) -> None:
    assert find_secrets(text) == ()
    assert hide_secrets(text) == text


def test_it_says_where() -> None:
    (secret,) = find_secrets("first\n  API_KEY=abcdef123456\n")

    assert (secret.line, secret.column) == (2, 11)


@pytest.mark.parametrize("piece", ["token", "a", 'key="', "wandb ", "://a:", "-----BEGIN PRIVATE KEY-----"])
def test_long_lines_are_read_to_their_end(piece: str) -> None:
    assert hide_secrets(piece * 10_000) == piece * 10_000
