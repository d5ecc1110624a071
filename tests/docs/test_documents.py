"""README and docs are true: commands are run, files are read by the real readers, pages are current, links lead on."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.cluster import SlurmCluster
from tests.conftest import Places
from tests.docs.pages import ROOT, Block, list_pages, load_blocks, strip_blocks
from tests.docs.parsing import find_problem, list_command_names
from tests.docs.session import Reader, is_whole
from windlass.core.toml.layers import Flag
from windlass.edges.folders import find_folders
from windlass.edges.settings import load_run_spec
from windlass.edges.site_files import add_site, load_site
from windlass.pocket.settings import detect_machine, read_settings

PAGES = list_pages()
BLOCKS = [block for page in PAGES for block in load_blocks(page)]
# Written by hand for users; reference pages come from docstrings.
OURS = [page for page in PAGES if page.parent.name != "reference" and page.name != "CONTRIBUTING.md"]
FIRST_RUN = ROOT / "docs" / "tutorial" / "first-run.md"
SITE_HOST = "login.mycluster.example"


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def block_name(block: Block) -> str:
    return block.name


def pages_with(mark: str | None) -> list[Path]:
    """Pages with console or Python blocks to run: all that do not need a site (None), or those that need one."""
    found = []
    for page in PAGES:
        blocks = [one for one in load_blocks(page) if one.language == "console" or one.mark == "run"]
        if any((one.mark == "site") == (mark == "site") and one.mark != "skip" for one in blocks):
            found.append(page)
    return found


@pytest.fixture
def reader(places: Places) -> Iterator[Reader]:
    """At the folder of the tutorial's training."""
    project = places.home / "line"
    project.mkdir()
    (training,) = [block for block in load_blocks(FIRST_RUN) if block.title == "train.py"]
    (project / "train.py").write_text(training.text)
    (places.pocket / "pocket.toml").write_text("cpus = 4\nidle_s = 1\nkill_wait_s = 2\n")
    yield Reader(places.home, project, places.env)
    stop = [str(Path(sys.executable).parent / "windlass"), "pocket", "scancel", "--me"]
    subprocess.run(stop, capture_output=True, timeout=60, check=True)


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_with(None), ids=page_name)
def test_what_a_page_says_can_be_done_here(page: Path, reader: Reader) -> None:
    for block in load_blocks(page):
        if block.mark not in ("site", "skip"):
            reader.follow(block)


@pytest.mark.slurm
@pytest.mark.parametrize("page", pages_with("site"), ids=page_name)
def test_what_a_page_says_can_be_done_at_a_site(
    page: Path, reader: Reader, slurm: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "ssh_config"
    config.write_text(
        re.sub(r"^(Host .*\blogin-direct\b.*)$", rf"\1 {SITE_HOST}", slurm.ssh_config.read_text(), flags=re.M)
    )
    monkeypatch.setenv("WINDLASS_SSH_CONFIG", str(config))
    at_site = Reader(reader.project.parent, reader.project, {"WINDLASS_SSH_CONFIG": str(config)})

    try:
        for block in load_blocks(page):
            if block.mark != "skip":
                at_site.follow(block)
                look_often(reader)
    finally:
        at_site.leave("mycluster")


def look_often(reader: Reader) -> None:
    """A reader waits half a minute for an end to be seen; ten seconds are the least."""
    added = Path(reader.env["WINDLASS_CONFIG_DIR"]) / "sites" / "mycluster.toml"
    text = added.read_text() if added.exists() else "poll_s"
    if "poll_s" not in text:
        head, _, rules = text.partition("\n[rules]\n")
        added.write_text(f"{head}\n[rules]\npoll_s = 10\n{rules}")


@pytest.mark.parametrize("block", [one for one in BLOCKS if one.language == "console"], ids=block_name)
def test_every_command_of_a_block_exists(block: Block) -> None:
    problems = {step.command: find_problem(step.command, ROOT / "Makefile") for step in block.steps}

    assert {command: problem for command, problem in problems.items() if problem} == {}


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_command_in_the_prose_exists(page: Path) -> None:
    prose = strip_blocks(page.read_text(encoding="utf-8"))
    commands = re.findall(r"`((?:windlass|make) [^`]+)`", prose)

    problems = {command: find_problem(command, ROOT / "Makefile", in_prose=True) for command in commands}

    assert {command: problem for command, problem in problems.items() if problem} == {}


def test_every_example_of_a_help_text_exists() -> None:
    text = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    examples = [line.split("  ")[0] for line in re.findall(r"^ {4}(windlass .+)$", text, re.MULTILINE)]

    problems = {command: find_problem(command, ROOT / "Makefile") for command in examples}

    assert len(examples) > 5
    assert {command: problem for command, problem in problems.items() if problem} == {}


def test_every_command_has_an_example_somewhere() -> None:
    text = "\n".join(block.text for block in BLOCKS if not block.page.startswith("docs/reference"))

    assert [name for name in list_command_names() if f"windlass {name}" not in text] == []


@pytest.mark.parametrize("block", [one for one in BLOCKS if one.language == "toml"], ids=block_name)
def test_every_toml_is_read_without_a_problem(block: Block, places: Places) -> None:
    assert block.title, f"{block.name} needs a title: which file is it?"
    match block.title.split("/"):
        case ["windlass.toml" | "config.toml" as name]:
            ((places.home if name == "windlass.toml" else places.config) / name).write_text(block.text)
            is_all = name == "windlass.toml" and is_whole(block)
            command = () if is_all else (Flag(key="run.command", value="python train.py"),)
            sites = tomllib.loads(block.text).get("site", {"here": {}})
            for site in sites:
                load_run_spec(places.home, site, places.env, command)
        case ["sites", name]:
            folders = find_folders(places.env)
            add_site(name.removesuffix(".toml"), block.text, folders)
            load_site(name.removesuffix(".toml"), folders)
        case ["pocket.toml"]:
            read_settings(tomllib.loads(block.text), detect_machine(), "pocket.toml")
        case _:
            pytest.fail(f"{block.name}: nobody reads {block.title}")


@pytest.mark.parametrize("block", [one for one in BLOCKS if one.language == "python"], ids=block_name)
def test_every_python_example_is_python(block: Block) -> None:
    compile(block.text, block.name, "exec")


def test_the_reference_is_current() -> None:
    tool = [sys.executable, str(ROOT / "tools" / "make_reference.py"), "--check"]

    done = subprocess.run(tool, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = strip_blocks(page.read_text(encoding="utf-8"))
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]

    assert [link for link in links if not leads_somewhere(page, link)] == []


def leads_somewhere(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    return target.exists() and (not anchor or anchor in find_anchors(target))


def find_anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", strip_blocks(page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles}


@pytest.mark.parametrize("page", OURS, ids=page_name)
def test_a_line_holds_one_sentence(page: Path) -> None:
    prose = strip_blocks(page.read_text(encoding="utf-8"))
    lines = [line for line in prose.splitlines() if not line.lstrip().startswith(("|", "<", "#"))]

    assert [line for line in lines if re.search(r"[a-z`)][.?!] +[A-Z]", line)] == []
