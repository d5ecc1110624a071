"""Gauges of a run."""
