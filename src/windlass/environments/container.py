"""container: an image of Apptainer or Singularity: fetched, built from a definition, or one that lies at the site."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace

from windlass.core.credentials import hide_credentials
from windlass.core.environment import (
    Around,
    Build,
    Entering,
    Kind,
    ReadFile,
    Recipe,
    choose_purge,
    find_platform,
    list_modules,
)
from windlass.core.run import Environment
from windlass.core.shell import quote, quote_with_variables
from windlass.core.site import Site
from windlass.environments.container_runtimes import DEFINITION, IMAGE, choose_runtime
from windlass.environments.definitions import find_base, read_definition
from windlass.environments.scripts import begin_script, probe
from windlass.errors import PlanError
from windlass_job import wire

_PLACES = ("/", "~", "$")  # with these begins an image or folder at the site
_FETCHED = ("docker://", "oras://", "library://", "https://", "http://", "shub://")
_AS_IT_IS = ("oras://", "library://", "https://", "http://", "shub://")  # one file, which is only downloaded
_NOT_EXPANDED = re.compile(r"[^\w.@ -]")
# NVIDIA's image of PyTorch: 8.4 GB as one file, its layers about 10 GB, which are unpacked to some 20 GB before they
# are packed again: all three lie there at the same time. Images with CUDA or ROCm in them are of that size.
_LARGE = re.compile(r"nvcr\.io/|cuda|rocm|pytorch|tensorflow|jax|nemo|deepspeed|torch", re.IGNORECASE)
_LARGE_FETCHED, _LARGE_FILE = 40_000_000_000, 10_000_000_000
# Debian with a Python and its libraries: 0.4 GB of layers, 1 GB unpacked, and the file.
_SMALL_FETCHED, _SMALL_FILE = 3_000_000_000, 1_000_000_000


def _read(environment: Environment, site: Site, read: ReadFile) -> Recipe | None:
    """Modules of the run do not matter to an image: only those that its runtime needs."""
    source = environment.container
    if source is None:
        return None
    recipe = Recipe(
        kind=KIND.name,
        modules=list_modules(replace(environment, modules=()), site),
        purge_modules=choose_purge(environment, site),
        settings={"source": source},
        platform=find_platform(site),
    )
    if source.startswith(_PLACES):
        return replace(recipe, existing=source.rstrip("/") or source)
    if source.startswith(_FETCHED):
        _refuse_secrets(source)
        return recipe
    if source.endswith(".def"):
        return replace(recipe, files=dict(_lay_out(source, read)))
    hint = 'container = "docker://IMAGE", "image.def" of the project, or "$SCRATCH/image.sif" at the site'
    if source.endswith((".sif", ".simg", ".img")):
        hint = 'bring it to the site once, and name it there: container = "$SCRATCH/image.sif"'
    shown = hide_credentials(source)[:200]
    raise PlanError(f"environment.container = {shown!r} is neither an address nor a file it can be made of", hint=hint)


def _lay_out(name: str, read: ReadFile) -> Iterator[tuple[str, str]]:
    """The definition under the one name by which it is built, then what it copies."""
    for path, text in read_definition(name, read):
        yield DEFINITION if path == name else path, text


def _refuse_secrets(source: str) -> None:
    shown = hide_credentials(source)
    if shown != source:
        hint = f"log in to the registry once at the site, and write {shown.replace('***@', '')}"
        raise PlanError(f"environment.container holds a password: {shown}", hint=hint)


def _make_build(recipe: Recipe, site: Site) -> Build:
    runtime = choose_runtime(site)
    source, is_definition = recipe.settings["source"], DEFINITION in recipe.files
    cache = site.software.container_cache
    folder = quote_with_variables(cache) if cache else f'"${wire.ENV_ROOT}/{wire.IMAGES}"'
    image, inside = f'"${wire.ENV_PREFIX}/{IMAGE}"', f'{runtime.program} --quiet exec --bind "${wire.ENV_ROOT}"'
    facts = json.dumps({"source": source})[1:-1]
    lines = (
        *begin_script(recipe),
        f"command -v {runtime.program} >/dev/null || "
        f"{{ echo {quote(f'error: there is no {runtime.program} on this machine')} >&2; exit 1; }}",
        f'export {runtime.variables}_CACHEDIR={folder} {runtime.variables}_TMPDIR="$TMPDIR"  # not in home',
        f'mkdir -p "${runtime.variables}_CACHEDIR"',
        *_name_by_digest(source, site),
        runtime.make_image(is_definition=is_definition),
        f"{runtime.program} inspect {image} >/dev/null",
        "# Where this node may run containers at all.",
        f"if {inside} {image} sh -c true; then",
        f"  {inside} {image} bash -c true ||",
        "    { echo 'error: there is no bash in the image, which starts the command of a run' >&2; exit 1; }",
        f"  ! {inside} {image} python3 -c '' 2>/dev/null || {probe(f'{inside} {image} python3')}",
        "fi",
        f'printf \'{{"digest": "sha256:%s", "bytes": %s, %s%s}}\\n\' "$(sha256sum <{image} | cut -d \' \' -f 1)" '
        f'"$(stat -c %s {image})" {quote(facts)} '
        f'"${{windlass_pinned:+, \\"pinned\\": \\"$windlass_pinned\\"}}" >"${wire.ENV_FACTS}"',
    )
    return Build(
        script="".join(f"{line}\n" for line in lines),
        files={name: text.encode() for name, text in recipe.files.items()},
        needs_internet=_is_fetched(recipe),
        needs_bytes=_guess_bytes(recipe),
        path=IMAGE,
    )


def _name_by_digest(source: str, site: Site) -> Iterator[str]:
    """A tag names another image tomorrow: what it names now is pulled, and told, where the registry says it."""
    yield f"windlass_source={quote(source)} windlass_pinned="
    if source.startswith("docker://"):
        program = quote(site.software.python)
        yield f'windlass_pinned=$({program} "${wire.ENV_RESOLVE}" "$windlass_source") || windlass_pinned='
        yield "windlass_source=${windlass_pinned:-$windlass_source}"


def _find_base(recipe: Recipe) -> str:
    return find_base(recipe.files.get(DEFINITION, "")) or recipe.settings["source"]


def _is_fetched(recipe: Recipe) -> bool:
    return DEFINITION not in recipe.files or not _find_base(recipe).startswith(_PLACES)


def _guess_bytes(recipe: Recipe) -> int:
    """A registry tells the size only of what one asks it for, with its own protocol: by the name, then."""
    base = _find_base(recipe)
    is_large = _LARGE.search(base) is not None
    if recipe.settings["source"].startswith(_AS_IT_IS):
        return _LARGE_FILE if is_large else _SMALL_FILE
    return _LARGE_FETCHED if is_large else _SMALL_FETCHED


def _enter(environment: Environment, recipe: Recipe, path: str, site: Site) -> Entering:
    runtime = choose_runtime(site)
    image = path if recipe.existing else f"{path}/{IMAGE}"
    for bind in environment.binds:
        if "," in bind or not bind.startswith(_PLACES):
            raise PlanError(
                f"environment.binds: {bind[:200]!r} is no folder of the site",
                hint='binds = ["/data", "/scratch/x:/data"]',
            )

    def finish(around: Around) -> Entering:
        home = site.software.container_home or _replace_home(site, around)
        return Entering(
            lines=runtime.make_lines(around.folders, environment.binds, home),
            inside=runtime.make_words(around, image, site),
            # Else Python inside would find packages of another Python in ~/.local.
            env={"PYTHONNOUSERSITE": "1"},
            offline_env=runtime.make_offline_env(),
        )

    return replace(finish(Around(workdir="/")), finish=finish)


def _find(recipe: Recipe, site: Site) -> str:
    """Also whether it is whole, as far as its own header tells: where the data ends."""
    assert recipe.existing is not None
    return "\n".join(
        (
            f"image={quote_with_variables(recipe.existing)}",
            f'say() {{ echo "windlass: {_NOT_EXPANDED.sub("", site.name)}: $image $1" >&2; exit 1; }}',
            '[ -e "$image" ] || say "is not there"',
            '[ -r "$image" ] || say "may not be read by you"',
            '[ -f "$image" ] || { [ -e "$image/bin/sh" ] || say "is a folder, but no root of a system: no bin/sh"; }',
            'if [ -f "$image" ] && [ "$(dd if="$image" bs=1 skip=32 count=9 2>/dev/null)" = SIF_MAGIC ]; then',
            '  read -r begin size < <(od -An -t d8 -j 112 -N 16 "$image")',
            '  has=$(stat -L -c %s "$image")',
            '  [ "$has" -ge "$((begin + size))" ] || say "is cut off: it has $has of $((begin + size)) bytes"',
            'elif [ -f "$image" ] && [ "$(head -c 4 "$image")" != hsqs ]; then',
            '  say "is no image: neither SIF nor squashfs"',
            "fi",
            'echo "$image"',
        )
    )


def _replace_home(site: Site, around: Around) -> str | None:
    """Where jobs do not see home, the container gets a folder of ours."""
    is_hidden = any((area.name == "home" or area.path == "$HOME") and not area.in_jobs for area in site.storage)
    return f"{around.folders[0]}/{wire.CONTAINER_HOME}" if is_hidden and around.folders else None


KIND = Kind(
    name="container",
    summary="an image of Apptainer or Singularity",
    read=_read,
    make_build=_make_build,
    enter=_enter,
    find=_find,
    is_image=True,
)
