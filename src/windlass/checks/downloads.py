"""What the run would fetch from the internet, where compute nodes reach none."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from windlass.core.case import Case
from windlass.core.finding import Finding, Severity
from windlass.core.offline import HUGGING_FACE, TRACKER_VARIABLES, find_moving, has_way_out, may_keep
from windlass.core.source.looking import Looking
from windlass.core.source.network_python import find_in_python
from windlass.core.source.network_shell import find_in_shell
from windlass.core.source.pins import find_pins
from windlass.core.source.reach import Reached, look_at_code
from windlass.core.source.uses import Use, UseKind, has_proxy
from windlass_job import wire

_MOST_LINES = 4
_AT_LEAST = frozenset({"==", "===", ">=", ">", "~=", "^", "="})


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
    Temporary failure in name resolution. Fetch it on the login node before, and only use it in the job: what
    `windlass prefetch` has fetched and verified with the network off is not told any more.
    """
    if _is_verified(case):
        return
    found = [one for one in _find_uses(case) if one.use.kind is UseKind.FETCH and one.use.is_certain]
    yield from _tell(case, "C501", Severity.ERROR, found, lines=())


def code_may_download(case: Case) -> Iterator[Finding]:
    """The code downloads a model or data, and compute nodes reach no internet.

    What was fetched before works: `windlass prefetch` does it, verifies it with the network off, and jobs find it. By
    hand: run the lines of the hint on the login node once, and tell the libraries not to ask.
    Only files that the command leads to were looked at. It is an error where the call is reached for certain, nothing
    was prefetched, and the library has no cache in the home folder of the site either, or none with that model.
    """
    if case.prefetch is not None and case.prefetch.found is not None:
        return  # C528 and C529 say what is to be said
    found = [
        one
        for one in _find_uses(case)
        if one.use.kind is UseKind.CACHED or (one.use.kind is UseKind.FETCH and not one.use.is_certain)
    ]
    severity = Severity.ERROR if any(_fails_for_certain(case, one) for one in found) else Severity.WARNING
    reached = look_at_code(case)
    loads_models = not HUGGING_FACE.modules.isdisjoint(reached.modules)
    lines = ['HF_HUB_OFFLINE = "1"'] if loads_models else []
    if loads_models and not case.site.rules.jobs_from_home:
        # Their caches lie in the home folder, which jobs cannot see here.
        lines.append(f'HF_HOME = "{case.facts.root or case.site.root}/{wire.CACHES}/huggingface"')
    yield from _tell(case, "C502", severity, found, lines=lines)


def tracker_is_online(case: Case) -> Iterator[Finding]:
    """An experiment tracker wants its server, and compute nodes reach no internet: the run may hang or stop there.

    Keep the records on disk; `windlass sync RUN --push` brings them to the laptop while the job runs, and sends them.
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


def prefetch_is_missing(case: Case) -> Iterator[Finding]:
    """The run file says what must be fetched before, compute nodes reach no internet, and it was not fetched yet."""
    seen = case.prefetch
    if seen is None or not seen.is_wanted or not seen.is_asked or seen.found is not None or not _is_cut_off(case):
        return
    there = f"is not at {case.site.name} yet"
    if seen.damage:
        there = f"counts as not fetched ({seen.damage.problem})"
    yield Finding(
        code="C528",
        severity=Severity.ERROR,
        message=f"what [prefetch] fetches {there}; compute nodes of {case.site.name} reach no internet",
        hint=f"windlass prefetch --on {case.site.name}",
        fact=f"rules.compute_internet of {case.site.name}",
    )


def prefetch_is_not_verified(case: Case) -> Iterator[Finding]:
    """Something was prefetched, but this code has not loaded it with the network off: it may want more."""
    seen = case.prefetch
    if seen is None or seen.is_verified or not _is_cut_off(case):
        return
    if seen.damage and not seen.is_wanted:
        message = f"what was prefetched to {case.site.name} cannot be told: {seen.damage.problem}"
        hint = f"windlass prefetch --on {case.site.name}"
        yield Finding(code="C529", severity=Severity.WARNING, message=message, hint=hint)
    if seen.found is None:
        return
    if seen.found.verified is None:
        why = f": {seen.found.problem}" if seen.found.problem else ""
        message = f"what was prefetched to {case.site.name} was never loaded there with the network off{why}"
    else:
        old = seen.found.verified.files
        changed = sorted(path for path in {*seen.files, *old} if seen.files.get(path) != old.get(path))
        message = f"{changed[0]} has changed since the prefetch at {case.site.name} was verified: it may want more now"
    yield Finding(
        code="C529",
        severity=Severity.WARNING,
        message=message,
        hint=f"windlass prefetch --verify --on {case.site.name}",
    )


@dataclass(frozen=True, kw_only=True)
class _Found:
    use: Use
    where: str
    is_certain: bool = False  # the call is reached whenever the command runs


def _is_verified(case: Case) -> bool:
    return case.prefetch is not None and case.prefetch.is_verified


def _is_cut_off(case: Case) -> bool:
    return case.site.rules.compute_internet is False and not has_way_out(case.plan.modules, case.plan.env)


def _fails_for_certain(case: Case, found: _Found) -> bool:
    """Nothing is in the cache that it looks in: neither in Windlass's nor in the library's own in home."""
    seen, cache = case.prefetch, found.use.cache
    if seen is None or not seen.is_asked or cache is None or not found.is_certain:
        return False
    if find_moving(cache) & {*seen.moved, *case.plan.env, *look_at_code(case).variables}:
        return False  # the user says where it lies
    return not may_keep(seen.home_caches, cache, found.use.kept_as)


def _find_uses(case: Case) -> list[_Found]:
    """None where the nodes have a way out, or nothing is known of it."""
    return _find_all_uses(case) if case.site.rules.compute_internet is False else []


def _find_all_uses(case: Case) -> list[_Found]:
    """In the files that the command leads to; none where there is a proxy."""
    if any("proxy" in one.lower() for one in case.plan.modules):
        return []
    reached = look_at_code(case)
    # That Windlass keeps a library from asking does not mean that what it wants is there; of a tracker it is enough.
    silent = {name: value for name, value in case.plan.offline_env.items() if name in TRACKER_VARIABLES}
    ours = {**case.site.network.env, **silent, **case.plan.env, **case.plan.network_env}
    env = {**ours, **case.spec.env, **reached.variables}
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
            place = places[use.line, use.column]
            if reached.is_live(place, file):
                yield _Found(use=use, where=file.where(use.line), is_certain=place.is_certain)


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
    if code == "C502":
        hint = [f"windlass prefetch --on {case.site.name}", f"or {hint[0]}", *hint[1:]]
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
