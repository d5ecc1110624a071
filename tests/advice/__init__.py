"""Advice on what a run did not use."""
