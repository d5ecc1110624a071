"""What systems and editors leave in folders, and what tells people about them: none of it is a sample."""

import re

_FILES = frozenset((b".DS_Store", b".directory", b"Thumbs.db", b"thumbs.db", b"ehthumbs.db", b"desktop.ini"))
_FOLDERS = frozenset(
    (
        b"__MACOSX",
        b".Spotlight-V100",
        b".Trashes",
        b".fseventsd",
        b"$RECYCLE.BIN",
        b"System Volume Information",
        b"@eaDir",
        b".ipynb_checkpoints",
        b".idea",
        b".vscode",
    )
)
_BESIDE = b"._"  # macOS keeps here what other file systems have no place for
_DOCUMENTATION = re.compile(
    rb"(readme|licen[sc]e|copying|citation|notice|authors|changelog)(\.(md|rst|txt|cff|bib|html|pdf))?$", re.IGNORECASE
)


def is_litter_file(name: bytes) -> bool:
    """name: without its folder."""
    return name in _FILES or name.startswith(_BESIDE)


def is_litter_folder(name: bytes) -> bool:
    return name in _FOLDERS


def is_litter(path: bytes) -> bool:
    folders, _, name = path.rpartition(b"/")
    return is_litter_file(name) or (bool(folders) and not _FOLDERS.isdisjoint(folders.split(b"/")))


def is_documentation(path: bytes) -> bool:
    return _DOCUMENTATION.match(path.rpartition(b"/")[2]) is not None
