"""Sweeps: which values are tried, in which commands, and what came of them."""
