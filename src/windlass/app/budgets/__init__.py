"""Hours: what was spent (`windlass budget`), and keeping to the limits that the user set."""
