"""Whatever a script holds, it is read, judged, mended and adopted without a traceback."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from windlass.core.run import RunSpec
from windlass.core.sbatch.adoption import adopt_script
from windlass.core.sbatch.options import SBATCH
from windlass.core.sbatch.script import read_script
from windlass.core.sbatch.words import split_words
from windlass.core.toml.run_file import read_run
from windlass.lint import lint_script

_PIECES = st.sampled_from(
    [
        *("#SBATCH ", "#SBATCH", "# SBATCH --", "##SBATCH", "#PBS -l ", "#BSUB ", "#SLURM", "#!/bin/bash\n", "hetjob"),
        *("\n", "\r\n", " ", "\t", "\\", "'", '"', "#", "=", ":", ",", "$(", ")", "${X}", "`", "<<EOF\n", "EOF\n", "&"),
        *(
            "srun ",
            "python train.py",
            "module load ",
            "conda activate x",
            "export A=",
            "for i in 1; do",
            "done",
            "é",
            "—",
        ),
        *("0", "1", "-1", "99999999999999999999", "1:2:3", "4G", "1.5G", "gpu:a100:2", "1-5%1", "USR1@60", "<x>", "~/"),
        *(f"--{name}=" for name in SBATCH.names),
        *(f"-{letter} " for letter in SBATCH.short),
    ]
)
TEXTS = st.lists(_PIECES, max_size=40).map("".join) | st.text(max_size=200)


@given(TEXTS)
def test_any_text_is_linted(text: str) -> None:
    script = read_script(f"#!/bin/bash\n{text}".encode("utf-8", "replace"))

    for mark in lint_script(script):
        assert 1 <= mark.line <= len(script.lines)
        assert all(0 <= edit.start <= edit.end <= len(script.text) for edit in mark.fix)


@given(st.binary(max_size=300))
def test_any_bytes_are_read(data: bytes) -> None:
    script = read_script(data)

    lint_script(script)

    assert script.text.encode("utf-8", "surrogateescape") == data


@given(TEXTS)
def test_any_text_is_adopted_into_toml(text: str) -> None:
    adoption = adopt_script(read_script(f"#!/bin/bash\n{text}".encode("utf-8", "replace")), name="x")

    found = read_run(tomllib.loads(adoption.toml))

    assert isinstance(found, RunSpec), found


@given(st.text(alphabet="ab -='\"\\#\t:é", max_size=30))
def test_words_stand_where_they_say(text: str) -> None:
    words, _ = split_words(text, 1, 8)

    for word in words:
        raw = text[word.column - 8 : word.end - 8]
        assert raw
        assert not raw[0].isspace() or raw[0] == "\xa0"
        assert len(word.text) <= len(raw)
