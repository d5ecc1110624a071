"""`classes.json` beside the shards of formats that know classes only by number: the names, in the order of numbers."""

import json
from pathlib import Path

from windlass.errors import ConvertError

NAME = "classes.json"


def save_classes(folder: Path, classes: list[str]) -> None:
    if classes:
        (folder / NAME).write_text(json.dumps(classes, indent=0), encoding="utf-8")


def load_classes(folder: Path) -> list[str]:
    """None of them where the file is not there: another program wrote the data."""
    try:
        found = json.loads((folder / NAME).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (ValueError, RecursionError) as error:
        raise ConvertError(f"{folder / NAME} cannot be read: {error}") from error
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise ConvertError(f"{folder / NAME} is no list of names")
    return found
