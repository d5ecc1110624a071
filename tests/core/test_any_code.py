"""Whatever is in a file: it is read or passed over, and nothing is raised."""

import shlex
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.secret_words import find_secrets, hide_secrets
from windlass.core.source.code import Language
from windlass.core.source.network_use import find_network_use
from windlass.core.source.python_code import read_python
from windlass.core.source.shell_commands import read_commands

BAD: dict[str, str] = {
    "empty": "",
    "syntax error": "def f(:\n  pass",
    "Python 2": "print 'hello'\nexec 'x' in d\n",
    "NUL": "x = 1\0\nwget",
    "BOM": "\ufeffimport wandb\nwandb.init()",
    "Latin-1": "# caf\xe9\nx = '\xe9'",
    "lone surrogate": "x = '\\ud800'\nimport wandb\nwandb.init('\\ud800')",
    "one long line": "x = [" + "1," * 60_000 + "]",
    "long text": "x = '" + "a" * 1_000_000 + "'",
    "deep parentheses": "(" * 5_000 + ")" * 5_000,
    "deep lists": "[" * 90 + "]" * 90,
    "deep sum": "x = " + "1+" * 20_000 + "1",
    "deep attributes": "x" + ".a" * 20_000,
    "deep calls": "x" + "()" * 3_000,
    "deep blocks": "".join(" " * depth + "if x:\n" for depth in range(90)) + " " * 90 + "pass",
    "deep unary": "x = " + "not " * 5_000 + "1",
    "open quotes": "echo 'a \"b $(c `d <<EOF\n" * 50,
    "open substitutions": "$(" * 5_000,
    "only operators": "&& || ;; | & ( ) { } < > << <<< >& 2>&1 <( )" * 20,
    "conflict": "<<<<<<< HEAD\nwget x\n=======\n>>>>>>> b\n",
    "escapes": "re.compile('\\d')\n\\\n\\",
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("language", list(Language))
def test_bad_input_is_borne(name: str, language: Language) -> None:
    find_network_use(BAD[name], language)
    assert hide_secrets(BAD[name]).count("\n") == BAD[name].count("\n")


def test_a_file_that_is_no_python_says_where() -> None:
    assert read_python("x = 1\nprint 'hello'\n").problem == (
        2,
        "Missing parentheses in call to 'print'. Did you mean print(...)?",
    )


@given(st.text(alphabet="ab \n'\"\\$(){}`#<>;&|=-wget https://x.org", max_size=80))
def test_any_shell_text_is_read(text: str) -> None:
    read_commands(text)
    find_network_use(text, Language.SHELL)


@given(st.text(max_size=60))
def test_any_text_is_read(text: str) -> None:
    find_network_use(text, Language.PYTHON)
    hide_secrets(text)


@given(st.lists(st.text(alphabet="ab$'\"\\ #;&|()", min_size=1, max_size=6), min_size=1, max_size=5))
def test_quoted_words_come_back(words: list[str]) -> None:
    (command,) = read_commands("run " + " ".join(map(shlex.quote, words)))

    assert command.words == ("run", *words)


def test_pythons_own_library_raises_no_false_alarm() -> None:
    """Real code of others: it goes out nowhere by itself, and holds no secret."""
    library = Path(sysconfig.get_paths()["stdlib"])
    files = [one for one in sorted(library.glob("*.py")) if one.stat().st_size < 60_000][:80]

    texts = {file.name: file.read_text(encoding="utf-8") for file in files}
    alarms = {name: uses for name, text in texts.items() if (uses := find_network_use(text, Language.PYTHON))}
    secrets = {name: found for name, text in texts.items() if (found := find_secrets(text))}

    assert files
    assert (alarms, secrets) == ({}, {})
