"""What columns of a table are called: those of paths and of labels."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Optional, Tuple

PATHS = (
    "file_name",
    "filename",
    "file",
    "path",
    "filepath",
    "file_path",
    "relative_path",
    "image",
    "image_path",
    "image_file",
    "image_name",
    "img",
    "img_path",
    "audio",
    "audio_path",
)
LABELS = ("label", "labels", "label_name", "class", "class_name", "class_id", "target", "category")


def name_columns(count: int, path_at: int) -> "List[str]":
    """Of a table without a header: the first one beside the paths has the labels."""
    names = ["column_{}".format(number) for number in range(1, count + 1)]
    if 0 <= path_at < count:
        names[path_at] = "path"
    if count > 1:
        names[1 if path_at == 0 else 0] = "label"
    return names


def choose(header: "List[str]", wanted: "Tuple[str, ...]") -> "Optional[str]":
    for name in wanted:
        for column in header:
            if simplify(column) == name:
                return column
    return None


def simplify(column: str) -> str:
    return column.strip("# \t").lower().replace(" ", "_").replace("-", "_")
