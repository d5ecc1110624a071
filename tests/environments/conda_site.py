"""A site for one test: a home, a root, a folder of programs on the PATH of its login shells, and builds there."""

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.builders import SITE
from tests.conftest import Places
from tests.environments.conda_channel import PLACEHOLDER, Package, make_channel, make_pip, make_python
from windlass.app.environments.building import make_request
from windlass.core.environment import Recipe, make_path
from windlass.core.run import Environment
from windlass.core.site import Site, Software
from windlass.environments.conda import KIND
from windlass_job.working import environments

CLIENT = Path(__file__).with_name("conda_client.py")
ACTIVATION = 'export NET_HOME="$CONDA_PREFIX/net" NET_UNSET="<$NOBODY_SET_THIS>"\nfalse\n'
NET = Package(
    name="net",
    depends=("python", "activated"),
    python=True,
    files={"site-packages/net.py": "def train():\n    print('trained by net 1.0')\n"},
    entry_points=("net-train = net:train",),
)
ACTIVATED = Package(
    name="activated",
    files={"etc/conda/activate.d/net.sh": ACTIVATION, "share/prefix.txt": f"{PLACEHOLDER}\n"},
)
# What it was called with and what it saw goes beside it; it makes an environment of nothing.
RECORDER = """#!/bin/bash
{ printf '%s\\n' "${0##*/}" "$@"; } > "$0.argv"
env > "$0.env"
[ "$1" != --version ] || exit 0
echo "asking https://conda.example.org/t/ab-1234567890/private and https://me:hunter22@example.org/x"
folder=$WINDLASS_PREFIX
[ "${0##*/}" != pixi ] || folder=$WINDLASS_PREFIX/.pixi/envs/default
mkdir -p "$folder/conda-meta"
"""


@dataclass(frozen=True, kw_only=True)
class CondaSite:
    home: Path
    root: Path
    programs: Path
    software: Software = Software()  # noqa: RUF009 - frozen

    @property
    def site(self) -> Site:
        return replace(SITE, root=str(self.root), software=self.software, node_types=(), gpus=())

    def add_client(self, name: str) -> Path:
        """The real thing, around rattler."""
        return self.add_program(name, f'#!/bin/sh\nexec {sys.executable} {CLIENT} {name} "$@"\n')

    def add_program(self, name: str, text: str = RECORDER) -> Path:
        path = self.programs / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def read(self, value: str, files: Mapping[str, str], **more: Any) -> Recipe:
        recipe = KIND.read(Environment(conda=value, **more), self.site, files.get)
        assert recipe is not None
        return recipe

    def build(self, recipe: Recipe, *, again: bool = False) -> dict[str, Any]:
        """The card. Raises environments.BuildFailed."""
        request = make_request(self.site.root, recipe, KIND.make_build(recipe, self.site), again=again)
        request["needs_bytes"] = 0
        return environments.VERBS["build-env"](request, lambda *_: None)["built"]  # type: ignore[no-any-return]

    def start_build(self, recipe: Recipe) -> "subprocess.Popen[bytes]":
        """The same in a process of its own."""
        request = make_request(self.site.root, recipe, KIND.make_build(recipe, self.site), again=True)
        do = "from windlass_job.working.environments import VERBS; import json, sys\n"
        do += "VERBS['build-env'](json.loads(sys.argv[1]), lambda *_: None)"
        return subprocess.Popen([sys.executable, "-c", do, json.dumps(request)])

    def enter(self, recipe: Recipe, command: str) -> subprocess.CompletedProcess[str]:
        """As a job does: strict, in a shell that has read nothing."""
        entering = KIND.enter(Environment(), recipe, make_path(recipe, str(self.root)), self.site)
        lines = ("set -euo pipefail", "set +u", *entering.lines, "set -u", command)
        argv = ["env", "-i", f"HOME={self.home}", "PATH=/usr/bin:/bin", "bash", "--norc", "-c", "\n".join(lines)]
        return subprocess.run(argv, capture_output=True, text=True, check=False)

    def folder(self, recipe: Recipe) -> Path:
        return self.root / "envs" / recipe.id

    def read_log(self, recipe: Recipe) -> str:
        return (self.folder(recipe) / "build.log").read_text()


def make_conda_site(places: Places, folder: Path) -> CondaSite:
    programs = folder / "programs"
    programs.mkdir()
    root = folder / "root"
    root.mkdir()
    (places.home / ".profile").write_text(f'PATH="{programs}:$PATH"\necho welcome\n')
    return CondaSite(home=places.home, root=root, programs=programs)


def make_test_channel(folder: Path, *, pip: bool = False) -> str:
    return make_channel(folder, (make_python(), NET, ACTIVATED, *((make_pip(),) if pip else ())))


def make_yaml(channel: str, *packages: str, pip: tuple[str, ...] = ()) -> str:
    lines = ["name: trained", "channels:", f"  - {channel}", "dependencies:", *(f"  - {one}" for one in packages)]
    return "\n".join([*lines, *(["  - pip:", *(f"    - {one}" for one in pip)] if pip else [])]) + "\n"


def make_wheel(folder: Path, name: str) -> None:
    """One module that says its name."""
    import zipfile

    about = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}.py", f"NAME = {name!r}\n")
        archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")


def wait_for(path: Path, timeout_s: float = 20) -> None:
    deadline = time.monotonic() + timeout_s
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not come"
        time.sleep(0.05)


def wait_until_gone(pid: int, timeout_s: float = 20) -> None:
    deadline = time.monotonic() + timeout_s
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < deadline, f"{pid} lives on"
        time.sleep(0.05)


def load_card(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "env.json").read_text())  # type: ignore[no-any-return]
