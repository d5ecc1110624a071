"""What every host tells of files: listed, hashed, and never waited for."""

from tests.contracts.host_requests import HELLO, SCRIPT, ask, ask_all, hash_of, make_run, run, send
from windlass.edges.host import Host


def test_files_are_listed_by_pattern_without_following_links(host: Host, folder: str) -> None:
    for name in ("a.pt", "x/b.pt", "x/y/c.pt", "x/y/[1].txt"):
        send(host, f"{folder}/{name}", b"12345")
    run(host, "ln", "-s", "/etc", f"{folder}/x/etc")

    def list_paths(*patterns: str) -> list[str]:
        return [file["path"] for file in ask(host, "list_files", folder=folder, patterns=patterns).values["files"]]

    assert list_paths("*.pt") == ["a.pt"]
    assert list_paths("**/*.pt") == ["a.pt", "x/b.pt", "x/y/c.pt"]
    assert list_paths("x/?.pt", "**/[[]1[]].txt") == ["x/b.pt", "x/y/[1].txt"]
    assert list_paths("x/**") == ["x/b.pt", "x/etc", "x/y/[1].txt", "x/y/c.pt"]
    assert ask(host, "list_files", folder=folder, patterns=["**"], limit=2).values["truncated"] is True


def test_what_is_no_file_is_neither_listed_nor_waited_for(host: Host, folder: str) -> None:
    send(host, f"{folder}/a", HELLO)
    assert run(host, "mkfifo", f"{folder}/pipe").exit_code == 0
    run(host, "ln", "-s", "pipe", f"{folder}/way")

    files = ask(host, "list_files", folder=folder, patterns=["**"]).values["files"]
    hashed = ask(host, "hash_files", folder=folder, paths=["pipe", "way", "a"]).values["sha256"]

    assert [file["path"] for file in files] == ["a", "way"]
    assert hashed == [None, None, hash_of(HELLO)]
    for name in ("pipe", "way"):
        reply = ask(host, "read", path=f"{folder}/{name}")
        assert (reply.kind, reply.problem) == ("failed", f"{folder}/{name} is not a regular file")


def test_links_tell_their_way_and_whether_it_stays_inside(host: Host, folder: str) -> None:
    send(host, f"{folder}/results/runs/5.pt", HELLO)
    ways = {
        "runs/last": "5.pt",
        "up": "runs/../runs/5.pt",
        "nowhere": "not/there",
        "absolute": f"{folder}/results/runs/5.pt",
        "data": "/etc",
        "runs/over": "../../x",
        "round": "../results/runs/5.pt",
        "self": "self",
    }
    for name, target in ways.items():
        run(host, "ln", "-s", target, f"{folder}/results/{name}")

    files = ask(host, "list_files", folder=f"{folder}/results", patterns=["**"]).values["files"]

    told = {file["path"]: (file["link"], file.get("inside")) for file in files}
    assert told == {
        "runs/5.pt": (None, None),
        "runs/last": ("5.pt", True),
        "up": ("runs/../runs/5.pt", True),
        "nowhere": ("not/there", True),
        "absolute": ("runs/5.pt", True),
        "data": ("/etc", False),
        "runs/over": ("../../x", False),
        "round": ("../results/runs/5.pt", False),
        "self": ("self", True),
    }


def test_a_pattern_that_makes_no_sense_is_told(host: Host, folder: str) -> None:
    reply = ask(host, "list_files", folder=folder, patterns=["*.pt", "[z-a]"])

    assert reply.kind == "failed"
    assert reply.problem.startswith("the pattern [z-a] cannot be used: bad character range")


def test_a_deep_project_is_made_listed_and_removed(host: Host, folder: str) -> None:
    deep = "d/" * 1500 + "x"
    files = [{"path": deep, "sha256": hash_of(SCRIPT), "mode": 0o644, "link": None}]

    made = ask_all(host, make_run(folder, more=files))
    listed = ask(host, "list_files", folder=f"{folder}/runs/digits-k3f9w/code", patterns=["d/**"])
    removed = ask(host, "remove_run", root=folder, run_id="digits-k3f9w")

    assert made.ok, made.problem
    assert [file["path"] for file in listed.values["files"]] == [deep]
    assert removed.ok
    assert run(host, "ls", "-A", f"{folder}/runs").out == ""


def test_hashes_of_files_and_none_for_a_missing_one(host: Host, folder: str) -> None:
    send(host, f"{folder}/a", HELLO)

    assert ask(host, "hash_files", folder=folder, paths=["a", "b"]).values == {"sha256": [hash_of(HELLO), None]}


def test_of_a_file_that_grows_only_what_was_seen_is_hashed(host: Host, folder: str) -> None:
    large = bytes(range(256)) * 10_000
    send(host, f"{folder}/log", large + b"more")
    send(host, f"{folder}/empty", b"")
    sizes = [len(large), 3, 0, None, len(large) + 5, 1, 1]

    reply = ask(host, "hash_files", folder=folder, paths=["log"] * 5 + ["empty", "none"], sizes=sizes)

    whole = [hash_of(large), hash_of(large[:3]), hash_of(b""), hash_of(large + b"more")]
    assert reply.values["sha256"] == [*whole, None, None, None]
    assert not ask(host, "hash_files", folder=folder, paths=["log"], sizes=[1, 2]).ok
