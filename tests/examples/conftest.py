"""Examples are run with the frameworks that they are about."""

from tests.frameworks.installed import programs

__all__ = ["programs"]
