"""What the run would fetch from the internet, where compute nodes reach none."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from windlass.core.case import Case
from windlass.core.finding import Finding, Severity
from windlass.core.source.looking import Looking
from windlass.core.source.network_python import find_in_python
from windlass.core.source.network_shell import find_in_shell
from windlass.core.source.pins import find_pins
from windlass.core.source.reach import Reached, look_at_code
from windlass.core.source.uses import Use, UseKind, has_proxy

_MOST_LINES = 4
_AT_LEAST = frozenset({"==", "===", ">=", ">", "~=", "^", "="})
_OFFLINE = {
    "transformers": "HF_HUB_OFFLINE",
    "evaluate": "HF_HUB_OFFLINE",
    "datasets": "HF_HUB_OFFLINE",
    "huggingface_hub": "HF_HUB_OFFLINE",
    "sentence_transformers": "HF_HUB_OFFLINE",
    "diffusers": "HF_HUB_OFFLINE",
    "timm": "HF_HUB_OFFLINE",
}


def internet_is_not_known(case: Case) -> Iterator[Finding]:
    """Something in the run wants the internet, and nobody has said yet whether compute nodes of this site reach it.

    A short test job tells; with its answer in the site file the checks C501 to C504 speak.
    """
    rules = case.site.rules
    if rules.compute_internet is not None or rules.cuts_to_fit or not (found := _find_all_uses(case)):
        return
    first, others = found[0], f" and {len(found) - 1} more" if len(found) > 1 else ""
    yield Finding(
        code="C520",
        severity=Severity.ADVICE,
        message=f"{first.use.what}{others} {'want' if others else 'wants'} the internet; "
        f"it is not known whether compute nodes of {case.site.name} reach it",
        hint=f"windlass site check {case.site.name} --deep",
        fact=f"rules.compute_internet of {case.site.name}",
        where=first.where,
    )


def command_needs_the_internet(case: Case) -> Iterator[Finding]:
    """The command fetches something (git clone, wget, conda install) and compute nodes reach no internet.

    It would wait for minutes and end with: Network is unreachable, Connection timed out, or
    Temporary failure in name resolution. Fetch it on the login node before, and only use it in the job.
    """
    found = [one for one in _find_uses(case) if one.use.kind is UseKind.FETCH and one.use.is_certain]
    yield from _tell(case, "C501", Severity.ERROR, found, lines=())


def code_may_download(case: Case) -> Iterator[Finding]:
    """The code downloads a model or data, and compute nodes reach no internet.

    What was fetched before works: run the lines of the hint on the login node once, and tell the libraries not to ask.
    Only files that the command leads to were looked at.
    """
    found = [
        one
        for one in _find_uses(case)
        if one.use.kind is UseKind.CACHED or (one.use.kind is UseKind.FETCH and not one.use.is_certain)
    ]
    reached = look_at_code(case)
    names = sorted({name for module, name in _OFFLINE.items() if module in reached.modules})
    lines = [f'{name} = "1"' for name in names]
    if names and not case.site.rules.jobs_from_home:
        # Their caches lie in the home folder, which jobs cannot see here.
        lines.append(f'HF_HOME = "{case.facts.root or case.site.root}/huggingface"')
    yield from _tell(case, "C502", Severity.WARNING, found, lines=lines)


def tracker_is_online(case: Case) -> Iterator[Finding]:
    """An experiment tracker wants its server, and compute nodes reach no internet: the run may hang or stop there.

    Keep the records on disk and send them from the login node afterwards: wandb sync --sync-all.
    """
    found = [one for one in _find_uses(case) if one.use.kind is UseKind.TRACKER]
    if found:
        yield _make(case, "C503", Severity.WARNING, found, hint=found[0].use.hint)


def packages_are_installed_in_the_job(case: Case) -> Iterator[Finding]:
    """pip is run inside the job, and compute nodes reach no internet: only what is there already can be installed."""
    found = [one for one in _find_uses(case) if one.use.kind is UseKind.INSTALL]
    if not found:
        return
    hint = "install on the login node once, and only activate the environment in the job"
    if case.site.software.wheelhouse:
        hint = "pip install --no-index …   # from the wheels of the site"
    yield _make(case, "C504", Severity.WARNING, found, hint=hint)


@dataclass(frozen=True, kw_only=True)
class _Found:
    use: Use
    where: str


def _find_uses(case: Case) -> list[_Found]:
    """None where the nodes have a way out, or nothing is known of it."""
    return _find_all_uses(case) if case.site.rules.compute_internet is False else []


def _find_all_uses(case: Case) -> list[_Found]:
    """In the files that the command leads to; none where there is a proxy."""
    if any("proxy" in one.lower() for one in case.plan.modules):
        return []
    reached = look_at_code(case)
    env = {**case.site.network.env, **case.plan.env, **case.plan.network_env, **case.spec.env, **reached.variables}
    if has_proxy(env):
        return []
    shell = [
        _Found(use=use, where=script.where(use.line))
        for script in reached.shell
        for use in find_in_shell(script.text, env)
    ]
    return [*shell, *_find_in_python(case, reached, env)]


def _find_in_python(case: Case, reached: Reached, env: dict[str, str]) -> Iterator[_Found]:
    folders = frozenset(path.partition("/")[0].removesuffix(".py") for path in case.code.paths or ())
    reports = _reports_to_wandb(case, reached)
    for file in reached.python:
        looking = Looking(
            module=file.module,
            env=env,
            folders=folders,
            arguments=reached.arguments,
            find_value=partial(reached.find_value, file=file),
            reports_to_wandb=reports,
        )
        places = {(call.line, call.column): call.place for call in file.module.calls}
        for use in find_in_python(looking):
            if reached.is_live(places[use.line, use.column], file):
                yield _Found(use=use, where=file.where(use.line))


def _reports_to_wandb(case: Case, reached: Reached) -> bool:
    """It is installed, and a Trainer before transformers 5 reports to all that is installed."""
    if "wandb" not in reached.modules and not find_pins(case.code, ("wandb",)):
        return False
    pins = find_pins(case.code, ("transformers",))
    return not any(operator in _AT_LEAST and version >= (5,) for pin in pins for operator, version in pin.specifiers)


def _tell(
    case: Case, code: str, severity: Severity, found: Sequence[_Found], *, lines: Sequence[str]
) -> Iterator[Finding]:
    if not found:
        return
    folder = f"{case.facts.root or case.site.root}/data"
    fetch = list(dict.fromkeys(one.use.hint.replace("FOLDER", folder) for one in found))
    place = case.site.login.host or case.site.name
    where = "where there is internet" if case.site.rules.login_internet is False else f"on {place}"
    hint = [f"{where}, before: {fetch[0]}", *fetch[1:_MOST_LINES]]
    if len(fetch) > _MOST_LINES:
        hint.append(f"… and {len(fetch) - _MOST_LINES} more")
    if relative := next((one.use.folder for one in found if one.use.folder), None):
        hint.append(f"{relative!r} is another folder in each run: give the script {folder}, as an option")
    if lines:
        hint += ["[run.env]", *lines]
    yield _make(case, code, severity, found, hint="\n".join(hint))


def _make(case: Case, code: str, severity: Severity, found: Sequence[_Found], *, hint: str) -> Finding:
    first = found[0]
    others = f" and {len(found) - 1} more" if len(found) > 1 else ""
    verb = "want" if others else "wants"
    return Finding(
        code=code,
        severity=severity,
        message=f"{first.use.what}{others} {verb} the internet; compute nodes of {case.site.name} reach none",
        hint=hint,
        fact=f"rules.compute_internet of {case.site.name}",
        where=first.where,
    )
