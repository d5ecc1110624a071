"""Secrets in the files that are sent, and paths that are somebody else's."""

import posixpath
import re
from collections.abc import Iterator

from windlass.core.case import Case
from windlass.core.finding import Finding, Severity
from windlass.core.secret_words import find_secrets
from windlass.core.source.passwords import find_passwords, find_passwords_sent
from windlass.core.source.reach import look_at_code

# Folders beside people's homes that are nobody's.
_SHARED = frozenset(
    {
        "shared",
        "share",
        "public",
        "common",
        "data",
        "datasets",
        "groups",
        "group",
        "projects",
        "project",
        "scratch",
        "opt",
    }
)
_TESTS = re.compile(r"(?:^|/)(?:tests?|docs?|examples?|fixtures)/|(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$")
_HOME = re.compile(r"(?<![\w.$}])(/(?:home|Users|users|u|scratch)/)([A-Za-z_][\w.-]*)((?:/[\w.@+-]+)*)")


def secret_in_the_code(case: Case) -> Iterator[Finding]:
    """A file that is sent holds what looks like a key or password: it would lie at the site for others to find."""
    told = {one.path for one, _ in find_passwords(case.code)}  # by C533
    for file in case.code.files:
        if _TESTS.search(file.path) or file.path in told:
            continue
        for secret in find_secrets(file.text)[:1]:
            yield Finding(
                code="C507",
                severity=Severity.WARNING,
                message=f"{file.path} looks as if it held a secret: {secret.kind} in line {secret.line}",
                hint='read it from the environment, and under [run.secrets]\nWANDB_API_KEY = "env:WANDB_API_KEY"',
                where=f"{file.path}:{secret.line}",
            )
            return


def password_in_a_list(case: Case) -> Iterator[Finding]:
    """A list of packages, a definition or settings that are sent hold a password or token in an address.

    The file would lie at the site, in the folder of every run. Write `${NAME}` in the address: pip, uv and conda fill
    it in from the environment of the machine they run on; or keep the password in `~/.netrc` there. A file that no job
    reads can stay at home (`exclude` under [run]): environments are built from it all the same.
    """
    if not case.site.is_local:
        yield from find_passwords_sent(case.code, case.site.name)


def path_is_somebody_elses(case: Case) -> Iterator[Finding]:
    """The code or command names a folder of another user, or of your own laptop: it is not there, or not yours.

    Centres do not allow accounts to be shared, and look at whose folders a job uses.
    """
    user, home = case.facts.user, case.facts.home
    if user is None or home is None or case.site.is_local:
        return
    for where, text in _find_texts(case):
        for match in _HOME.finditer(text):
            whole, owner = match[0], match[2]
            is_mine = owner == user or posixpath.join(whole, "").startswith(posixpath.join(home, ""))
            if is_mine or owner.lower() in _SHARED or not _is_personal(match[1], home, case):
                continue
            yield Finding(
                code="C508",
                severity=Severity.WARNING,
                message=f"{whole[:100]} is not yours at {case.site.name}; your home is {home}",
                hint="give the path as an option, or by a variable: $HOME, $SCRATCH",
                where=where,
            )
            return


def code_names_the_home_folder(case: Case) -> Iterator[Finding]:
    """The code or a script names the home folder, which jobs cannot use at this site. C404 looks at the command."""
    home = case.facts.home
    if case.site.rules.jobs_from_home:
        return
    words = [r"~/", r"\$HOME\b", r"\$\{HOME\}"] + ([re.escape(home) + r"(?:/|$)"] if home else [])
    pattern = re.compile(r"(?<![\w/.])(?:" + "|".join(words) + r")[\w./-]*")
    for where, text in _find_texts(case):
        if where.startswith(("run.command", "run.env.", "environment.")):
            continue
        if found := pattern.search(text):
            yield Finding(
                code="C509",
                severity=Severity.WARNING,
                message=f"{found[0][:100]} is in the home folder, which jobs at {case.site.name} cannot use",
                hint=f"a folder under {case.facts.root or case.site.root}",
                fact=f"rules.jobs_from_home of {case.site.name}",
                where=where,
            )
            return


def _is_personal(parent: str, home: str, case: Case) -> bool:
    """/home/ and /Users/ hold people; /scratch/ does where the site keeps one's own there."""
    if parent in {"/home/", "/Users/"} or posixpath.join(posixpath.dirname(home), "") == parent:
        return True
    own = (area.path for area in case.site.storage)
    return any(path.startswith((f"{parent}$USER", f"{parent}{case.facts.user}")) for path in own)


def _find_texts(case: Case) -> Iterator[tuple[str, str]]:
    """Words of the command and its scripts, values of variables, and strings of the code."""
    yield from ((f"run.env.{name}", value) for name, value in case.spec.env.items())
    reached = look_at_code(case)
    for script in reached.shell:
        for command in script.commands:
            texts = (*command.words, *command.assignments.values())
            yield from ((script.where(command.line), text) for text in texts)
    for file, text in reached.texts():
        yield file.where(text.line), text.value
