"""Snapshots and git: submodules, sub-folders, commits, diffs, and a git that refuses or must not be trusted."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.edges.places import unprivileged
from tests.edges.test_snapshot import PEM, git, left_out, make_repository, names, write
from windlass.core.snapshot import LeftOutReason
from windlass.edges.git import MAX_DIFF_BYTES, GitFailed, run_git, strip_credentials
from windlass.edges.snapshot import take_snapshot


def test_tracked_and_new_files_are_sent_and_deleted_ones_are_not(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "p", "a.py", "gone.py")
    write(project, "new.py")
    (project / "gone.py").unlink()

    assert names(take_snapshot(project)) == ["a.py", "new.py"]


def test_a_tracked_file_is_sent_though_ignored(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "p", "forced.log")
    write(project, ".gitignore", text="*.log\n")

    assert names(take_snapshot(project)) == [".gitignore", "forced.log"]


def test_tracked_junk_is_left_out_and_told(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "p", "a.py", "__pycache__/a.pyc")

    snapshot = take_snapshot(project)

    assert names(snapshot) == ["a.py"]
    assert left_out(snapshot) == {"__pycache__/a.pyc": LeftOutReason.REBUILT}


def test_a_project_may_be_a_folder_of_a_repository(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "p", "other/x.py", "train/a.py")
    write(root, ".gitignore", text="*.log\n")
    write(root, "train/b.py", "train/b.log")
    write(root, "train/a.py", text="changed\n")
    write(root, "other/x.py", text="changed\n")

    snapshot = take_snapshot(root / "train")

    assert names(snapshot) == ["a.py", "b.py"]
    assert b"a/a.py" in snapshot.diff
    assert b"x.py" not in snapshot.diff


def test_a_project_that_its_repository_ignores_is_one_of_its_own(tmp_path: Path) -> None:
    """A home folder under git, with `*` in its .gitignore, is common."""
    home = make_repository(tmp_path / "home", ".bashrc")
    write(home, ".gitignore", text="*\n")
    write(home, "project/a.py")

    snapshot = take_snapshot(home / "project")

    assert names(snapshot) == ["a.py"]
    assert snapshot.commit is None
    assert "ignores this folder" in snapshot.notices[0]


def test_files_of_submodules_and_repositories_inside_are_sent(tmp_path: Path) -> None:
    library = make_repository(tmp_path / "library", "lib.py")
    project = make_repository(tmp_path / "p", "a.py")
    git(project, "submodule", "--quiet", "add", str(library), "third/library")
    write(project, "third/library/new.py", "third/library/x.log")
    write(project, "third/library/.gitignore", text="*.log\n")
    make_repository(project / "cloned", "c.py")

    snapshot = take_snapshot(project)

    inside = ["third/library/.gitignore", "third/library/lib.py", "third/library/new.py"]
    assert names(snapshot) == [".gitmodules", "a.py", "cloned/c.py", *inside]


def test_a_submodule_that_is_not_checked_out_is_told(tmp_path: Path) -> None:
    library = make_repository(tmp_path / "library", "lib.py")
    project = make_repository(tmp_path / "p", "a.py")
    git(project, "submodule", "--quiet", "add", str(library), "library")
    git(project, "submodule", "--quiet", "deinit", "-f", "library")

    snapshot = take_snapshot(project)

    assert names(snapshot) == [".gitmodules", "a.py"]
    assert snapshot.notices == ("submodule library is not checked out: git submodule update --init library",)


def test_a_worktree_is_a_project_too(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "p", "a.py")
    git(project, "worktree", "add", "-q", str(tmp_path / "w"))

    assert names(take_snapshot(tmp_path / "w")) == ["a.py"]


def test_a_clean_commit_is_recorded(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "p", "a.py")
    git(project, "remote", "add", "origin", "https://me:ghp_token@github.com/me/p.git")

    snapshot = take_snapshot(project)

    assert snapshot.commit == git(project, "rev-parse", "HEAD")
    assert snapshot.branch == "main"
    assert snapshot.remote == "https://github.com/me/p.git"
    assert not snapshot.is_dirty
    assert snapshot.diff == b""


def test_uncommitted_changes_are_recorded(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "p", "a.py", "staged.py")
    write(project, "a.py", "staged.py", text="changed\n")
    git(project, "add", "staged.py")

    snapshot = take_snapshot(project)

    assert snapshot.is_dirty
    assert snapshot.diff.count(b"+changed") == 2


def test_a_new_file_makes_it_dirty(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "p", "a.py")
    write(project, "new.py")

    assert take_snapshot(project).is_dirty


def test_a_detached_head_and_a_repository_without_commit(tmp_path: Path) -> None:
    detached = make_repository(tmp_path / "p", "a.py")
    git(detached, "checkout", "-q", "--detach")
    (tmp_path / "new").mkdir()
    git(tmp_path / "new", "init", "-q", "-b", "main")
    write(tmp_path / "new", "a.py")

    first, second = take_snapshot(detached), take_snapshot(tmp_path / "new")

    assert (first.branch, first.commit is None) == (None, False)
    assert (second.branch, second.commit, names(second)) == ("main", None, ["a.py"])


def test_the_diff_shows_no_secrets_even_of_deleted_files(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "p", "a.py", ".env", "excluded.txt")
    write(project, "old.txt", "key.txt", text=PEM)
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "second")
    write(project, "a.py", "excluded.txt", text="changed\n")
    (project / ".env").unlink()
    (project / "old.txt").unlink()
    write(project, "key.txt", text=PEM + "more\n")

    snapshot = take_snapshot(project, exclude=["excluded.txt"])

    assert snapshot.diff.count(b"diff --git") == 1
    assert b"a/a.py" in snapshot.diff


def test_a_password_that_was_just_taken_out_is_not_in_the_diff(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "p", "a.py")
    write(project, "requirements.txt", text="-i https://ada:hunter22@pypi.lab.org/all\nnumpy==1.0\n")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "second")
    write(project, "requirements.txt", text="-i https://${USER}:${TOKEN}@pypi.lab.org/all\nnumpy==2.0\n")

    snapshot = take_snapshot(project)

    assert b"hunter22" not in snapshot.diff
    assert b"-i https://ada:***@pypi.lab.org/all\n" in snapshot.diff
    assert b"-numpy==1.0\n" in snapshot.diff
    assert "*** in 1 removed line(s)" in " ".join(snapshot.notices)


def test_a_long_diff_is_cut_at_a_line_and_told(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "p", "a.txt")
    write(project, "a.txt", text="0123456789abcde\n" * 500_000)

    snapshot = take_snapshot(project)

    assert MAX_DIFF_BYTES - 100 < len(snapshot.diff) <= MAX_DIFF_BYTES
    assert snapshot.diff.endswith(b"\n")
    assert "only in part" in snapshot.notices[-1]


def test_nothing_that_the_repository_names_is_run(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "p", "a.txt", "b.bin")
    spy = tmp_path / "spy.sh"
    spy.write_text(f"#!/bin/sh\necho ran >> {tmp_path}/ran\ncat\n")
    spy.chmod(0o755)
    for name in ("diff.external", "core.fsmonitor", "diff.spy.textconv", "diff.spy.command", "core.pager"):
        git(project, "config", name, str(spy))
    for name in ("filter.spy.clean", "filter.spy.smudge", "filter.spy.process"):
        git(project, "config", name, str(spy))
    git(project, "config", "filter.spy.required", "true")
    for hook in ("post-index-change", "fsmonitor-watchman"):
        (project / ".git" / "hooks" / hook).write_text(spy.read_text())
        (project / ".git" / "hooks" / hook).chmod(0o755)
    write(project, ".gitattributes", text="*.txt diff=spy filter=spy\n*.bin diff=spy\n")
    write(project, "a.txt", "b.bin", text="changed\n")

    snapshot = take_snapshot(project)

    assert snapshot.diff.count(b"+changed") == 2
    assert not (tmp_path / "ran").exists()


def test_the_index_is_left_as_it_was(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "p", "a.py")
    os.utime(project / "a.py", (1, 1))
    before = (project / ".git" / "index").read_bytes()

    snapshot = take_snapshot(project)

    assert (project / ".git" / "index").read_bytes() == before
    assert not snapshot.is_dirty


def test_a_new_folder_that_git_cannot_read_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with unprivileged() as folder:
        monkeypatch.setenv("HOME", str(folder))
        project = make_repository(folder / "p", "a.py")
        write(project, "locked/x")
        (project / "locked").chmod(0)

        snapshot = take_snapshot(project)

        (project / "locked").chmod(0o700)
        assert names(snapshot) == ["a.py"]
        assert "locked" in snapshot.notices[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_a_repository_of_another_user_is_walked_and_told(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "p", "a.py", "sub/b.py")
    write(root, ".gitignore", text="*.log\n")
    write(root, "x.log", "sub/y.log")
    for path in (root, root / ".git"):
        os.chown(path, 12345, 12345)

    whole, part = take_snapshot(root), take_snapshot(root / "sub")

    assert names(whole) == [".gitignore", "a.py", "sub/b.py"]
    assert names(part) == ["b.py"]
    assert whole.commit is None
    assert "dubious ownership" in whole.notices[0]


def test_a_damaged_repository_is_walked_and_told(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "p", "a.py")
    (project / ".git" / "index").write_bytes(b"garbage")

    snapshot = take_snapshot(project)

    assert names(snapshot) == ["a.py"]
    assert "git could not list the files" in snapshot.notices[0]


def test_without_git_installed_the_folder_is_walked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = make_repository(tmp_path / "p", "a.py")
    monkeypatch.setenv("PATH", str(tmp_path))

    snapshot = take_snapshot(project)

    assert names(snapshot) == ["a.py"]
    assert "git cannot be run" in snapshot.notices[0]


def test_the_environment_of_a_git_hook_does_not_lead_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = make_repository(tmp_path / "other", "o.py")
    project = make_repository(tmp_path / "p", "a.py")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))

    assert names(take_snapshot(project)) == ["a.py"]


def test_a_git_that_takes_too_long_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "bin" / "git"
    write(tmp_path, "bin/git", text="#!/bin/sh\nsleep 600\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")

    with pytest.raises(GitFailed, match="took longer"):
        run_git(tmp_path, "ls-files", timeout_s=0.2)


@pytest.mark.parametrize(
    ("url", "stripped"),
    [
        ("https://u:p@host/o/r.git", "https://host/o/r.git"),
        ("https://token@host:8443/r", "https://host:8443/r"),
        ("https://host/r?access_token=x", "https://host/r"),
        ("ssh://git:pw@host:22/r", "ssh://git@host:22/r"),
        ("git@host:o/r.git", "git@host:o/r.git"),
        ("/srv/git/r.git", "/srv/git/r.git"),
        ("https://u:p/w@host/r", None),
        ("https://u:p@[::1]:80/r", "https://[::1]:80/r"),
    ],
)
def test_credentials_are_stripped_from_a_remote(url: str, stripped: str | None) -> None:
    assert strip_credentials(url) == stripped


@given(st.text(st.characters(categories=["L", "N"]), min_size=8), st.text("abc:/@?#%", max_size=4))
def test_a_password_never_shows(password: str, noise: str) -> None:
    assert password not in str(strip_credentials(f"https://user:{noise}{password}@example.invalid/r.git"))
