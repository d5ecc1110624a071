"""Whether the environment of a run has what a service needs, and what to write where it is missing."""

import re
from collections.abc import Iterable, Sequence

from windlass.core.environment import EnvironmentSeen
from windlass.core.run import Environment
from windlass.core.shell import quote, quote_all
from windlass.core.site import Site

ABSENT = 43  # the exit code of our question; any other but 0 says nothing
_FIND = """import importlib.util, sys
sys.exit({absent} if any(importlib.util.find_spec(one) is None for one in {names!r}) else 0)"""


def is_listed(seen: EnvironmentSeen | None, package: str, *, sees_modules: bool) -> bool | None:
    """By what was found when the environment was built; None: that says nothing."""
    if seen is None or seen.built is None or not seen.built.packages:
        return None
    if any(name.lower().replace("_", "-") == package for name in seen.built.packages):
        return True
    return None if sees_modules else False


def make_question(lines: Sequence[str], inside: Sequence[str], modules: Sequence[str]) -> str:
    """bash that enters the environment as a job does, and asks its Python. It ends with 0, ABSENT, or otherwise."""
    return "\n".join(("set +u", *lines, make_find_line(inside, modules)))


def make_find_line(inside: Sequence[str], modules: Sequence[str]) -> str:
    """Ends with 0 where Python finds all of them."""
    return quote_all((*inside, "python3", "-c", _FIND.format(absent=ABSENT, names=tuple(modules))))


def is_among(texts: Iterable[str], packages: Sequence[str]) -> bool:
    """Whether files that list packages, one a line, name all of these."""
    lines = [line.strip(" \t-\"'").lower().replace("_", "-") for text in texts for line in text.splitlines()]
    return all(any(re.match(rf"{re.escape(one)}(?![\w.-])", line) for line in lines) for one in packages)


def make_install_hint(environment: Environment, site: Site, package: str, *, is_asked_for: bool = False) -> str:
    """How it gets into what the run is in. is_asked_for: the project names it, and what it names is not built."""
    build = f"windlass env build --on {site.name}"
    for file, what in ((environment.venv, "requirements"), (environment.conda, "environment")):
        if file and "." in file.rpartition("/")[2] and not file.startswith(("/", "~", "$")):
            if is_asked_for:
                return build
            write = f"write {package} into {file} (the {what} of this project)"
            # On one's own machine nothing is built unasked: the environment one is in comes along.
            return f"{write}, then: {build}" if site.rules.cuts_to_fit else f"{write}; the next start builds it"
    if environment.container:
        return f"build an image with {package}; its recipe: pip install {package}"
    if environment.venv or environment.conda:
        place = environment.venv or environment.conda or ""
        return _on(site, f"{quote(f'{place}/bin/python')} -m pip install {package}")
    if environment.activate:
        return _on(site, f"{environment.activate} && python3 -m pip install {package}")
    if site.is_local:
        return f"python3 -m pip install {package}"
    return f'write {package} into requirements.txt, and into windlass.toml: [environment] venv = "requirements.txt"'


def _on(site: Site, line: str) -> str:
    return line if site.is_local else f"ssh {site.login.host} {quote(line)}"
