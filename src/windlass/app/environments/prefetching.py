"""`prefetch`: weights and data sets brought to a site whose compute nodes reach no internet, and loaded there once.

The command runs on the login or transfer node in the run's own environment, or here, and then what it fetched is
sent. With the network off the training, or what [prefetch] verify says, must then load all of it.
"""

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from windlass.app.environments.ensuring import bring_for_nodes
from windlass.app.environments.prefetch_sending import send_caches
from windlass.app.planning import Planned
from windlass.app.running import make_check_failure
from windlass.app.session import Session
from windlass.app.shipping import make_put, send_most
from windlass.app.working import LongWork, follow_there
from windlass.core.codec import from_json
from windlass.core.offline import HUB_LOGIN, HUB_REFUSALS, list_folders
from windlass.core.prefetch import (
    choose_place,
    get_prefetch,
    list_files_that_matter,
    make_fetch_script,
    make_prefetch_id,
    make_verify_script,
)
from windlass.core.prefetched import Prefetched
from windlass.core.run import Prefetch, PrefetchPlace
from windlass.core.site import Site, Software
from windlass.edges.host import Host, Json, Request, expect, make_command
from windlass.edges.local_host import LocalHost
from windlass.edges.project_code import load_project_code
from windlass.edges.run_lock import hold_run, is_held
from windlass.edges.secrets import resolve_secrets
from windlass.edges.site_work import Look, fetch_root
from windlass.errors import DiskFull, EnvironmentNotFound, Interrupted, PrefetchFailed, SiteNotReady, WindlassError
from windlass_job import wire

Tell = Callable[[str], None]  # the last line that it said

_KINDS: dict[str, type[WindlassError]] = {"no-space": DiskFull, "stopped": Interrupted}
_REMOVE_S = 20.0
_ABOUT_SECRETS = ("C304", "C533")
_GOES_ON = "what was fetched stays in the caches; the same command goes on with it"


@dataclass(frozen=True, kw_only=True)
class PrefetchOptions:
    record: bool = False  # the training itself fetches, whatever [prefetch] command says
    where: PrefetchPlace | None = None
    fetch: bool = True  # False: only what is there is verified
    verify: bool = True


def say_nothing(words: str) -> None:
    """Nobody looks."""


def prefetch(
    session: Session, planned: Planned, options: PrefetchOptions, *, progress: Tell = say_nothing
) -> Prefetched:
    """What is at the site now. `verified`: whether the loading code ran with the network off; `problem`: why not."""
    _check_secrets(planned)
    _check_environment(planned)
    if planned.environment is not None:
        bring_for_nodes(session, planned.site, planned.environment)
    prefetch_id = make_prefetch_id(planned.spec)  # of the file: by it `plan` knows what is there
    planned = _apply(planned, options)
    work = _Prefetching(session, planned, prefetch_id, progress)
    place = choose_place(planned.spec, planned.site)
    if options.fetch and place is PrefetchPlace.LAPTOP:
        return work.fetch_here(verify=options.verify)
    return work.fetch_there(place, fetch=options.fetch, verify=options.verify)


def _apply(planned: Planned, options: PrefetchOptions) -> Planned:
    wanted = get_prefetch(planned.spec)
    if options.record:
        wanted = replace(wanted, command=None)
    if options.where is not None:
        wanted = replace(wanted, where=options.where)
    is_said = planned.spec.prefetch is not None or wanted != Prefetch()
    return replace(planned, spec=replace(planned.spec, prefetch=wanted if is_said else None))


def _check_environment(planned: Planned) -> None:
    seen = planned.environment
    if seen is not None and seen.recipe.existing is None and seen.built is None and not planned.site.rules.cuts_to_fit:
        raise EnvironmentNotFound(
            f"the environment {seen.recipe.id} of this run is not built at {planned.site.name}, "
            "and what is fetched is fetched in it",
            hint=f"windlass env build --on {planned.site.name}",
            done="nothing was fetched",
        )


def _check_secrets(planned: Planned) -> None:
    """The code and the command go to the site, as those of a run do."""
    errors = tuple(one for one in planned.errors if one.code in _ABOUT_SECRETS)
    if errors:
        raise make_check_failure(errors)


class _Prefetching:
    def __init__(self, session: Session, planned: Planned, prefetch_id: str, progress: Tell) -> None:
        self._session = session
        self._planned = planned
        self._progress = progress
        self._spec = planned.spec
        self._site = planned.site
        self._wanted = get_prefetch(planned.spec)
        self._id = prefetch_id
        self._root = planned.facts.root or fetch_root(session.host(planned.site), planned.site)
        self._again = f"windlass prefetch --on {planned.site.name}"

    def fetch_there(self, place: PrefetchPlace, *, fetch: bool, verify: bool) -> Prefetched:
        is_transfer = place is PrefetchPlace.TRANSFER
        host = self._session.transfer_host(self._site) if is_transfer else self._session.host(self._site)
        steps: Json = {"fetch": self._make_fetch(self._root, is_here=False)} if fetch else {}
        if verify:
            steps["verify"] = self._make_verify()
        return self._work(host, self._site, self._root, place, steps)

    def fetch_here(self, *, verify: bool) -> Prefetched:
        """Into a cache of our own, which is sent and then removed; at the site it is laid and verified."""
        folder = self._session.folders.cache / "prefetch"
        if is_held(folder, self._id):
            self._session.tell("another windlass on this machine is fetching here already: it is waited for")
        with hold_run(folder, self._id):  # or it would remove what we fetch
            return self._fetch_into(folder / self._id, verify=verify)

    def _fetch_into(self, local: Path, *, verify: bool) -> Prefetched:
        local.mkdir(parents=True, exist_ok=True)
        here = Site(name="this machine", root=str(local), software=Software(python=sys.executable))
        host = LocalHost(tell=self._session.tell)
        try:
            steps = {"fetch": self._make_fetch(str(local), is_here=True)}
            found = self._work(host, here, str(local), PrefetchPlace.LAPTOP, steps)
        finally:
            host.close()
        with send_caches(
            self._session, self._site, local / wire.CACHES, f"prefetch-{self._id}", self._tell_sent
        ) as lay:
            steps = {"lay": lay, **({"verify": self._make_verify()} if verify else {})}
            card = {"ended": found.ended.value}
            there = self._session.host(self._site)
            found = self._work(there, self._site, self._root, PrefetchPlace.LAPTOP, steps, card)
        shutil.rmtree(local, ignore_errors=True)  # it lies at the site now, and may be as large as this disk
        return found

    def _tell_sent(self, done: int, total: int) -> None:
        self._progress(f"sending {100 * done // max(1, total)} %")

    def _make_fetch(self, root: str, *, is_here: bool) -> Json:
        script = make_fetch_script(self._planned.plan, self._spec, root=root, is_here=is_here)
        return {**self._make_step(script, is_here=is_here), "record": self._wanted.command is None}

    def _make_verify(self) -> Json:
        script = make_verify_script(self._planned.plan, self._spec, root=self._root)
        seen = self._planned.environment
        # A container takes the network off by itself: many cannot be started inside a namespace of ours.
        offline = dict(seen.entering.offline_env) if seen is not None else {}
        boxed = {"may_unshare": not self._planned.plan.inside, "offline_env": offline}
        return {**self._make_step(script), "record": True, **boxed}

    def _make_step(self, script: str, *, is_here: bool = False) -> Json:
        login_shell = self._planned.plan.login_shell and not is_here
        return {"script": script, "limit_s": self._wanted.limit.total_seconds(), "login_shell": login_shell}

    def _work(
        self, host: Host, site: Site, root: str, place: PrefetchPlace, steps: Json, known: Json | None = None
    ) -> Prefetched:
        snapshot = self._planned.snapshot
        last = send_most(host, root, snapshot)
        expect(host.ask([make_put(root, snapshot, last)])[0], SiteNotReady, "your files could not be sent")
        with _lay_secrets(self._session, host, root, self._id, self._planned) as secrets:
            request: Json = {
                "verb": "prefetch",
                "root": root,
                "id": self._id,
                "workdir": self._spec.workdir,
                "manifest": snapshot.manifest.as_json(),
                "paths": list(self._wanted.paths),
                "folders": list(list_folders()),
                "files": self._list_files(),
                "secrets": secrets,
                "card": {**self._make_card(place), **(known or {})},
                **steps,
            }
            work = LongWork(
                host=host,
                request=request,
                show=self._show,
                killed=PrefetchFailed,
                hint='[prefetch] where = "laptop" fetches it here and sends it',
            )
            return self._read(site, follow_there(self._session, site, work))

    def _show(self, look: Look) -> None:
        if look.words:
            self._progress(look.words)

    def _list_files(self) -> dict[str, str]:
        snapshot = self._planned.snapshot
        code = load_project_code(snapshot.project, snapshot.manifest, self._spec.command)
        return list_files_that_matter(self._spec, code, snapshot.manifest)

    def _make_card(self, place: PrefetchPlace) -> Json:
        return {
            "id": self._id,
            "name": self._spec.name,
            "command": self._wanted.command or self._spec.command,
            "where": place.value,
            "paths": list(self._wanted.paths),
        }

    def _read(self, site: Site, result: Json) -> Prefetched:
        if result.get("ok"):
            card = json.dumps(result["card"]).encode()
            return from_json(card, Prefetched, error=PrefetchFailed, what=f"the card of {self._id}")
        kind = _KINDS.get(str(result.get("kind")), PrefetchFailed)
        is_refused = any(
            HUB_REFUSALS.search(str(line)) for line in (result.get("problem"), *(result.get("tail") or ()))
        )
        details = [str(line) for line in result.get("tail") or () if line != result.get("line")][-10:]
        raise kind(
            f"it could not be fetched at {site.name}: {result.get('problem')}",
            details=details,
            hint=f"{HUB_LOGIN}; then {self._again}" if is_refused else self._again,
            done=_GOES_ON,
        )


@contextmanager
def _lay_secrets(session: Session, host: Host, root: str, prefetch_id: str, planned: Planned) -> Iterator[str | None]:
    """A token of a hub in a file that only the user can read; the work removes it when it ends, and so do we."""
    content = resolve_secrets(planned.spec.secrets, session.environ)
    if not content:
        yield None
        return
    path = f"{root}/{wire.CACHES}/.secrets-{prefetch_id}"
    arguments = {"files": [{"path": path, "bytes": len(content), "mode": 0o600}]}
    written = host.ask([Request(operation="write", arguments=arguments, payload=content)])[0]
    expect(written, SiteNotReady, f"nothing can be written to {root}")
    try:
        yield path
    finally:
        with suppress(WindlassError):  # a connection that is lost: the work there goes on, and removes it
            host.ask([make_command(["rm", "-f", "--", path], timeout_s=_REMOVE_S, idempotent=True)])
