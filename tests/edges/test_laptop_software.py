"""The laptop's software as a rehearsal shows it."""

from pathlib import Path

from windlass.edges.laptop_software import find_software


def test_folders_of_path_that_cannot_be_looked_at_are_passed_over(tmp_path: Path) -> None:
    good, shut = tmp_path / "tools" / "bin", tmp_path / "shut"
    good.mkdir(parents=True)
    shut.mkdir(mode=0o000)  # which stops everybody but root; a name that no system takes stops root, too
    paths = (str(shut / "bin"), f"/{'x' * 5000}/bin", str(good))

    found = find_software({"PATH": ":".join(paths)}, None)

    assert any(good.is_relative_to(one) for one in found)
    assert not any("xxx" in str(one) for one in found)
