"""The modules of the zip, read from the disk once: Python opens a zip again for every module it imports from it.

On a shared file system each of these is a question over the network, of every process on every node.
"""

import sys
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Dict, Optional, Tuple

_PACKAGE = "windlass_job"
_DEFLATED = 8
_HEADER = 30  # of an entry, before its name


def install() -> None:
    """Where this module came out of a zip. Whatever is strange about that zip, Python goes on by its own means."""
    try:
        import zipimport

        archive = __loader__.archive  # type: ignore[name-defined]
        files = zipimport._zip_directory_cache[archive]  # type: ignore[attr-defined]
        with open(archive, "rb") as file:
            sys.meta_path.insert(0, _Finder(archive, files, file.read()))
    except (AttributeError, KeyError, NameError, OSError):
        pass


class _Finder:
    """Finder and loader in one."""

    def __init__(self, archive: str, files: "Dict[str, Any]", content: bytes) -> None:
        self._archive = archive
        self._files = files
        self._content = content

    def find_spec(self, name: str, path: "Any" = None, target: "Any" = None) -> "Any":
        where, is_package = self._find(name)
        if where is None:
            return None
        spec: "Any" = type(__spec__)(name, self, origin=self._archive + "/" + where, is_package=is_package)  # type: ignore
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations = [spec.origin.rpartition("/")[0]]
        return spec

    def create_module(self, spec: "Any") -> None:
        """As usual."""

    def exec_module(self, module: "ModuleType") -> None:
        name = module.__name__
        source = self.get_source(name)
        exec(
            compile(source, self._archive + "/" + str(self._find(name)[0]), "exec", dont_inherit=True), module.__dict__
        )

    def is_package(self, name: str) -> bool:
        return self._find(name)[1]

    def get_source(self, name: str) -> str:
        """Also for the lines of a traceback."""
        return self._read(str(self._find(name)[0])).decode("utf-8")

    def get_data(self, path: str) -> bytes:
        """As pkgutil asks: by the path in the zip."""
        inside = path[len(self._archive) + 1 :] if path.startswith(self._archive) else path
        if inside not in self._files:
            raise OSError(2, "no such file in the zip", path)
        return self._read(inside)

    def _find(self, name: str) -> "Tuple[Optional[str], bool]":
        if name.split(".", 1)[0] == _PACKAGE:
            stem = name.replace(".", "/")
            for where, is_package in ((stem + ".py", False), (stem + "/__init__.py", True)):
                if where in self._files:
                    return where, is_package
        return None, False

    def _read(self, where: str) -> bytes:
        _, method, size, _, offset = self._files[where][:5]
        lengths = self._content[offset + 26 : offset + _HEADER]
        start = offset + _HEADER + int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little")
        data = self._content[start : start + size]
        return zlib.decompress(data, -15) if method == _DEFLATED else data
