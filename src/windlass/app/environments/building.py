"""Building an environment at a site: on the login node, where it goes on without us."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace

from windlass.app.session import Session
from windlass.app.working import LongWork, follow_there
from windlass.core.codec import from_json
from windlass.core.environment import Build, Built, Recipe
from windlass.core.run import Environment, Wheels
from windlass.core.site import Site
from windlass.edges.environments import fetch_built
from windlass.edges.host import Json
from windlass.edges.site_work import Look, fetch_root
from windlass.environments import KINDS
from windlass.errors import DiskFull, EnvironmentFailed, Interrupted, PlanError, WindlassError

Tell = Callable[[int, str], None]  # how many lines it has said, and the last of them

_KINDS: dict[str, type[WindlassError]] = {"no-space": DiskFull, "stopped": Interrupted}
_NOT_THERE = ("No matching distribution found", "Could not find a version")  # pip's words
_HINTS = {
    "no-wheel": "windlass wheels check --on {site} lists all that the wheelhouse lacks",
    "no-space": "windlass env list --on {site}",
    "no-network": 'wheels = "laptop" in [environment] downloads packages here and sends them',
}


def find_built(session: Session, site: Site, recipe: Recipe) -> Built | None:
    """What is there already and whole."""
    host = session.host(site)
    found = fetch_built(host, fetch_root(host, site), recipe.id)
    return found if isinstance(found, Built) else None


def build_environment(
    session: Session, site: Site, recipe: Recipe, *, again: bool = False, progress: Tell | None = None
) -> Built:
    """On the login node. What is built already is given as it is, unless `again`. Ctrl-C stops it there too."""
    host = session.host(site)
    found = None if again else fetch_built(host, fetch_root(host, site), recipe.id)
    if isinstance(found, Built):
        return found
    if found is not None:
        session.tell(f"{recipe.id} at {site.name} is damaged ({found.problem}): it is built anew")
        again = True
    request = prepare_request(session, site, recipe, again=again)

    def show(look: Look) -> None:
        if look.done and progress is not None:
            progress(look.done[0], look.words)

    hint = f"windlass env build --on {site.name} --as-job"
    work = LongWork(host=host, request=request, show=show, killed=EnvironmentFailed, hint=hint)
    return read_built(site, recipe, follow_there(session, site, work))


def prepare_request(session: Session, site: Site, recipe: Recipe, *, again: bool = False, in_job: bool = False) -> Json:
    """With where its packages come from decided, and what must be sent for it sent."""
    if recipe.existing is not None:
        raise PlanError(
            f"{recipe.existing} is made elsewhere, and nothing is built for it",
            hint="windlass plan shows how a job enters it",
        )
    if recipe.python_needed is not None:
        from windlass.app.environments.pythons import refuse_other_python

        refuse_other_python(session, site, recipe)
    build = KINDS[recipe.kind].make_build(_choose_wheels(session, site, recipe, in_job=in_job), site)
    place, reaches = ("compute", site.rules.compute_internet) if in_job else ("login", site.rules.login_internet)
    if build.needs_internet and reaches is False:
        raise EnvironmentFailed(
            f"{recipe.id} is built from the internet, and {place} nodes of {site.name} reach none",
            hint=_HINTS["no-network"] if KINDS[recipe.kind].takes_wheels else None,
            done="nothing was built",
        )
    # As the login node means it: in a job $SCRATCH may be another folder, or none.
    return make_request(fetch_root(session.host(site), site), recipe, build, again=again)


def _choose_wheels(session: Session, site: Site, recipe: Recipe, *, in_job: bool) -> Recipe:
    if not KINDS[recipe.kind].takes_wheels:
        return recipe
    from windlass.app.environments.wheels import choose_wheels, choose_wheels_in_jobs

    wanted = Environment(
        modules=recipe.modules,
        purge_modules=recipe.purge_modules,
        wheels=Wheels(recipe.settings["wheels"]),
        python=recipe.settings["python"] or None,
    )
    chosen = choose_wheels_in_jobs(site, wanted.wheels) if in_job else choose_wheels(session, site, wanted)
    session.tell(f"packages: {chosen.reason}")
    if chosen.wheels is Wheels.LAPTOP:
        from windlass.app.environments.wheels_sent import bring_wheels

        bring_wheels(session, site, recipe)
    return replace(recipe, wheels=chosen.wheels)


def make_request(root: str, recipe: Recipe, build: Build, *, again: bool = False) -> Json:
    """What `windlass_job/working/environments.py` reads."""
    return {
        "verb": "build-env",
        "root": root,
        "id": recipe.id,
        "script": build.script,
        "files": {name: base64.b64encode(content).decode() for name, content in build.files.items()},
        "needs_bytes": build.needs_bytes,
        "path": build.path,
        "card": {"kind": recipe.kind, "modules": list(recipe.modules)},
        "again": again,
    }


def read_built(site: Site, recipe: Recipe, result: Json) -> Built:
    """The card, or the error in words."""
    if result.get("ok"):
        text = json.dumps(result["built"]).encode()
        return from_json(text, Built, error=EnvironmentFailed, what=f"the card of {recipe.id}")
    word, line = str(result.get("kind")), result.get("line")
    is_absent = any(words in f"{line} {result.get('problem')}" for words in _NOT_THERE)
    if word == "build-failed" and is_absent and site.software.wheelhouse:
        word = "no-wheel"
    if word == "no-network" and not KINDS[recipe.kind].takes_wheels:
        word = "build-failed"
    kind = _KINDS.get(word, EnvironmentFailed)
    raise kind(
        f"{recipe.id} could not be built at {site.name}: {result.get('problem')}",
        details=[str(one) for one in result.get("tail") or () if one != line][-8:],
        hint=_HINTS.get(word, f"windlass env show {recipe.id} --log --on {site.name}").format(site=site.name),
        done="the build was removed; an environment that was built before is as it was",
    )
