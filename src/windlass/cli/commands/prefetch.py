"""`windlass prefetch`: weights and data sets, fetched where there is internet, for nodes that have none."""

from typing import TYPE_CHECKING, Any

import click

from windlass.app.planning import plan_run
from windlass.cli.opening import open_session, read_wanted
from windlass.cli.options import on_option, setting_options, take_flags
from windlass.cli.output import Output, make_printable
from windlass.core.prefetched import Ended
from windlass.core.run import PrefetchPlace
from windlass.core.units import format_bytes
from windlass.errors import ExitCode

if TYPE_CHECKING:
    from windlass.core.prefetched import Prefetched

_ENDED = {
    Ended.DONE: "ended by itself",
    Ended.STEP: "was stopped before its first step",
    Ended.LIMIT: "was stopped when its time was up",
}


@click.command("prefetch")
@on_option
@setting_options
@click.option("--record", is_flag=True, help="The training itself fetches; it is stopped before its first step.")
@click.option("--where", type=click.Choice([one.value for one in PrefetchPlace]), help="Where it is fetched.")
@click.option("--verify", "only_verify", is_flag=True, help="Fetch nothing: only load what is there, network off.")
@click.option("--no-verify", is_flag=True, help="Only fetch.")
@click.pass_obj
def command(
    output: Output,
    /,
    site_name: str | None,
    record: bool,
    where: str | None,
    only_verify: bool,
    no_verify: bool,
    **values: Any,
) -> int:
    """Fetch what the training needs from the internet, for compute nodes that reach none.

    What [prefetch] command says, or the training itself up to its first step, runs on the login node in the run's
    own environment. Weights and data sets land in ROOT/caches, where jobs find them. Then the training is started
    once more with the network off: when it comes to its first step, nothing is missing.

    \b
    Examples:
      windlass prefetch --on jureca
      windlass prefetch --on jureca --where laptop    fetched here, and sent
      windlass prefetch --on jureca --verify          after a change of the code
    """
    from windlass.app.environments.prefetching import PrefetchOptions, prefetch

    if only_verify and no_verify:
        raise click.UsageError("--verify and --no-verify cannot go together")
    options = PrefetchOptions(
        record=record, where=PrefetchPlace(where) if where else None, fetch=not only_verify, verify=not no_verify
    )
    wanted = read_wanted(site_name, take_flags(values))
    last = ""

    def show(words: str) -> None:
        nonlocal last
        if words != last:
            last = words
            output.tell(f"      | {make_printable(words)}")

    with open_session(output) as session:
        found = prefetch(session, plan_run(session, wanted), options, progress=show)
    if output.as_json:
        output.show_json({"prefetched": found})
    else:
        _show(output, found, wanted.site, is_fetched=not only_verify)
    return int(ExitCode.OK if found.verified or no_verify else ExitCode.FAILED)


def _show(output: Output, found: "Prefetched", site: str, *, is_fetched: bool) -> None:
    if is_fetched:
        words = _ENDED.get(found.ended, found.ended.value)
        output.tell(f"{'fetched':<10} {format_bytes(found.new_bytes)} new: {make_printable(found.command)} {words}")
    for name, size in sorted(found.caches.items()):
        output.show(f"{name:<20} {size.files:>7} files  {format_bytes(size.bytes):>10}")
    if found.verified is not None:
        words = "it came to its first step" if found.verified.ended is Ended.STEP else "it ended well"
        output.tell(f"{'verified':<10} with the network off ({found.verified.how}) {words}")
    elif found.problem:
        output.tell(f"{'not good':<10} with the network off: {make_printable(found.problem)}")
        output.tell(f"{'try':<10} windlass prefetch --on {site}, or [prefetch] verify: what loads it on a login node")
