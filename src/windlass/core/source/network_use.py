"""What would need the internet, in a text of Python or of shell. Nothing is run, and nothing is raised."""

from collections.abc import Collection, Mapping

from windlass.core.source.code import Language
from windlass.core.source.looking import Looking
from windlass.core.source.network_python import find_in_python
from windlass.core.source.network_shell import find_in_shell
from windlass.core.source.python_code import read_python
from windlass.core.source.uses import NO_VARIABLES, Use, UseKind

__all__ = ["Use", "UseKind", "find_network_use"]


def find_network_use(
    text: str, language: Language, *, env: Mapping[str, str] = NO_VARIABLES, folders: Collection[str] = ()
) -> tuple[Use, ...]:
    """`env`: variables known to be set; those the text sets itself count too. `folders`: names that lie beside it."""
    if language is Language.SHELL:
        return find_in_shell(text, env)
    if language is Language.PYTHON:
        return find_in_python(Looking(module=read_python(text), env=env, folders=folders))
    return ()
