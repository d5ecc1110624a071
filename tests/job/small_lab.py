"""A stand-in for JupyterLab: reads the same settings, answers the same questions, and starts in a tenth of a second.

Its kernels are what `kernels.json` in its folder says; by variables it hangs, or computes beside its pages.
The real one is asked in tests/app/services/test_jupyter.py.
"""

import os
from pathlib import Path

_MAIN = """
import http.server, json, os, pathlib, subprocess, sys, time
HANGS = os.environ.get("SMALL_LAB_HANGS")
settings = json.loads(pathlib.Path([one[9:] for one in sys.argv if one.startswith("--config=")][0]).read_text())
server, token = settings["ServerApp"], settings["IdentityProvider"]["token"]
folder = pathlib.Path(server["root_dir"])

class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = self.path.partition("?")[0]
        if HANGS == "from the start" or (HANGS == "later" and path != "/api/status"):
            time.sleep(600)
        if self.headers.get("Authorization") != "token " + token and "token=" + token not in self.path:
            return self.say(403, {"message": "Forbidden"})
        if path == "/api/status":
            return self.say(200, {"kernels": 0})
        if path in ("/api/kernels", "/api/terminals"):
            file = folder / (path[5:] + ".json")
            return self.say(200, json.loads(file.read_text()) if file.exists() else [])
        return self.say(200, {"page": "JupyterLab"})
    def do_POST(self):
        if self.headers.get("Authorization") == "token " + token and self.path.startswith("/api/shutdown"):
            self.say(200, {})
            self.wfile.flush()
            print("shut down", flush=True)
            os._exit(0)
        return self.say(403, {})
    def say(self, status, values):
        content = json.dumps(values).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
    def log_message(self, *words):
        pass

web = http.server.ThreadingHTTPServer((server["ip"], server["port"]), Page)
runtime = pathlib.Path(os.environ["JUPYTER_RUNTIME_DIR"])
(runtime / f"jpserver-{os.getpid()}.json").write_text(json.dumps({"port": server["port"], "token": token}))
if os.environ.get("SMALL_LAB_COMPUTES"):
    subprocess.Popen([sys.executable, "-c", "import os\\nparent = os.getppid()\\nwhile os.getppid() == parent: pass"])
print("serving", flush=True)
web.serve_forever()
"""


def make_small_lab(folder: Path) -> Path:
    """A folder for PYTHONPATH."""
    package = folder / "site-packages" / "jupyterlab"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(_MAIN)
    return package.parent


def extend_path(folder: Path) -> str:
    return os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
