"""The deputy's view of the network: whether a port of a node can be reached from here."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from windlass_job.deputy import Answer, Call


def try_port(call: "Call") -> "Answer":
    """is_reachable: somebody answered. Else why not, in words."""
    import socket

    place = (call.arguments["host"], int(call.arguments["port"]))
    try:
        socket.create_connection(place, float(call.arguments.get("timeout_s") or 3)).close()
    except OSError as error:  # no such name, refused, or no answer
        return {"is_reachable": False, "problem": error.strerror or str(error)}, b""
    return {"is_reachable": True, "problem": ""}, b""
