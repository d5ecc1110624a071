"""What does not belong into a job or a script: the internet, secrets, home."""

import re
from collections.abc import Iterator

from windlass.core.finding import Severity
from windlass.core.secret_words import find_secrets
from windlass.core.site import Site
from windlass.core.source.network_use import Use, UseKind
from windlass.lint.mark import Mark
from windlass.lint.subject import Subject

# Nothing is found where none of these words is; most scripts are passed over quickly so.
_SIGNS = re.compile(
    r"wget|curl|\bgit\b|\bpip[\d.]*\b|conda|mamba|install|\buv\b|\bhf\b|huggingface|download|://|wandb|comet|neptune|clearml"
    r"|mlflow|rsync|\bscp\b|sftp|\baws\b|gsutil|rclone|apptainer|singularity|kaggle|gdown|aria2|azcopy|\bnpm\b|\bapt"
)
_TOML_LINE = re.compile(r'(\w+) = "([^"]*)"')


def uses_the_internet(subject: Subject) -> Iterator[Mark]:
    """Compute nodes of most centres have no way out: downloads and installs hang until a timeout, then the job fails.

    Do it before, on the login node. With --site the centre's own fact counts.
    """
    for use in _find(subject, tracker=False):
        yield _mark_use(subject, use, f"this needs the internet: {use.what}")


def tracker_is_online(subject: Subject) -> Iterator[Mark]:
    """A tracker (wandb and its kin) that wants to reach its server hangs where compute nodes have no internet."""
    for use in _find(subject, tracker=True):
        yield _mark_use(subject, use, f"this tracker wants the internet: {use.what}")


def secret_in_script(subject: Subject) -> Iterator[Mark]:
    """A key or password in the text: scripts are copied, committed, and readable for others through Slurm."""
    for secret in find_secrets(subject.script.text):
        yield Mark(
            severity=Severity.ERROR,
            message=f"a secret stands here ({secret.kind})",
            line=secret.line,
            column=secret.column,
            hint="keep it in a file that only you can read: export NAME=$(cat ~/.name), and change it now",
        )


def works_in_home(subject: Subject) -> Iterator[Mark]:
    """At this centre compute nodes do not see home, or must not write there: the job fails as soon as it does."""
    if subject.site is None or subject.site.rules.jobs_from_home:
        return
    for name in ("chdir", "output", "error"):
        option = subject.option(name)
        if option is not None and _is_home(option.value, subject.site):
            yield subject.at_option(
                option, Severity.ERROR, f"{option.value} is in home, where jobs cannot work", hint=_advise(subject.site)
            )
    for command in subject.calls("cd", "pushd"):
        if len(command.words) == 1 or _is_home(command.words[1], subject.site):
            message = "home cannot be used in jobs here"
            yield subject.at_command(command, Severity.ERROR, message, hint=_advise(subject.site))


def _find(subject: Subject, *, tracker: bool) -> Iterator[Use]:
    if (subject.site is not None and subject.site.rules.compute_internet) or not _SIGNS.search(subject.script.text):
        return
    for use in subject.network_uses:
        if (use.kind is UseKind.TRACKER) is tracker:
            yield use


def _mark_use(subject: Subject, use: Use, message: str) -> Mark:
    severity = Severity.ADVICE
    if subject.site is not None and subject.site.rules.compute_internet is False:
        severity = Severity.ERROR if use.is_certain and use.kind is UseKind.FETCH else Severity.WARNING
    return Mark(
        severity=severity,
        message=message,
        line=use.line,
        column=use.column,
        length=max(1, len(use.what.split()[0])) if use.what.split() else 1,
        hint=_say_in_shell(use.hint) or None,
    )


def _say_in_shell(hint: str) -> str:
    """What is meant for the run file, as a script says it."""
    head, _, rest = hint.partition("\n")
    match = _TOML_LINE.fullmatch(rest)
    return f"export {match[1]}={match[2]}" if head == "[run.env]" and match else hint


def _is_home(path: str, site: Site) -> bool:
    area = site.area("home")
    roots = ["~", "$HOME", "${HOME}", "/home"]
    if area is not None:
        roots.append(area.path.partition("$")[0].rstrip("/") or "$HOME")
    return any(path == root or path.startswith(f"{root}/") for root in roots if root)


def _advise(site: Site) -> str:
    usable = next((one for one in site.storage if one.in_jobs and one.name != "home"), None)
    return f"submit from {usable.path}" if usable else "submit from a shared folder that is not home"
