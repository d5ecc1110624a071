"""Lists of packages, definitions and settings that go along with a password in them: what C533 says of each."""

from collections.abc import Iterator

from windlass.core.credentials import Credential, find_credentials
from windlass.core.finding import Finding, Severity
from windlass.core.selection import make_exact_pattern
from windlass.core.source.code import Code, Language, SourceFile
from windlass.core.toml.writing import format_value


def find_passwords_sent(code: Code, site: str) -> Iterator[Finding]:
    """One for each file that goes to the site."""
    for file, found in find_passwords(code):
        yield Finding(
            code="C533",
            severity=Severity.ERROR,
            message=f"{file.path}:{found.line} holds a password for {found.host}, "
            f"and the file is sent to {site} with your code",
            hint=f"{_find_way(file.path, found.host)}\n"
            f"or, where no job reads the file, in windlass.toml:\n"
            f"[run]\nexclude = {format_value([make_exact_pattern(file.path)])}",
            fact=f"an address in line {found.line} of {file.path}",
            where=f"{file.path}:{found.line}",
        )


def find_passwords(code: Code) -> Iterator[tuple[SourceFile, Credential]]:
    for file in code.of(Language.OTHER):
        yield from ((file, one) for one in find_credentials(file.text)[:1])


def _find_way(path: str, host: str) -> str:
    if path.endswith((".txt", ".in", ".lock")):
        return (
            f"in {path}: https://${{INDEX_USER}}:${{INDEX_TOKEN}}@{host}/...   # pip and uv fill them in\n"
            "export INDEX_USER=... INDEX_TOKEN=...   # in the shell in which you call windlass"
        )
    return f"take it out, and into ~/.netrc (chmod 600): machine {host} login USER password ..."
