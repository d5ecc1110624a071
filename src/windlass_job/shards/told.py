"""What was met on the way and is no plain file: counted, with the first examples, and never silently left out."""

from windlass_job import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, List

BROKEN_LINK = "links that lead nowhere"
FOLDER_LINK = "links to folders, not followed"
LINK_OUT = "links that lead out of the folder, left out"
DEVICE = "devices, pipes and sockets"
UNREADABLE = "files or folders that could not be read"
DAMAGED = "damaged members of the archive, left out"
VANISHED = "files that vanished meanwhile"
CHANGED = "files that changed while they were read, packed as they were read"
RESTLESS = "files that did not keep still, left out"
REFUSED_NAME = "names that lead out of the folder, left out"
TOO_LONG = "names too long for this file system, left out"
LINK_INSIDE = "links in the archive, left out"
TABLE_INSIDE = "tables of metadata in the archive, packed as files: unpacked, their columns would be read"
UNREAD_TABLE = "tables of metadata in Parquet, left out: only metadata.csv and metadata.jsonl become columns"
NOT_PLAIN = "special entries of the archive, left out"
TWICE = "names that came more than once, the last one kept"
OUTSIDE = "paths outside of the folder of their list, left out (--outside packs them)"
NO_FILE = "rows without a file"
NO_ROW = "files without a row in the table, packed without a class"
LOST_LINK = "hard links in the archive to what is not before them in it, left out"
LITTER = "files or folders of the system or an editor, left out"
DOCUMENTATION = "files for people beside the folders of classes, left out"
BESIDE_CLASSES = "files beside the folders of classes: packed, without a class"
_ONE = {
    BROKEN_LINK: "link that leads nowhere",
    FOLDER_LINK: "link to a folder, not followed",
    LINK_OUT: "link that leads out of the folder, left out",
    DEVICE: "device, pipe or socket",
    UNREADABLE: "file or folder that could not be read",
    DAMAGED: "damaged member of the archive, left out",
    VANISHED: "file that vanished meanwhile",
    CHANGED: "file that changed while it was read, packed as it was read",
    RESTLESS: "file that did not keep still, left out",
    REFUSED_NAME: "name that leads out of the folder, left out",
    TOO_LONG: "name too long for this file system, left out",
    LINK_INSIDE: "link in the archive, left out",
    TABLE_INSIDE: "table of metadata in the archive, packed as a file: unpacked, its columns would be read",
    UNREAD_TABLE: "table of metadata in Parquet, left out: only metadata.csv and metadata.jsonl become columns",
    NOT_PLAIN: "special entry of the archive, left out",
    OUTSIDE: "path outside of the folder of its list, left out (--outside packs it)",
    TWICE: "name that came more than once, the last one kept",
    NO_FILE: "row without a file",
    NO_ROW: "file without a row in the table, packed without a class",
    LOST_LINK: "hard link in the archive to what is not before it in it, left out",
    LITTER: "file or folder of the system or an editor, left out",
    DOCUMENTATION: "file for people beside the folders of classes, left out",
    BESIDE_CLASSES: "file beside the folders of classes: packed, without a class",
}
_FAULTS = (UNREADABLE, TOO_LONG, DAMAGED, RESTLESS, LOST_LINK)  # files that should be there, and are not
_EXAMPLES = 5


class Told:
    """`counts`: how many of each kind; `examples`: the first names of each."""

    def __init__(self) -> None:
        self.counts = {}  # type: Dict[str, int]
        self.examples = {}  # type: Dict[str, List[str]]
        self.notes = []  # type: List[str] # about the whole

    def add(self, kind: str, name: bytes) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        examples = self.examples.setdefault(kind, [])
        if len(examples) < _EXAMPLES:
            examples.append(disk.as_text(name))

    def join(self, counts: "Dict[str, int]", examples: "Dict[str, List[str]]") -> None:
        """What another process was told."""
        for kind, count in counts.items():
            self.counts[kind] = self.counts.get(kind, 0) + count
            known = self.examples.setdefault(kind, [])
            known.extend(examples.get(kind, ())[: _EXAMPLES - len(known)])

    def as_json(self) -> "Dict[str, Any]":
        return {"counts": self.counts, "examples": self.examples}

    def make_lines(self) -> "List[str]":
        """For people, one line a kind."""
        lines = list(self.notes)
        for kind in sorted(self.counts):
            shown = ", ".join(repr(name) for name in self.examples[kind])
            more = ", …" if self.counts[kind] > len(self.examples[kind]) else ""
            what = _ONE.get(kind, kind) if self.counts[kind] == 1 else kind
            lines.append("{} {}: {}{}".format(self.counts[kind], what, shown, more))
        return lines


def find_faults(lines: "Iterable[str]") -> "List[str]":
    """Of the lines that `make_lines` made those about files that should have been taken along."""
    return [line for line in lines if is_about(line, *_FAULTS)]


def is_about(line: str, *kinds: str) -> bool:
    return any(" {}: ".format(words) in line for kind in kinds for words in (kind, _ONE.get(kind, kind)))
