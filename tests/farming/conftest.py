"""The fixture `farm`: a folder with a table of tasks, and pilots that work on it."""

from tests.farming.farms import farm

__all__ = ["farm"]
