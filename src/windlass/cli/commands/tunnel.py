"""`windlass tunnel`: a port on the node of a run, on this machine."""

import click

from windlass.cli.foreground import States, ended_by_signals
from windlass.cli.opening import open_session
from windlass.cli.output import Output
from windlass.cli.words import format_end
from windlass.core.record import RunRecord, RunState
from windlass.core.services.tunnels import Way
from windlass.errors import ExitCode, Interrupted


@click.command("tunnel")
@click.argument("run")
@click.argument("ports", metavar="PORT[:LOCAL]")
@click.option("--node", metavar="NAME", help="Which node of the run; default: its first.")
@click.option(
    "--by", "way", type=click.Choice([way.value for way in Way]), help="Only by this way; default: what works."
)
@click.pass_obj
def command(output: Output, /, run: str, ports: str, node: str | None, way: str | None) -> int:
    """Reach PORT on the node of RUN at 127.0.0.1:LOCAL of this machine (default: the same number). Ctrl-C closes it.

    It goes laptop, jump host, login node, compute node, over the shared ssh connection. Where the login node reaches
    the port, ssh forwards it; else a step in the job calls the service on its own node. After a cut or a sleep of the
    laptop it is opened again.

    \b
    Examples:
      windlass tunnel digits 6006              what listens on port 6006 of its first node
      windlass tunnel digits 8888:9999         at 127.0.0.1:9999 of this machine
      windlass tunnel digits 8265 --node n42   another node of the run
    """
    from dataclasses import replace

    from windlass.app.services.keeping import Keeper
    from windlass.app.services.tunnels import Wish, connect
    from windlass.core.services.tunnels import read_ports
    from windlass.edges.local_ports import Answer, Seen
    from windlass.edges.tunnels import Tunnel

    wish = Wish(ports=read_ports(ports), node=node, by=Way(way) if way else None)
    with open_session(output) as session, ended_by_signals():
        record = session.store.load(run)

        def open_again(record: RunRecord, before: int | None) -> Tunnel | None:
            here = wish.ports.here if before is None else before
            tunnel = connect(session, record, replace(wish, ports=replace(wish.ports, here=here)))
            if tunnel is not None and tunnel.local != here:
                output.tell(f"port {here} of this machine is taken: {tunnel.local} instead")
            return tunnel

        def show(seen: Seen, local: int) -> None:
            address = f"http://127.0.0.1:{local}/" if seen.answer is Answer.PAGE else f"127.0.0.1:{local}"
            if output.as_json:
                output.show_json({"run_id": record.run_id, "address": address, "port": local, "status": seen.status})
            else:
                output.show(address)
            output.tell(f"open: port {wish.ports.there} of run {record.run_id}; Ctrl-C closes the tunnel")

        keeper = Keeper(session, record, open_again, show=show, hear=States(output).tell)
        try:
            ended = keeper.keep()
        except KeyboardInterrupt:
            done = f"the tunnel is closed; run {record.run_id} goes on"
            raise Interrupted("stopped", done=done) from None
    output.tell(f"{format_end(ended)}; the tunnel is closed")
    return int(ExitCode.OK if ended.state is RunState.DONE else ExitCode.JOB_FAILED)
