"""Run by the site's Python before an image is pulled: what its tag names today, as an address that stays the same.

argv: docker://[REGISTRY/]NAME[:TAG]. Prints docker://REGISTRY/NAME@sha256:...; nothing, and 1, where the registry does
not say it to everybody. Any Python 3 will do; stdlib only.
"""

import json
import os
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
from typing import Dict, NamedTuple, Optional

_LONGEST_S = 15
_HUB = "registry-1.docker.io"
_KINDS = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")
_PLAIN = re.compile(r"[\w./:@-]+\Z")
_PARAMETER = re.compile(r'(\w+)="([^"]*)"')

Image = NamedTuple("Image", [("registry", str), ("name", str), ("word", str)])  # word: a tag or a digest


def main() -> int:
    image = read_address(sys.argv[1])
    is_plain = bool(os.environ.get("APPTAINER_NOHTTPS") or os.environ.get("SINGULARITY_NOHTTPS"))
    try:
        digest = image.word if _DIGEST.match(image.word) else fetch_digest(image, "http" if is_plain else "https")
    except (OSError, ValueError) as error:
        sys.stderr.write("windlass: the registry does not say what the tag names: {}\n".format(error))
        return 1
    if digest is None:
        sys.stderr.write("windlass: the registry does not say what the tag names\n")
        return 1
    host = "" if image.registry == _HUB else image.registry + "/"
    address = "docker://{}{}@{}".format(host, image.name, digest)
    if not _PLAIN.match(address):
        return 1
    sys.stdout.write(address + "\n")
    return 0


def read_address(text: str) -> Image:
    """As docker reads it: docker://ubuntu is docker.io's library/ubuntu:latest."""
    whole = text[len("docker://") :] if text.startswith("docker://") else text
    rest, _, digest = whole.partition("@")
    host, slash, name = rest.partition("/")
    if not slash or not (re.search(r"[.:]", host) or host == "localhost"):
        host, name = _HUB, rest if slash else "library/" + rest
    if host in ("docker.io", "index.docker.io"):
        host, name = _HUB, name if "/" in name else "library/" + name
    name, _, tag = name.partition(":")
    return Image(host, name, digest or tag or "latest")


def fetch_digest(image: Image, scheme: str) -> "Optional[str]":
    """None: the registry gave none. Without a password: an image that needs one is pulled by its tag."""
    url = "{}://{}/v2/{}/manifests/{}".format(scheme, image.registry, image.name, image.word)
    headers = {"Accept": ", ".join(_KINDS)}
    try:
        found = _ask(url, headers)
    except urllib.error.HTTPError as refusal:
        if refusal.code != 401:
            raise
        token = _fetch_token(refusal.headers.get("WWW-Authenticate") or "")
        found = _ask(url, dict(headers, Authorization="Bearer " + token))
    return found if _DIGEST.match(found) else None


def _ask(url: str, headers: "Dict[str, str]") -> str:
    request = urllib.request.Request(url, headers=headers, method="HEAD")
    with urllib.request.urlopen(request, timeout=_LONGEST_S) as answer:
        return answer.headers.get("Docker-Content-Digest") or ""


def _fetch_token(challenge: str) -> str:
    """For anybody: Bearer realm="https://...",service="...",scope="..."."""
    told = dict(_PARAMETER.findall(challenge))
    realm = told.pop("realm", "")
    if not realm.startswith(("https://", "http://")):
        raise ValueError("it asks for a password")
    with urllib.request.urlopen(realm + "?" + urllib.parse.urlencode(told), timeout=_LONGEST_S) as answer:
        found = json.loads(answer.read(1 << 20).decode("utf-8"))
    return str(found.get("token") or found.get("access_token") or "")


if __name__ == "__main__":
    sys.exit(main())
