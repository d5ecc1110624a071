"""`windlass tensorboard`: the event files of runs in a TensorBoard, in the browser of this machine."""

from typing import TYPE_CHECKING

import click

from windlass.cli.foreground import States, ended_by_signals
from windlass.cli.opening import open_session
from windlass.cli.output import Output
from windlass.cli.words import format_end
from windlass.core.record import RunState
from windlass.errors import ExitCode, Interrupted, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windlass.app.services.node_board import NodeBoard
    from windlass.app.services.tensorboard import Board
    from windlass.core.record import RunRecord


@click.command("tensorboard")
@click.argument("runs", nargs=-1)
@click.option("--fetched", is_flag=True, help="Only what is here already, by fetch or sync; no site is asked.")
@click.option("--on-site", is_flag=True, help="On the login node, over the files there; nothing is copied.")
@click.option("--on-node", is_flag=True, help="In the job of the (first) run, on its node, until that ends.")
@click.option(
    "--port", type=click.IntRange(1, 65_535), metavar="PORT", help="Of this machine; default: 6006, or what is free."
)
@click.option("--every", "every_s", type=click.FloatRange(min=1), default=30.0, show_default=True, metavar="SECONDS")
@click.option("--browser", is_flag=True, help="Open the page in the browser.")
@click.pass_obj
def command(
    output: Output,
    /,
    runs: tuple[str, ...],
    fetched: bool,
    on_site: bool,
    on_node: bool,
    port: int | None,
    every_s: float,
    browser: bool,
) -> int:
    """Show the event files of RUNS (default: the last) in TensorBoard, side by side by their run ids.

    New rows are brought here every 30 seconds (--every) while the runs go on, and a TensorBoard of this machine shows
    them. Where it has none, or with --on-site, one runs on the login node, if the site allows that; with --on-node
    beside the training, of whose memory it takes some hundred MB. Its address holds a word that only you are told;
    nothing listens but on 127.0.0.1. Ctrl-C ends all of it; the runs go on.

    \b
    Examples:
      windlass tensorboard                       the last run, live
      windlass tensorboard digits-a digits-b     two runs, side by side
      windlass tensorboard digits --fetched      what is here already; no site is asked
      windlass tensorboard digits --on-site      on the login node: nothing is copied
      windlass tensorboard digits --on-node      on its own node, while it trains
    """
    from windlass.app.services.node_board import NodeBoard
    from windlass.app.services.tensorboard import Board, BoardWish
    from windlass.cli.browser import open_browser
    from windlass.core.services.boards import Where

    if fetched + on_site + on_node > 1:
        raise UsageError("--fetched shows what is here, --on-site and --on-node what is there: one of them")
    where = Where.FETCHED if fetched else Where.SITE if on_site else Where.NODE if on_node else None
    with open_session(output) as session, ended_by_signals():
        records = list({one.run_id: one for one in map(session.store.load, runs or ("last",))}.values())

        def show(address: str) -> None:
            if output.as_json:
                names = [one.run_id for one in records]
                output.show_json({"runs": names, "address": address, "where": board.where})
            else:
                output.show(address)
            output.tell("Ctrl-C ends TensorBoard; the runs go on")
            if browser:
                open_browser(output, address)

        wish = BoardWish(where=where, port=port, every_s=every_s)
        board: Board | NodeBoard
        if where is Where.NODE:
            board = NodeBoard(session, records, wish, show=show, hear=States(output).tell)
        else:
            board = Board(session, records, wish, show=show)
        try:
            ended = board.keep()
        except KeyboardInterrupt:
            raise Interrupted("TensorBoard is ended", done=_format_left(board, records)) from None
    output.tell(f"{format_end(ended)}, and TensorBoard with its job; here: windlass tensorboard {ended.run_id}")
    return int(ExitCode.OK if ended.state is RunState.DONE else ExitCode.JOB_FAILED)


def _format_left(board: "Board | NodeBoard", records: "Sequence[RunRecord]") -> str:
    from windlass.app.services.node_board import NodeBoard
    from windlass.core.services.boards import Where

    if isinstance(board, NodeBoard):
        return f"nothing of it runs on in the job of {records[0].run_id}, which goes on"
    if board.where is Where.SITE:
        return f"nothing of it runs on at {records[0].site}, and nothing was copied"
    return "\n  ".join(f"the files of {one.run_id} stay in {board.find_folder(one)}" for one in records)
