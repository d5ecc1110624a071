"""Farms: tables of tasks, and the few jobs that run them."""
