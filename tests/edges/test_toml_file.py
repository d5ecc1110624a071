"""TOML files in every broken state a file can be in: a sentence each, never a traceback."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.edges.toml_file import load_toml, read_toml
from windlass.errors import ConfigError


def refuse(path: Path) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load_toml(path, shown=path.name)
    return caught.value


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        (b"[run\n", "f.toml:1 is not TOML: expected ']' at the end of a table declaration", None),
        (
            b"a = 1\nb = python train.py\n",
            "f.toml:2 is not TOML: invalid value",
            'text needs quotes: b = "python train.py"',
        ),
        (
            b"a = 1\na = 2\n",
            "f.toml:2 is not TOML: cannot overwrite a value",
            "the key is there a second time; keep one of them",
        ),
        (b"a = ", "f.toml:1 is not TOML: invalid value", None),
        (b'a = "\n', "f.toml:1 is not TOML: illegal character '\\n'", None),
        (b"a = 1\nb = \xff\n", "f.toml:2 is not UTF-8 (byte 0xff)", "save it as UTF-8 in your editor"),
        (b"\xff\xfea\x00", "f.toml is UTF-16, not UTF-8", "save it as UTF-8 in your editor"),
        (b"\x7fELF\0\0", "f.toml is not a text file", "is it the right file?"),
        (b"a = " + b"[" * 100_000, "f.toml is nested too deeply to be read", None),
        (b"a = " + b"9" * 5000, "f.toml is not TOML: Exceeds the limit", None),
    ],
)
def test_a_file_that_is_no_toml_is_told_with_its_line(tmp_path: Path, content: bytes, message: str, hint: str) -> None:
    path = tmp_path / "f.toml"
    path.write_bytes(content)

    error = refuse(path)

    assert error.message.startswith(message)
    assert error.hint == hint


@pytest.mark.parametrize("before", ["", "[site.here]\n", "a = "])
def test_a_key_of_many_parts_is_told(tmp_path: Path, before: str) -> None:
    inner = ".".join(["k"] * 20_000) + " = 1"
    (tmp_path / "f.toml").write_text(before + ("[{" + inner + "}]" if before.endswith("= ") else inner))

    assert refuse(tmp_path / "f.toml").message.startswith("f.toml is nested too deeply to be read")


def test_the_line_itself_is_shown(tmp_path: Path) -> None:
    (tmp_path / "f.toml").write_text("a = 1\nb = \x1b[31m\n")

    assert refuse(tmp_path / "f.toml").details == ("f.toml:2  b = \\x1b[31m",)


def test_what_is_no_readable_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "loop.toml").symlink_to("loop.toml")
    (tmp_path / "broken.toml").symlink_to("nowhere")
    with (tmp_path / "huge.toml").open("wb") as file:
        file.truncate(100_000_000)

    assert refuse(tmp_path / "folder.toml").message == "folder.toml is a folder, not a file"
    assert refuse(tmp_path / "pipe.toml").message == "pipe.toml is not a regular file"
    assert refuse(tmp_path / "loop.toml").message.startswith("loop.toml cannot be read: ")
    assert refuse(tmp_path / "broken.toml").message == "there is no file broken.toml"
    assert refuse(tmp_path / "none.toml").message == "there is no file none.toml"
    assert refuse(tmp_path / "huge.toml").message == "huge.toml has 100,000,000 bytes; no settings are that long"
    assert refuse(tmp_path / "a\0b").message.endswith("embedded null byte")
    assert "cannot be read" in refuse(tmp_path / ("x" * 300)).message


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_told(tmp_path: Path) -> None:
    path = tmp_path / "f.toml"
    path.write_text("a = 1")
    path.chmod(0)

    assert refuse(path).message == "f.toml cannot be read: permission denied"


def test_a_mark_of_windows_and_its_line_ends_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "f.toml"
    path.write_bytes(b'\xef\xbb\xbf[run]\r\ncommand = """\r\na\r\nb"""\r\nname = \'x\'\r\n')

    file = load_toml(path)

    assert file.values == {"run": {"command": "a\nb", "name": "x"}}
    assert file.line_of(("run", "name")) == 5


@given(st.text())
def test_any_text_is_values_or_a_sentence(text: str) -> None:
    try:
        file = read_toml(text, shown="f.toml")
    except ConfigError as error:
        told = [error.message, *error.details]
        file = None
    else:
        told = []

    assert all(line.startswith("f.toml") for line in told)
    assert all(line.isprintable() for line in told)
    assert file is None or all(file.line_of((key,)) for key in file.values)
