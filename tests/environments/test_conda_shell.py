"""What clients of conda's print of an address: without its password, whatever is in it."""

import subprocess

import pytest

from windlass.environments.conda_shell import hide_tokens


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("asking https://conda.lab.org/t/ab-12/x", "asking https://conda.lab.org/t/***/x"),
        ("https://ada:hunter22@lab.org/x", "https://***@lab.org/x"),
        ("https://ada:hun/ter@22@lab.org/x", "https://***@lab.org/x"),
        ("https://word@lab.org/x and https://lab.org:8080/x@1", "https://***@lab.org/x and https://lab.org:8080/x@1"),
    ],
)
def test_it_is_hidden(said: str, shown: str) -> None:
    script = f"{hide_tokens('hide')}\nprintf '%s\\n' \"$1\" | hide"

    done = subprocess.run(["bash", "-c", script, "bash", said], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == shown
