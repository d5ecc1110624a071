"""A channel of conda's in a folder, with packages of a few lines, made as conda's own are."""

import hashlib
import io
import json
import platform
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from windlass.environments.conda_files import SUBDIRS

SUBDIR = SUBDIRS.get(platform.machine(), "linux-64")
PLACEHOLDER = "/opt/anaconda1anaconda2anaconda3/placehold_placehold_placehold_placehold"
# Of the system, not of somebody's home: the users of the test cluster run it too.
PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable


@dataclass(frozen=True, kw_only=True)
class Package:
    name: str
    version: str = "1.0"
    depends: tuple[str, ...] = ()
    files: Mapping[str, str | Path] = field(default_factory=dict)  # a Path: a link to it
    programs: tuple[str, ...] = ()  # of `files`, to be executed
    python: bool = False  # noarch: its files lie in site-packages of whatever Python there is
    entry_points: tuple[str, ...] = ()


def make_channel(folder: Path, packages: tuple[Package, ...]) -> str:
    """Its address."""
    for subdir in (SUBDIR, "noarch"):
        (folder / subdir).mkdir(parents=True)
        mine = [one for one in packages if one.python == (subdir == "noarch")]
        records = dict(_write_package(folder / subdir, one) for one in mine)
        repodata = {"info": {"subdir": subdir}, "packages": records, "packages.conda": {}, "repodata_version": 1}
        (folder / subdir / "repodata.json").write_text(json.dumps(repodata))
    return folder.as_uri()


def make_python(executable: str = PYTHON) -> Package:
    """A Python of this machine as a package: its prefix is the environment's, as that of a virtual environment is."""
    asked = [executable, "-c", "import platform, sys; print(platform.python_version(), sys._base_executable)"]
    version, real = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.split()
    short = version.rpartition(".")[0]
    links = {f"bin/{name}": Path(real) for name in ("python", "python3", f"python{short}")}
    config = f"home = {Path(real).parent}\ninclude-system-site-packages = false\nversion = {version}\n"
    kept = {f"lib/python{short}/site-packages/README.txt": "packages of this environment\n"}
    return Package(name="python", version=version, files={**links, "pyvenv.cfg": config, **kept})


def make_pip() -> Package:
    """The pip that is installed here, as a package."""
    import pip

    home = Path(pip.__file__).parent
    sources = {f"site-packages/pip/{one.relative_to(home)}": one.read_text() for one in home.rglob("*.py")}
    texts = {f"site-packages/pip/{one.relative_to(home)}": one.read_text() for one in home.rglob("*.pem")}
    return Package(name="pip", version=pip.__version__, depends=("python",), files={**sources, **texts}, python=True)


def _write_package(folder: Path, package: Package) -> tuple[str, dict[str, object]]:
    build = "py_0" if package.python else "0"
    index = {
        "name": package.name,
        "version": package.version,
        "build": build,
        "build_number": 0,
        "depends": list(package.depends),
        "subdir": folder.name,
        **({"noarch": "python"} if package.python else {"arch": platform.machine(), "platform": "linux"}),
    }
    link = {"noarch": {"type": "python", "entry_points": list(package.entry_points)}, "package_metadata_version": 1}
    paths = {"paths": [_describe(name, content) for name, content in package.files.items()], "paths_version": 1}
    about = {
        "info/index.json": json.dumps(index),
        "info/paths.json": json.dumps(paths),
        "info/files": "".join(f"{name}\n" for name in package.files),
        **({"info/link.json": json.dumps(link)} if package.python else {}),
    }
    name = f"{package.name}-{package.version}-{build}.tar.bz2"
    with tarfile.open(folder / name, "w:bz2", compresslevel=1) as archive:
        for one, content in {**about, **package.files}.items():
            _add(archive, one, content, is_program=one in package.programs)
    packed = (folder / name).read_bytes()
    sums = {"md5": hashlib.md5(packed).hexdigest(), "sha256": hashlib.sha256(packed).hexdigest()}
    return name, {**index, **sums, "size": len(packed)}


def _describe(name: str, content: str | Path) -> dict[str, object]:
    if isinstance(content, Path):
        return {"_path": name, "path_type": "softlink"}
    about: dict[str, object] = {"_path": name, "path_type": "hardlink", "size_in_bytes": len(content.encode())}
    about["sha256"] = hashlib.sha256(content.encode()).hexdigest()
    if PLACEHOLDER in content:
        about |= {"prefix_placeholder": PLACEHOLDER, "file_mode": "text"}
    return about


def _add(archive: tarfile.TarFile, name: str, content: str | Path, *, is_program: bool) -> None:
    member = tarfile.TarInfo(name)
    if isinstance(content, Path):
        member.type, member.linkname = tarfile.SYMTYPE, str(content)
        archive.addfile(member)
        return
    encoded = content.encode()
    member.size, member.mode = len(encoded), 0o755 if is_program else 0o644
    archive.addfile(member, io.BytesIO(encoded))
