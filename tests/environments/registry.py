"""A registry of images on this machine: as much of the protocol of OCI as pulling needs, with one image."""

import gzip
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


@contextmanager
def serve_image(tree: Path, name: str) -> Iterator[str]:
    """The address of the image, by its digest, without docker://; its tag `latest` names the same."""
    blobs = _make_image(tree)
    digest = next(iter(blobs))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            word = self.path.rpartition("/")[2]
            word = digest if word == "latest" else word
            asked = self.path.rpartition("/")[0] + "/" + word
            if asked not in ("/v2/", f"/v2/{name}/manifests/{word}", f"/v2/{name}/blobs/{word}"):
                self.send_error(404)
                return
            kind, content = blobs.get(word, ("application/json", b"{}"))
            self.send_response(200 if word in blobs or not word else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Docker-Content-Digest", word)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        do_HEAD = do_GET

        def log_message(self, format: str, *args: object) -> None:
            """Tests are silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}/{name}@{digest}"
    finally:
        server.shutdown()
        thread.join()


def _make_image(tree: Path) -> dict[str, tuple[str, bytes]]:
    """Digest -> kind and content; the manifest is the first."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        archive.add(tree, arcname=".")
    layer = gzip.compress(plain.getvalue(), 1, mtime=0)
    system = {"architecture": "amd64", "os": "linux", "config": {"Env": ["PATH=/bin:/usr/bin"]}}
    config = json.dumps({**system, "rootfs": {"type": "layers", "diff_ids": [_name(plain.getvalue())]}}).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": {"mediaType": _CONFIG, "digest": _name(config), "size": len(config)},
        "layers": [{"mediaType": _LAYER, "digest": _name(layer), "size": len(layer)}],
    }
    contents = ((_MANIFEST, json.dumps(manifest).encode()), (_CONFIG, config), (_LAYER, layer))
    return {_name(content): (kind, content) for kind, content in contents}


def _name(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
