"""Windlass inside a job and on a login node: Python 3.6 or newer, standard library only."""
