"""What Jupyter's own REST interface says: whether it answers, and when its kernels and terminals were last used."""

import calendar
import http.client
import json
import time
from typing import Any, List, NamedTuple, Optional

_ANSWER_S = 20.0
_LEAST_ANSWER_S = 2.0

Activity = NamedTuple("Activity", [("is_busy", bool), ("last_active", Optional[float])])


class Server:
    def __init__(self, host: str, port: int, token: str, *, idle_s: Optional[float] = None) -> None:
        """idle_s: after which it is ended; one that hangs is asked several times before."""
        self._host, self._port, self._token = host, port, token
        self._answer_s = _ANSWER_S if idle_s is None else max(_LEAST_ANSWER_S, min(_ANSWER_S, idle_s / 10))

    def answers(self) -> bool:
        return self._ask("GET", "/api/status") is not None

    def look(self) -> Optional[Activity]:
        """None: it does not answer."""
        kernels = self._ask("GET", "/api/kernels")
        return None if kernels is None else read_activity(kernels, self._ask("GET", "/api/terminals") or [])

    def shut_down(self) -> None:
        self._ask("POST", "/api/shutdown")

    def _ask(self, method: str, path: str) -> Any:
        """What it says; None where it says nothing that can be read. Nothing of it counts as use."""
        connection = http.client.HTTPConnection(self._host, self._port, timeout=self._answer_s)
        try:
            headers = {"Authorization": "token " + self._token}
            connection.request(method, path + "?no_track_activity=1", headers=headers)
            answer = connection.getresponse()
            content = answer.read()
            return json.loads(content.decode("utf-8") or "{}") if answer.status < 300 else None
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            connection.close()


def read_activity(kernels: List[Any], terminals: List[Any]) -> Activity:
    found = [one for one in list(kernels) + list(terminals) if isinstance(one, dict)]
    moments = [moment for moment in (read_moment(one.get("last_activity")) for one in found) if moment is not None]
    is_busy = any(one.get("execution_state") == "busy" for one in found)
    return Activity(is_busy, max(moments) if moments else None)


def read_moment(text: Any) -> Optional[float]:
    """2026-11-18T12:07:41.710219Z as seconds since 1970."""
    try:
        return float(calendar.timegm(time.strptime(str(text)[:19], "%Y-%m-%dT%H:%M:%S")))
    except ValueError:
        return None
