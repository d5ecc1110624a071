"""Golden files: what was written before must be written again; WINDLASS_GOLDEN=write writes them anew."""

import os
from pathlib import Path


def check_golden(path: Path, text: str) -> None:
    if os.environ.get("WINDLASS_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    assert path.read_bytes().decode() == text
