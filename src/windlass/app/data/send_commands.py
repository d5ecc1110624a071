"""`windlass data send` and `pack` as one would type them, with all that was asked for: to be pasted."""

from pathlib import Path
from typing import TYPE_CHECKING

from windlass.core.shell import quote, quote_all, quote_path
from windlass.core.site import Site

if TYPE_CHECKING:
    from windlass.app.data.sending import SendOptions
    from windlass.app.data.sending_jobs import Wishes

_MB = 1 << 20


def make_send_command(site: Site, source: Path, name: str, options: "SendOptions", *more: str) -> str:
    words = ["--name", name, "--on", site.name]
    if options.to:
        words += ["--to", options.to]
    if options.streams:
        words += ["--streams", str(options.streams)]
    words += [option for option, is_asked in (("--anew", options.anew), ("--replace", options.replace)) if is_asked]
    return f"windlass data send {quote_path(source)} {quote_all([*words, *list_packing_words(options), *more])}"


def make_pack_command(source: str, target: str, wishes: "Wishes") -> str:
    places = quote_path(source), quote_path(target)
    return " ".join(("windlass data pack", *places, *map(quote, list_packing_words(wishes))))


def make_pack_there_command(site: Site, path: str, name: str, options: "SendOptions") -> str:
    words = ["windlass", "data", "pack", path, "--name", name, "--on", site.name]
    return quote_all([*words, *(["--anew"] if options.anew else []), *list_packing_words(options)])


def list_packing_words(wishes: "Wishes") -> list[str]:
    words: list[str] = []
    if wishes.kind != "auto":
        words += ["--source-kind", wishes.kind]
    if wishes.labels:
        words += ["--labels", wishes.labels]
    if wishes.nodes != 1:
        words += ["--nodes", str(wishes.nodes)]
    if wishes.shard_bytes:
        words += ["--shard-size", f"{max(1, wishes.shard_bytes // _MB)}M"]
    switches = {
        "--compress": wishes.compress,
        "--follow-links": wishes.follow_links,
        "--outside": wishes.outside,
    }
    words += [option for option, is_asked in switches.items() if is_asked]
    for about in ("licence", "description"):
        if wishes.about.get(about):
            words += [f"--{about}", wishes.about[about]]
    return words
