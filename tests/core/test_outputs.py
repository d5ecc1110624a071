"""What a run writes does not travel with the code."""

import pytest

from windlass.core.run import Checkpoint, RunSpec
from windlass.core.selection import list_outputs


@pytest.mark.parametrize(
    ("results", "folder", "workdir", "expected"),
    [
        (("runs/**",), "checkpoints", ".", ["/checkpoints/", "/runs/"]),
        (("out/a/**", "*.json"), None, "sub", ["/sub/out/a/"]),
        (("**", "runs/*/**", "./**", "../x/**"), None, ".", []),  # not whole folders, or not ours
        ((), "/scratch/me/checkpoints", ".", []),
        ((), "$SCRATCH/checkpoints", ".", []),
    ],
)
def test_only_whole_folders_of_the_project_count(
    results: tuple[str, ...], folder: str | None, workdir: str, expected: list[str]
) -> None:
    spec = RunSpec(
        name="digits", command="true", results=results, workdir=workdir, checkpoint=Checkpoint(folder=folder)
    )

    assert list_outputs(spec) == expected
