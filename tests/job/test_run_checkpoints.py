"""The folder of checkpoints: whole and verified or not there, the last few, and never worse than before."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from windlass_job.saving.checkpoints import MOST_DAMAGED, Checkpoints
from windlass_job.saving.manifest import NAME, PIECE

ENV = {
    "WINDLASS_RUN_DIR": "/nowhere",
    "WINDLASS_RUN_ID": "line-k3f9w",
    "WINDLASS_SUBMISSION": "1",
    "WINDLASS_LINK": "1",
    "WINDLASS_ATTEMPT": "1",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "checkpoints"


@pytest.fixture
def saves(folder: Path) -> Checkpoints:
    return Checkpoints(folder, keep=2, env=ENV)


def save(saves: Checkpoints, step: int, text: str = "weights") -> None:
    with saves.save(step) as made:
        (made / "model.pt").write_text(f"{text} {step}")
        (made / "more").mkdir()
        (made / "more" / "optimizer.pt").write_text(f"moments {step}" * 1000)


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir() if not one.name.startswith("."))


def test_an_empty_folder_has_none(saves: Checkpoints, folder: Path) -> None:
    assert saves.latest() is None
    assert names(folder) == []


def test_what_was_written_is_found_again_by_the_next_process(saves: Checkpoints, folder: Path) -> None:
    save(saves, 123)

    found = Checkpoints(folder, env=ENV).latest()

    assert found == folder / "step-0000000123"
    assert (found / "model.pt").read_text() == "weights 123"
    assert (found / "more" / "optimizer.pt").read_text() == "moments 123" * 1000


def test_nothing_is_there_before_the_block_is_left(saves: Checkpoints, folder: Path) -> None:
    with saves.save(1) as made:
        (made / "model.pt").write_text("weights")

        assert names(folder) == []
        assert made.parent.parent.parent == folder  # on the same file system, so that a rename is enough
    assert names(folder) == ["step-0000000001"]


def test_the_last_few_are_kept(saves: Checkpoints, folder: Path) -> None:
    for step in (10, 20, 30, 40):
        save(saves, step)

    assert names(folder) == ["step-0000000030", "step-0000000040"]
    assert saves.latest() == folder / "step-0000000040"
    assert left_aside(folder) == []


def test_an_exception_leaves_those_before_and_nothing_else(saves: Checkpoints, folder: Path) -> None:
    save(saves, 1)

    with pytest.raises(KeyError, match="mine"):
        fail(saves, KeyError("mine"))

    assert names(folder) == ["step-0000000001"]
    assert left_aside(folder) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_so_does_whoever_interrupts(saves: Checkpoints, folder: Path, error: type[BaseException]) -> None:
    with pytest.raises(error):
        fail(saves, error())

    assert names(folder) == []
    assert left_aside(folder) == []


def fail(saves: Checkpoints, error: BaseException) -> None:
    with saves.save(2) as made:
        (made / "model.pt").write_text("half")
        raise error


def test_a_block_that_writes_nothing_makes_no_checkpoint(saves: Checkpoints, folder: Path) -> None:
    save(saves, 1)

    with saves.save(2):
        pass

    assert names(folder) == ["step-0000000001"]


def test_a_step_that_is_saved_again_replaces_the_one_before(saves: Checkpoints, folder: Path) -> None:
    for text in ("first", "second", "third", "fourth"):
        save(saves, 7, text)

    found = saves.latest()

    assert found is not None
    assert (found / "model.pt").read_text() == "fourth 7"
    assert len(names(folder)) == 2


def test_newest_is_what_was_saved_last_also_when_the_training_was_set_back(saves: Checkpoints, folder: Path) -> None:
    for step in (1000, 2000, 50):
        save(saves, step)

    assert saves.latest() == folder / "step-0000000050"
    assert names(folder) == ["step-0000000050", "step-0000002000"]


def test_numbers_of_libraries_are_steps_too(saves: Checkpoints, folder: Path) -> None:
    class Number:
        def __int__(self) -> int:
            return 5

    with saves.save(Number()) as made:  # type: ignore[arg-type]
        (made / "x").touch()

    assert names(folder) == ["step-0000000005"]
    with pytest.raises(ValueError, match="from 0 on, not -1"):
        saves.save(-1)


def test_big_files_links_and_odd_names_are_verified_too(saves: Checkpoints, folder: Path) -> None:
    with saves.save(1) as made:
        (made / "big").write_bytes(bytes(range(256)) * (PIECE // 256) + b"and a bit")
        (made / "last").symlink_to("big")
        (made / "empty").touch()
        Path(os.fsdecode(bytes(made) + b"/\xff\xe9")).write_text("x")
    manifest = json.loads((folder / "step-0000000001" / NAME).read_text())

    assert saves.latest() == folder / "step-0000000001"
    assert len(manifest["files"]["big"]["crc32"]) == 2
    assert manifest["links"] == {"last": "big"}


def test_a_checkpoint_may_be_changed_and_saved_as_the_next(saves: Checkpoints, folder: Path) -> None:
    save(saves, 1)

    with saves.save(2) as made:
        shutil.copytree(folder / "step-0000000001", made, dirs_exist_ok=True)
        (made / "model.pt").write_text("changed")

    assert saves.latest() == folder / "step-0000000002"


DAMAGES: dict[str, Callable[[Path], object]] = {
    "truncated": lambda one: os.truncate(one / "model.pt", 3),
    "longer": lambda one: os.truncate(one / "model.pt", 300),
    "one bit": lambda one: flip(one / "model.pt", 4),
    "one bit of a big file": lambda one: flip(one / "more" / "optimizer.pt", 5000),
    "a file is gone": lambda one: (one / "model.pt").unlink(),
    "a folder is gone": lambda one: shutil.rmtree(one / "more"),
    "the manifest is empty": lambda one: (one / NAME).write_text(""),
    "the manifest is cut": lambda one: os.truncate(one / NAME, 100),
    "the manifest is of something else": lambda one: (one / NAME).write_text('{"files": {"model.pt": 3}, "number": 9}'),
    "the manifest holds nothing": lambda one: (one / NAME).write_text("[]"),
    "the manifest is deep": lambda one: (one / NAME).write_text('{"a":' * 100_000),
    "the manifest is a pipe": lambda one: become_pipe(one / NAME),
    "a file is a pipe": lambda one: become_pipe(one / "model.pt"),
}


def become_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_one_is_passed_over_and_set_aside(
    saves: Checkpoints, folder: Path, damage: Callable[[Path], object], capfd: pytest.CaptureFixture[str]
) -> None:
    save(saves, 1)
    save(saves, 2)
    damage(folder / "step-0000000002")

    assert saves.latest() == folder / "step-0000000001"
    assert names(folder) == ["step-0000000001"]
    assert [one.name[:24] for one in folder.glob(".damaged-*")] == [".damaged-step-0000000002"]
    assert f"checkpoint {folder}/step-0000000002 is passed over" in capfd.readouterr().err


def test_training_goes_on_after_a_damaged_one(saves: Checkpoints, folder: Path) -> None:
    save(saves, 1)
    save(saves, 2)
    os.truncate(folder / "step-0000000002" / "model.pt", 1)
    saves.latest()

    save(saves, 2, "again")

    found = saves.latest()
    assert found is not None
    assert (found / "model.pt").read_text() == "again 2"


def test_only_some_damaged_ones_are_kept(saves: Checkpoints, folder: Path) -> None:
    for step in range(MOST_DAMAGED + 3):
        save(saves, step)
        os.truncate(folder / f"step-{step:010d}" / "model.pt", 1)
        assert saves.latest() is None

    assert len(list(folder.glob(".damaged-*"))) == MOST_DAMAGED


def test_what_cannot_be_read_just_now_is_passed_over_and_left(
    saves: Checkpoints, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A loop of links is what root, too, cannot open."""
    save(saves, 1)
    save(saves, 2)
    weights = folder / "step-0000000002" / "model.pt"
    size = weights.stat().st_size
    weights.unlink()
    weights.symlink_to("x" * (size - len("model.pt")) + "model.pt")
    (folder / "step-0000000002" / weights.readlink()).symlink_to("model.pt")

    assert saves.latest() == folder / "step-0000000001"
    assert names(folder) == ["step-0000000001", "step-0000000002"]
    assert "is passed over" in capfd.readouterr().err


def test_what_somebody_put_there_is_neither_taken_nor_removed(
    saves: Checkpoints, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "step-0000000099").mkdir()
    (folder / "step-0000000099" / "model.pt").write_text("mine")
    for step in (1, 2, 3):
        save(saves, step)

    assert saves.latest() == folder / "step-0000000003"
    assert (folder / "step-0000000099" / "model.pt").read_text() == "mine"
    assert f"{folder}/step-0000000099 has no manifest" in capfd.readouterr().err


@pytest.mark.parametrize("keep", [1.5, 0, -1, None, "2"])
def test_a_keep_that_makes_no_sense_is_refused_at_once(folder: Path, keep: Any) -> None:
    with pytest.raises(ValueError, match=r"keep is .*, and "):
        Checkpoints(folder, keep=keep, env=ENV)

    assert not folder.exists()


def test_a_pipe_for_a_manifest_holds_no_save_up(saves: Checkpoints, folder: Path) -> None:
    save(saves, 1)
    become_pipe(folder / "step-0000000001" / NAME)

    save(saves, 2)

    assert saves.latest() == folder / "step-0000000002"


def test_two_runs_may_use_one_folder(saves: Checkpoints, folder: Path) -> None:
    """Attempts are compared within one run only."""
    save(saves, 1)
    other = Checkpoints(folder, env={**ENV, "WINDLASS_RUN_ID": "other-aaaaa", "WINDLASS_SUBMISSION": "9"})

    save(other, 2)
    save(saves, 3)

    assert names(folder) == ["step-0000000002", "step-0000000003"]


def test_an_evaluation_beside_the_training_disturbs_nothing(saves: Checkpoints, folder: Path) -> None:
    with saves.save(1) as made:
        Checkpoints(folder, env=ENV).latest()
        (made / "model.pt").write_text("weights")

    assert names(folder) == ["step-0000000001"]


def test_outside_of_windlass_it_works_and_fences_nobody_off(saves: Checkpoints, folder: Path) -> None:
    save(saves, 1)
    local = Checkpoints(folder, env={})

    save(local, 2)
    save(saves, 3)

    assert names(folder) == ["step-0000000002", "step-0000000003"]
    assert local.latest() == folder / "step-0000000003"


def left_aside(folder: Path) -> list[str]:
    """What attempts have left in their own folders, and what was not removed whole."""

    def look() -> Iterator[str]:
        for one in folder.glob(".windlass-*"):
            yield from (str(path.relative_to(folder)) for path in one.glob("*/*"))
        yield from (one.name for one in folder.glob(".windlass-removed-*"))

    return sorted(look())
