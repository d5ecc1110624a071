"""A store of keys and values over HTTP, through which the ranks of Horovod tell each other their addresses.

GET, PUT and DELETE of /SCOPE/KEY, as the C++ side of Horovod asks; what is not there yet is a 404, asked again.
"""

import socketserver
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Dict

LONGEST_VALUE = 1 << 20


class KeyStore(socketserver.ThreadingMixIn, HTTPServer):
    daemon_threads = True
    allow_reuse_address = True  # the command may be started again in the same job
    request_queue_size = 1024

    def __init__(self, port: int) -> None:
        """Raises OSError where the port is taken."""
        self.values: Dict[str, bytes] = {}
        HTTPServer.__init__(self, ("", port), _Handler)

    def server_bind(self) -> None:
        # HTTPServer's own asks the name service who we are, which can take half a minute.
        socketserver.TCPServer.server_bind(self)

    def start(self) -> None:
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    timeout = 10.0
    server: KeyStore

    def do_GET(self) -> None:
        value = self.server.values.get(self.path)
        self._answer(404 if value is None else 200, value or b"")

    def do_PUT(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > LONGEST_VALUE:
            self._answer(400)
            return
        self.server.values[self.path] = self.rfile.read(int(length))
        self._answer(200)

    def do_DELETE(self) -> None:
        # Each rank says so when it has connected. The others may still be reading: all of it goes with the job.
        self._answer(200)

    def _answer(self, code: int, body: bytes = b"") -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: Any) -> None:
        """The job's log is the training's."""
