"""The recorded answers of real Slurms, by version; `record.py` makes them."""

from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent / "answers"
VERSIONS = tuple(sorted(folder.name for folder in _FOLDER.iterdir() if folder.is_dir()))


@dataclass(frozen=True)
class Answer:
    exit_code: int
    out: str
    err: str


def load_answer(version: str, name: str) -> Answer:
    text = (_FOLDER / version / f"{name}.txt").read_text(encoding="utf-8")
    first, _, rest = text.partition("\n--- out\n")
    out, _, err = rest.rpartition("--- err\n")
    return Answer(exit_code=int(first.removeprefix("exit ")), out=out, err=err)


def list_answers(version: str, prefix: str = "") -> list[str]:
    return sorted(path.stem for path in (_FOLDER / version).glob(f"{prefix}*.txt"))
