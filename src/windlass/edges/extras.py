"""How a library that is missing gets into the environment that this Windlass runs in."""

import sys
from importlib.util import find_spec
from pathlib import Path

import windlass
from windlass.core.extras import CONSTRAINTS, PROJECT, format_install, list_requirements, make_checkout_arguments


def make_extra_hint(extra: str) -> str:
    """The command that brings an extra of pyproject.toml. Windlass' own name is another project's on PyPI."""
    checkout = find_checkout(Path(windlass.__file__))
    if checkout is not None:
        is_constrained = (checkout / CONSTRAINTS).is_file()
        return _format(*make_checkout_arguments(checkout, extra, is_constrained=is_constrained))
    from importlib import metadata

    try:
        requirements = list_requirements(metadata.requires(PROJECT) or (), extra)
    except metadata.PackageNotFoundError:  # a copy that nobody installed
        requirements = ()
    return make_library_hint(*requirements) if requirements else f"see the extra {extra} in Windlass' pyproject.toml"


def make_library_hint(*requirements: str) -> str:
    return _format(*requirements)


def find_checkout(module: Path) -> Path | None:
    """Where an editable Windlass lies; None: it was installed."""
    import tomllib

    root = module.resolve().parent.parent.parent
    try:
        told = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return root if told.get("project", {}).get("name") == PROJECT else None


def _format(*arguments: str) -> str:
    return format_install(sys.executable, arguments, has_pip=find_spec("pip") is not None)
