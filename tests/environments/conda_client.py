"""A client of conda's channels around rattler, the library in pixi, which speaks as micromamba and as pixi do.

Called by the name of one of them. None of the clients themselves can be had from a package index.
"""

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

from rattler import Gateway, VirtualPackage, install, solve

CACHE = "RATTLER_CACHE_DIR"


def main(called: str, words: list[str]) -> int:
    if words == ["--version"]:
        print(f"{called} around rattler")
        return 0
    try:
        (_install_pixi if called == "pixi" else _create)(words)
    except Exception as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _create(words: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=["create"])
    parser.add_argument("--yes", action="store_true", required=True)
    parser.add_argument("--prefix", type=Path, required=True)
    parser.add_argument("--file", type=Path, required=True)
    options = parser.parse_args(words)
    if options.prefix.exists():
        raise FileExistsError(f"non-conda folder exists at prefix {options.prefix}")
    text = options.file.read_text()
    if "@EXPLICIT" in text:
        addresses = [line.partition("#")[0] for line in text.splitlines() if "://" in line]
        channels = sorted({address.rsplit("/", 2)[0] for address in addresses})
        _fill(options.prefix, channels, [_read_address(one) for one in addresses])
        return
    wanted = _read_yaml(text)
    _fill(options.prefix, wanted["channels"], wanted["dependencies"])
    if wanted["pip"]:
        _run_pip(options.prefix, options.file.parent, wanted["pip"])


def _install_pixi(words: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=["install"])
    parser.add_argument("--manifest-path", type=Path, required=True)
    parser.add_argument("--environment", default="default")
    parser.add_argument("--locked", action="store_true")
    options = parser.parse_args(words)
    manifest = tomllib.loads(options.manifest_path.read_text())
    if options.locked and not options.manifest_path.with_name("pixi.lock").exists():
        raise FileNotFoundError("there is no lock")
    features = [manifest["feature"][one] for one in manifest.get("environments", {}).get(options.environment, ())]
    specs = {**manifest["dependencies"]}
    for feature in features:
        specs |= feature["dependencies"]
    prefix = options.manifest_path.parent / ".pixi" / "envs" / options.environment
    _fill(prefix, manifest["workspace"]["channels"], [f"{name} {spec}" for name, spec in specs.items()])


def _fill(prefix: Path, channels: list[str], specs: list[str]) -> None:
    cache = Path(os.environ[CACHE])
    for channel in channels:
        print(f"asking {channel}")

    async def fill() -> None:
        gateway = Gateway(cache_dir=cache / "repodata")
        records = await solve(channels, specs, gateway=gateway, virtual_packages=VirtualPackage.detect())
        await install(records, prefix, cache_dir=cache / "pkgs", show_progress=False)

    asyncio.run(fill())


def _read_address(address: str) -> str:
    name, version, build = urlsplit(address).path.rpartition("/")[2].removesuffix(".tar.bz2").rsplit("-", 2)
    return f"{name} =={version} {build}"


def _read_yaml(text: str) -> dict[str, list[str]]:
    """What the tests write: lists in blocks."""
    found: dict[str, list[str]] = {"channels": [], "dependencies": [], "pip": []}
    key = ""
    for line in text.splitlines():
        if heading := re.match(r"(\w+):\s*$", line):
            key = heading[1]
        elif re.match(r"\s*- pip:\s*$", line):
            key = "pip"
        elif item := re.match(r"\s*- (.*)$", line):
            found[key].append(item[1])
    return found


def _run_pip(prefix: Path, folder: Path, lines: list[str]) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".txt", dir=folder) as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        argv = [str(prefix / "bin" / "python"), "-m", "pip", "install", "-r", file.name]
        if subprocess.run(argv, cwd=folder, check=False).returncode:
            raise RuntimeError("pip failed to install packages")


if __name__ == "__main__":
    code = main(sys.argv[1], sys.argv[2:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # rattler's threads go on while Python ends: five of sixty crashed there, after all was done
