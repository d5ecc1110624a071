"""What a conda environment holds, by the notes its client left in conda-meta: as a list of exact packages.

No client is needed for it, and none solves anything when the list is built elsewhere.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from windlass.core.credentials import hide_found
from windlass.core.environment import Lock, LockedText
from windlass.core.shell import quote
from windlass.environments.conda_files import SUBDIRS
from windlass.errors import EnvironmentFailed

# For the site's own Python: a line for each package, and one for each that did not come from a channel.
_PROGRAM = """
import glob, json, os, stat, sys
def read(path):
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe would keep us waiting
    with open(handle, encoding="utf-8", errors="replace") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError("it is no file")
        return file.read()
if not os.path.isdir(os.path.join(sys.argv[1], "conda-meta")):
    sys.exit("there is no conda-meta in " + sys.argv[1])
prefix = glob.escape(sys.argv[1])
for path in sorted(glob.glob(os.path.join(prefix, "conda-meta", "*.json"))):
    try:
        told = dict(json.loads(read(path)))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        sys.exit("%s cannot be read: %s" % (path, error))
    print(json.dumps({name: told.get(name) for name in ("name", "version", "url", "md5", "subdir")}))
for path in sorted(glob.glob(os.path.join(prefix, "lib", "python3*", "site-packages", "*.dist-info"))):
    try:
        who = read(os.path.join(path, "INSTALLER")).strip()
    except OSError:
        continue
    name, _, version = os.path.basename(path)[: -len(".dist-info")].partition("-")
    if who != "conda":
        print(json.dumps({"name": name, "version": version, "by": who}))
"""
_ODD = re.compile(r"[^\w.+!=*~-]")  # in no name of a package, and in no version
_SUBDIR = re.compile(r"[a-z]+-[a-z0-9]+")
_WORD = re.compile(r"[!-~]+")  # what follows a newline would be a line of its own
_FAR = re.compile(
    r"(?P<scheme>https?://)(?:[^/]*@)?(?P<host>[A-Za-z0-9.-]+(?::\d{1,5})?)(?P<path>/[^?#\\]*)(?:[?#].*)?"
)
_NEAR = re.compile(r"(?P<scheme>(?:file://)?)(?P<host>)(?P<path>/[^?#\\]*)(?:[?#].*)?")
_TOKEN = re.compile(r"\A/(?:[tT]|%[57]4)/[^/]+/")  # https://HOST/t/TOKEN/CHANNEL/...
_MD5 = re.compile(r"[0-9a-f]{32}")


def make_list_script(path: str) -> str:
    return f'exec "$(command -v python3 || command -v python)" -I -c {quote(_PROGRAM)} {quote(path)}'


def read_listed(said: str, head: str) -> LockedText:
    """As `conda list --explicit --md5` prints it: every client reads that."""
    try:
        told = [json.loads(line) for line in said.splitlines() if line.strip()]
        packages = [one for one in told if "by" not in one]
        lines = sorted(_format(one) for one in packages if one["url"])
        others = [_ODD.sub("?", f"{one['name']}=={one['version']}") for one in told if "by" in one]
        homeless = [_ODD.sub("?", str(one["name"])) for one in packages if not one["url"]]
        subdirs = sorted({one for each in packages if _SUBDIR.fullmatch(one := str(each["subdir"]))})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EnvironmentFailed(f"what the site told of its packages cannot be read: {error}") from error
    if not lines:
        raise EnvironmentFailed("its notes name no package that could be had again: conda-meta is empty")
    comments = [f"# not in this list, by pip: {one}" for one in others]
    text = "\n".join([head, *(f"# platform: {one}" for one in subdirs[:1]), *comments, "@EXPLICIT", *lines]) + "\n"
    return LockedText(text=text, count=len(lines), left_out=(*others, *homeless))


def name_lock(platform: str) -> str:
    return f"conda-{SUBDIRS.get(platform, platform or 'exact')}.lock"


def _format(package: Mapping[str, Any]) -> str:
    """Its address, without what only this user may know, and its sum."""
    url = _clean(str(package["url"]))
    if url is None:
        raise ValueError(f"the address of {_ODD.sub('?', str(package['name']))} is none that could be written down")
    md5 = str(package["md5"] or "")
    return f"{url}#{md5}" if _MD5.fullmatch(md5) else url


def _clean(url: str) -> str | None:
    """No user, password, token or query; None where it is not plain what is which."""
    far = _FAR.fullmatch(url)
    parts = far or _NEAR.fullmatch(url)
    if parts is None or not _WORD.fullmatch(url) or parts["path"].startswith("//"):
        return None
    path = _TOKEN.sub("/", parts["path"]) if far else parts["path"]
    return hide_found(f"{parts['scheme']}{parts['host']}{path}")


LOCK = Lock(make_script=make_list_script, read=read_listed, name=name_lock)
