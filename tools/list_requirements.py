"""Print what pyproject.toml asks for, extras included, a line each: input for pip."""

import tomllib
from pathlib import Path

PROJECT = Path(__file__).parent.parent / "pyproject.toml"


def main() -> None:
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    print(*project["dependencies"], *(line for extra in extras for line in extra), sep="\n")


if __name__ == "__main__":
    main()
