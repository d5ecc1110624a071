"""Fixtures that the linter shares with the command line."""

from tests.cli.conftest import project, windlass

__all__ = ["project", "windlass"]
