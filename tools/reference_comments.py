"""The comments behind names in the source: what is said there is said once, and shown in the reference."""

import inspect
import re
from types import ModuleType


def read_comments(where: type | ModuleType) -> dict[str, str]:
    """`name: type = value  # words` of a class or a module, by name."""
    indent = "" if isinstance(where, ModuleType) else "    "
    found = re.findall(rf"^{indent}(\w+)(?:: [^#\n]*| = [^#\n]*)#\s*(.+)$", inspect.getsource(where), re.MULTILINE)
    return {name: re.sub("^None: ", "default: ", comment).replace("|", "\\|") for name, comment in found}


def read_sections(module: ModuleType) -> dict[str, list[str]]:
    """The names of a module under each of its `# ---- title ----` lines."""
    sections: dict[str, list[str]] = {}
    names: list[str] = []
    for line in inspect.getsource(module).splitlines():
        if title := re.match(r"# ---- (.*?) -+$", line):
            names = sections.setdefault(title[1], [])
        elif name := re.match(r"([A-Z_]+) = ", line):
            names.append(name[1])
    return sections
